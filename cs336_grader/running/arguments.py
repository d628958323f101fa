"""How the arguments of a call cross to the worker, and how what it changes comes back."""

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch

from cs336_grader.worker.channel import MAX_BODY_BYTES, Node, WireError
from cs336_grader.worker.values import Encoder, without_repeats

from .remote import MirroredOptimizer, RemoteObject
from .restoring import checked_state, fits

PIECE_BYTES = 2**20
CONTAINERS = (list, dict, set, bytearray)
Action = Callable[[], object]


class Arguments:
    """All that one check has passed so far; what is passed again is known again.

    Args:
        shared: the folders whose files may be handed over where a text is their path. The text
            may be made of what the submission returned, and name any file.

    Attributes:
        current: what the call may change, in the order in which it was encoded.
        autograd_inputs: the tensors of the call that require a gradient.
        trained: its tensors that an optimizer may have.
    """

    def __init__(self, shared: Sequence[Path] = ()) -> None:
        self.shared = [folder.resolve() for folder in shared]
        self.kept: dict[int, tuple[int, Any]] = {}
        self.by_key: dict[int, Any] = {}
        self.iterators: dict[object, Iterator[object]] = {}
        self.callbacks: dict[object, Callable[..., object]] = {}
        self.sent_files: set[bytes] = set()
        self.passed: dict[int, list[Any]] = {}
        self.begin()

    def begin(self) -> None:
        """A new call: nothing has been passed to it yet."""
        self.current: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.autograd_inputs: list[torch.Tensor] = []
        self.trained: list[torch.Tensor] = []

    def key(self, value: object) -> int:
        """A number for an object, the same whenever the same object is passed."""
        key, _ = self.kept.setdefault(id(value), (len(self.kept), value))
        self.by_key[key] = value
        return key

    def number(self, value: object) -> int:
        """How the call counts an argument that it may change."""
        number = self.numbers.setdefault(id(value), len(self.current))
        if number == len(self.current):
            self.current.append(value)
        return number

    def node(self, encoder: Encoder, value: object) -> Node:
        """The node of an argument that is no plain value, or None."""
        if (number := self.numbers.get(id(value))) is not None:
            return ["given", number]
        for types, method in self.KINDS:
            if isinstance(value, types):
                return method(self, encoder, value)
        return None

    def text(self, encoder: Encoder, text: str) -> Node:
        """Text that names a file in a shared folder, or None for any other."""
        if not os.path.isabs(text) or not os.path.isfile(text):
            return None
        if not any(Path(os.path.realpath(text)).is_relative_to(folder) for folder in self.shared):
            return None
        return ["path_text", *self.path(encoder, Path(text))[1:]]

    def tensor(self, encoder: Encoder, tensor: torch.Tensor) -> Node:
        """A tensor with its gradient; one that is trained is the same object in every call."""
        return self.tensor_node(encoder, tensor, keyed=is_trained(tensor))

    def tensor_node(self, encoder: Encoder, tensor: torch.Tensor, *, keyed: bool) -> Node:
        """The node of a tensor, with a key where it is to stay the same object."""
        if id(tensor) not in self.numbers:
            if tensor.requires_grad:
                self.autograd_inputs.append(tensor)
            if is_trained(tensor):
                self.trained.append(tensor)
        about = {
            "number": self.number(tensor),
            "key": self.key(tensor) if keyed else None,
            "parameter": isinstance(tensor, torch.nn.Parameter),
            "leaf": tensor.is_leaf,
            "requires_grad": tensor.requires_grad,
            "grad": None,
            "stride": unusual_stride(tensor),
        }
        if tensor.is_leaf and tensor.grad is not None:
            about["grad"] = encoder.encode_tensor(tensor.grad)
        return ["argument", encoder.encode_tensor(tensor), about]

    def array(self, encoder: Encoder, array: np.ndarray[Any, Any]) -> Node:
        """An array by value, or as the file that it is mapped from."""
        # A slice of a map is a map too, but knows no offset of its own.
        if isinstance(array, np.memmap) and not isinstance(array.base, np.memmap):
            path = self.path(encoder, Path(str(array.filename)))
            return ["memmap", path, array.dtype.name, list(array.shape), array.offset]
        node = encoder.encode_array(array)
        return ["array_argument", node, self.number(array), array.flags.writeable]

    def container(self, encoder: Encoder, value: object) -> Node:
        """A list, dictionary, set or bytearray, which the call may change."""
        number = self.number(value)
        return ["container", encoder.encode_value(value), number]

    def module(self, encoder: Encoder, module: torch.nn.Module) -> Node:
        """A module as its parameters and buffers by name."""
        entries = {
            name: ["given", self.numbers[id(tensor)]]
            if id(tensor) in self.numbers
            else self.tensor_node(encoder, tensor, keyed=True)
            for name, tensor in module.state_dict(keep_vars=True).items()
        }
        return ["module", self.key(module), entries, module.training]

    def torch_optimizer(self, encoder: Encoder, optimizer: torch.optim.Optimizer) -> Node:
        """One of torch's own optimizers: its class, groups and state."""
        name = type(optimizer).__name__
        if getattr(torch.optim, name, None) is not type(optimizer):
            raise TypeError(f"a check passes torch's own optimizers, not {name}")
        groups = [
            {option: encoder.encode(value) for option, value in group.items()}
            for group in optimizer.param_groups
        ]
        state = Encoder(None)
        state.buffers = encoder.buffers
        packed = state.encode(optimizer.state_dict()["state"])
        return ["torch_optimizer", self.key(optimizer), name, groups, packed]

    def path(self, encoder: Encoder, path: Path) -> Node:
        """A path, with the file that is there unless it was sent before."""
        key = f"{zlib.crc32(str(path.parent).encode()):08x}"
        return ["path", key, path.name, self.pieces(encoder, path) if path.is_file() else None]

    def pieces(self, encoder: Encoder, path: Path) -> Node:
        """A file's size and the pieces of it that are not all zero, or None if it was sent."""
        pieces: list[object] = [path.stat().st_size]
        digest = hashlib.sha256(str(path).encode())
        with path.open("rb") as file:
            for offset in offsets_of_data(file.fileno()):
                file.seek(offset)
                piece = file.read(PIECE_BYTES)
                if piece.strip(b"\0"):
                    pieces.append([offset, piece])
                    digest.update(offset.to_bytes(8) + piece)
        version = digest.digest()
        if version in self.sent_files:
            return None
        self.sent_files.add(version)
        return encoder.encode(pieces)

    def file(self, encoder: Encoder, file: io.BytesIO) -> Node:
        """A binary file object by its content."""
        return ["file", self.key(file), encoder.encode(file.getvalue()), file.tell()]

    def held_optimizer(self, encoder: Encoder, optimizer: MirroredOptimizer) -> Node:
        """The submission's own optimizer, with the hyperparameters that were changed here."""
        options = encoder.encode(optimizer.changed_options())
        return ["held_optimizer", optimizer.remote.key, options]

    def iterator(self, _encoder: Encoder, iterator: Iterator[object]) -> Node:
        """An iterator, asked for one item whenever the worker wants one."""
        key = self.key(iterator)
        self.iterators[key] = iterator
        return ["pulled", key]

    def listed(self, encoder: Encoder, iterator: Iterator[object]) -> Node:
        """An iterator over a list, with all that is left: nobody sees who takes it when.

        Nothing is left of it here, however much the worker takes.
        """
        return ["listed", self.key(iterator), encoder.encode(list(iterator))]

    def callback(self, _encoder: Encoder, function: Callable[..., object]) -> Node:
        """A function, called here with plain values whenever the worker calls it."""
        key = self.key(function)
        self.callbacks[key] = function
        return ["callback", key]

    def sync(self, encoder: Encoder, optimizer: MirroredOptimizer | None) -> list[Node]:
        """The nodes that bring an optimizer's parameters up to date over there."""
        groups = optimizer.param_groups if optimizer is not None else []
        return [self.tensor(encoder, tensor) for group in groups for tensor in group["params"]]

    def sync_again(self, encoder: Encoder) -> list[Node]:
        """The nodes that bring all that is trained up to date in the middle of the call."""
        return [self.tensor(encoder, tensor) for tensor in self.trained]

    def given(self, number: int) -> Any:
        """The argument of the call that has a number.

        Raises:
            WireError: there is none.
        """
        return argument(self.current, number)

    def keep(self, key: int) -> None:
        """Note what was passed to the call that returns an object: it may keep it."""
        self.passed[key] = self.current

    def change(
        self, number: int, what: str, value: Any, *, made: RemoteObject | None = None
    ) -> Action:
        """The action that makes a change that the call made to an argument.

        Args:
            number: the argument's.
            what: "data", "grad" or "items".
            value: what it is now.
            made: an object that an earlier call returned, if it is one of that call's arguments.

        Raises:
            WireError: the change does not fit the argument.
        """
        target = argument(self.current if made is None else self.passed[made.key], number)
        if what == "items":
            if type(value) not in CONTAINERS or not isinstance(target, type(value)):
                raise WireError("an argument's items are of another kind")
            return partial(refill, target, value)
        if what == "grad" and value is None and isinstance(target, torch.Tensor):
            return partial(setattr, target, "grad", None)
        if what not in ("data", "grad") or not fits(value, target):
            raise WireError("an argument has another shape or dtype than it was passed with")
        if isinstance(target, np.ndarray):
            return partial(np.copyto, target, value)
        if what == "grad":
            return partial(setattr, target, "grad", value)
        stride = target.stride()
        return partial(without_repeats(target.data, stride).copy_, without_repeats(value, stride))

    def restore(self, key: int, state: object) -> Action:
        """The action that gives one of torch's own optimizers the state that it has in the worker.

        Raises:
            WireError: the state is not that of its parameters.
        """
        optimizer = self.by_key[key]
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise WireError("a state of what is no optimizer")
        return partial(optimizer.load_state_dict, checked_state(optimizer, state))

    def rewrite(self, key: int, content: object, position: int) -> Action:
        """The action that gives a file object the content and position that it has in the worker.

        Raises:
            WireError: they are none, or it is no file object.
        """
        file = self.by_key[key]
        if not isinstance(file, io.BytesIO) or type(content) is not bytes:
            raise WireError("the content of what is no file object")
        if type(position) is not int or not 0 <= position <= MAX_BODY_BYTES:
            raise WireError("a position that no file object has")
        return partial(rewrite, file, content, position)

    def parameter(self, key: int) -> torch.Tensor:
        """The tensor of a key.

        Raises:
            WireError: it is that of something else.
        """
        value = self.by_key[key]
        if not isinstance(value, torch.Tensor):
            raise WireError("a parameter that is no tensor")
        return value

    KINDS: tuple[tuple[Any, Callable[["Arguments", Encoder, Any], Node]], ...] = (
        (str, text),
        (torch.Tensor, tensor),
        (np.ndarray, array),
        (CONTAINERS, container),
        (torch.nn.Module, module),
        (torch.optim.Optimizer, torch_optimizer),
        (Path, path),
        (io.BytesIO, file),
        (MirroredOptimizer, held_optimizer),
        (RemoteObject, lambda _self, _encoder, remote: ["held", remote.key]),
        (type(iter([])), listed),
        (Iterator, iterator),
        (FunctionType, callback),
    )


