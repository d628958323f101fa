"""Arguments of a call in the worker, compared with their values on arrival."""

import operator
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import torch

from .values import raw

Change = tuple[str, Any]
NumberedChange = tuple[int, str, Any]


class Received(Protocol):
    """One argument that a call may change.

    Attributes:
        value: what the student's code gets.
    """

    value: Any

    def changes(self) -> Iterator[Change]:
        """The parts that changed since the last call of this method, by name."""


class ReceivedTensor:
    """A tensor, with its gradient."""

    def __init__(self, value: torch.Tensor) -> None:
        self.value = value
        self.settle()

    def settle(self) -> None:
        """Take its present values as the ones to compare with."""
        grad = self.grad()
        self.data_bytes = b"" if self.value.is_meta else bytes(raw(self.value))
        self.grad_bytes = None if grad is None else bytes(raw(grad))

    def grad(self) -> torch.Tensor | None:
        """Its gradient, if it can have one."""
        return self.value.grad if self.value.is_leaf else None

    def changes(self) -> Iterator[Change]:
        """Its data and its gradient."""
        before = self.data_bytes, self.grad_bytes
        self.settle()
        if self.data_bytes != before[0]:
            yield "data", self.value
        if self.grad_bytes != before[1]:
            yield "grad", self.grad()


class ReceivedArray:
    """A NumPy array."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.data_bytes = value.tobytes()

    def changes(self) -> Iterator[Change]:
        """Its data."""
        before, self.data_bytes = self.data_bytes, self.value.tobytes()
        if self.data_bytes != before:
            yield "data", self.value


class ReceivedContainer:
    """A list, dictionary, set or bytearray. Items that can change are compared on their own."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.items = items(value)

    def changes(self) -> Iterator[Change]:
        """Its items: which objects they are, and in which order."""
        before, self.items = self.items, items(self.value)
        same = len(before) == len(self.items)
        if not same or not all(map(operator.is_, before, self.items)):
            yield "items", self.value


def changes_of(received: Mapping[int, Received]) -> Iterator[NumberedChange]:
    """The changes to some arguments since the last call of this function.

    Yields:
        The number of an argument, "data", "grad" or "items", and the new value.
    """
    for number, argument in received.items():
        for what, value in argument.changes():
            yield number, what, value


def items(container: Any) -> list[object]:
    """The items of a container; a dictionary's keys come first."""
    if isinstance(container, dict):
        return [*container, *container.values()]
    return list(container)
