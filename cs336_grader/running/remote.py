"""What a check holds in place of the submission's functions and objects."""

import copy
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
        *,
        held: "RemoteObject | None" = None,
        optimizer: "MirroredOptimizer | None" = None,
    ) -> Any:
        """Call an adapter, or a method of a held object."""

    def more(self, held: "RemoteObject") -> tuple[list[Any], bool]:
        """The next items of a held iterator, and whether these are the last."""

    def seed(self, number: int) -> None:
        """Seed torch's global generator."""


class Process(Protocol):
    """The process that runs the adapters."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def is_running(self) -> bool:
        """Whether it has not ended."""


class RemoteAdapters:
    """The submission's adapters: every attribute is a function that runs in the worker."""

    def __init__(self, caller: Caller, process: Process) -> None:
        self._caller = caller
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The adapter of a name; whether there is one shows when it is called."""
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
        self.caller = caller
        self.key = key
        self.type_name = type_name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The method of a name; whether there is one shows when it is called."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.caller.call(name, args, kwargs, held=self)

    def __iter__(self) -> Iterator[Any]:
        """Its items, if it has any."""
        found: Iterator[Any] = self.caller.call("__iter__", (), {}, held=self)
        return found

    def __bool__(self) -> bool:
        """Refused: what stays in the worker is neither true nor false."""
        raise TypeError(f"{self.type_name} has no truth value")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the object itself: a class makes an instance."""
        return self.caller.call(None, args, kwargs, held=self)


class RemoteIterator(Iterator[Any]):
    """An iterator that stays in the worker and is asked for items when they are needed.

    It sends what it can give without more input, so the first item of an answer is as lazy as if
    it had been alone.
    """

    def __init__(self, remote: RemoteObject) -> None:
        self.remote = remote
        self.items: deque[Any] = deque()
        self.done = False

    def __iter__(self) -> Iterator[Any]:
        """All further items, quicker than one by one."""
        while self.items or self.asked():
            yield self.items.popleft()

    def __next__(self) -> Any:
        """The next item."""
        if not self.items and not self.asked():
            raise StopIteration
        return self.items.popleft()

    def asked(self) -> bool:
        """Whether it has more items, and has sent some of them now."""
        if not self.done:
            items, self.done = self.remote.caller.more(self.remote)
            self.items.extend(items)
        return bool(self.items)


class MirroredOptimizer:
    """The submission's optimizer, in the worker, over parameters that are in this process.

    Its methods run in the worker. Parameters, gradients and the hyperparameters that were changed
    here are sent before; parameters and groups come back. Its state stays in the worker.

    Attributes:
        param_groups: as torch has them; hyperparameters may be changed between steps.
    """

    def __init__(self, remote: RemoteObject) -> None:
        self.remote = remote
        self.param_groups: list[dict[str, Any]] = []
        self.known: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The method of a name; whether there is one shows when it is called."""
        if name.startswith("__"):
            raise AttributeError(name)
        call = self.remote.caller.call
        return lambda *args, **kwargs: call(name, args, kwargs, held=self.remote, optimizer=self)

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def changed_options(self) -> list[dict[str, object]]:
        """The hyperparameters of each group that are not what the worker last had."""
        return [
            {
                name: value
                for name, value in group.items()
                if name != "params" and not is_same(value, known.get(name, self))
            }
            for group, known in zip(self.param_groups, self.known, strict=True)
        ]

    def take_over(self, groups: list[dict[str, Any]]) -> None:
        """Take the groups from the worker; a known group stays the same dictionary."""
        self.param_groups += [{} for _ in groups[len(self.param_groups) :]]
        for group, given in zip(self.param_groups, groups, strict=True):
            group.update(given)
        self.known = [
            {name: copy.deepcopy(value) for name, value in group.items() if name != "params"}
            for group in groups
        ]


def is_same(value: object, known: object) -> bool:
    """Return True for a hyperparameter that has its known value."""
    if isinstance(value, torch.Tensor) and isinstance(known, torch.Tensor):
        return value.dtype == known.dtype and torch.equal(value, known)
    return type(value) is type(known) and value == known


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
        """Ask the worker."""
        return (None, None, *ctx.call_backward(list(grads)))