def argument(arguments: list[Any], number: int) -> Any:
    """The argument that has a number.

    Raises:
        WireError: there is none.
    """
    if type(number) is not int or not 0 <= number < len(arguments):
        raise WireError("a change to an argument that was not passed")
    return arguments[number]


def is_trained(tensor: torch.Tensor) -> bool:
    """Return True for a tensor that an optimizer may have."""
    return isinstance(tensor, torch.nn.Parameter) or (tensor.is_leaf and tensor.requires_grad)


def unusual_stride(tensor: torch.Tensor) -> list[int] | None:
    """The stride of a tensor that is not contiguous, as far as no two elements share memory.

    Those of an expanded dimension do, and are expanded again.
    """
    if tensor.layout != torch.strided or tensor.is_meta or tensor.is_contiguous():
        return None
    reach = 0
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if step and size > 1:
            if step <= reach:
                return None
            reach += step * (size - 1)
    return list(tensor.stride())


def refill(target: Any, items: Any) -> None:
    """Give a container other items."""
    if isinstance(target, (dict, set)):
        target.clear()
        target.update(items)
    else:
        target[:] = items


def rewrite(file: io.BytesIO, content: bytes, position: int) -> None:
    """Give a file object another content and position."""
    file.seek(0)
    file.truncate()
    file.write(content)
    file.seek(position)


def offsets_of_data(descriptor: int) -> Iterator[int]:
    """Where the pieces of a file begin, without those that the system knows to be empty."""
    offset, size = 0, os.fstat(descriptor).st_size
    while offset < size:
        if hasattr(os, "SEEK_DATA"):
            try:
                offset = os.lseek(descriptor, offset, os.SEEK_DATA)
            except OSError:
                # There is no more data.
                return
        yield offset
        offset += PIECE_BYTES
