"""The remote functions and objects that a check holds in place of the submission's."""

import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from .faults import WorkerLostError


class Caller(Protocol):
    """Carries out calls in the worker."""

    def call(
        self,
        name: str | None,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        target: "RemoteObject | None" = None,
    ) -> Any:
        """Call an adapter, or a method of a held object."""

    def more(self, held: "RemoteObject") -> tuple[list[Any], bool]:
        """Return the next items of a held iterator, and True if these are the last."""

    def seed(self, number: int) -> None:
        """Seed torch's global generator."""


class Process(Protocol):
    """The process that runs the adapters."""

    @property
    def pid(self) -> int:
        """The process id."""

    def is_running(self) -> bool:
        """Return True until it has ended."""


class RemoteAdapters:
    """The submission's adapters: every attribute is a function that runs in the worker."""

    def __init__(self, caller: Caller, process: Process) -> None:
        self._caller = caller
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the adapter of a name; a call of one that is missing raises an error."""
        return lambda *args, **kwargs: self._caller.call(name, args, kwargs)

    def manual_seed(self, number: int) -> None:
        """Seed torch's global generator where the adapters run."""
        self._caller.seed(number)

    @property
    def pid(self) -> int:
        """The process that runs the adapters.

        Raises:
            WorkerLostError: it has ended.
        """
        if self._process.is_running():
            return self._process.pid
        raise WorkerLostError("the process that runs the adapters cannot be found")


class RemoteObject:
    """An object that an adapter returned and that stays in the worker; its methods run there.

    Attributes:
        type_name: the name of its type.
    """

    def __init__(self, caller: Caller, key: int, type_name: str) -> None:
        # The caller keeps what it is passed, this object too: in a circle, all of it would be kept.
        self.caller: Caller = weakref.proxy(caller)
        self.key = key
        self.type_name = type_name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method of a name; a call of one that is missing raises an error."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.caller.call(name, args, kwargs, target=self)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over its items, if it has any."""
        found: Iterator[Any] = self.caller.call("__iter__", (), {}, target=self)
        return found

    def __bool__(self) -> bool:
        """Refuse: an object in the worker is neither true nor false here."""
        raise TypeError(f"{self.type_name} has no truth value")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the object itself: a class makes an instance."""
        return self.caller.call(None, args, kwargs, target=self)


class RemoteIterator(Iterator[Any]):
    """An iterator that stays in the worker and is asked for items when they are needed.

    An answer holds the items up to the first one that needed more input of the judge.
    """

    def __init__(self, remote: RemoteObject) -> None:
        self.remote = remote
        self.items: deque[Any] = deque()
        self.done = False

    def __next__(self) -> Any:
        """Return the next item."""
        if not self.items and not self.done:
            items, self.done = self.remote.caller.more(self.remote)
            self.items.extend(items)
        if not self.items:
            raise StopIteration
        return self.items.popleft()


class LinkedOutput(torch.autograd.Function):
    """Outputs of a call, whose gradients the worker turns into gradients of its arguments."""

    @staticmethod
    def forward(
        ctx: Any, backward: Callable[..., list[Any]], outputs: list[torch.Tensor], *_inputs: Any
    ) -> tuple[torch.Tensor, ...]:
        """Return the outputs as they came."""
        ctx.set_materialize_grads(False)
        ctx.call_backward = backward
        return tuple(outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[Any, ...]:
        """Ask the worker for the gradients."""
        return (None, None, *ctx.call_backward(list(grads)))
