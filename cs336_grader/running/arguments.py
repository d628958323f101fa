"""The arguments of a call: their nodes for the worker, and the changes that come back.

``worker/standins.py`` makes a stand-in from each node, in the method of the same name.
"""

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import torch

from cs336_grader.worker.channel import MAX_BODY_BYTES, Node, WireError
from cs336_grader.worker.values import Encoder, encode_array, encode_tensor, without_repeats

from .optimizers import MirroredOptimizer, checked_groups, checked_state, fits
from .remote import RemoteObject

PIECE_BYTES = 2**20
CONTAINERS = (list, dict, set, bytearray)
Action = Callable[[], object]


class Numbered:
    """Objects by the numbers that the worker knows them by; they are kept as long as this is."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}

    def __contains__(self, value: object) -> bool:
        """Return True for an object that has a number."""
        return id(value) in self.numbers

    def number(self, value: object) -> int:
        """Return the number of an object, a new one if it has none."""
        number = self.numbers.setdefault(id(value), len(self.objects))
        if number == len(self.objects):
            self.objects.append(value)
        return number

    def __getitem__(self, number: object) -> Any:
        """Return the object that has a number.

        Raises:
            WireError: there is none.
        """
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise WireError("the number of what was not passed")
        return self.objects[number]


class Arguments:
    """The arguments that one check has passed so far.

    Args:
        shared: the folders whose files are sent where a text is their path. No others: the text
            may come from the submission, and name any file.

    Attributes:
        keyed: the objects whose stand-in is the same in every call.
        current: the objects that the call may change.
        passed: those of the call that made an object, by the object's key.
        autograd_inputs: the tensors of the call that require a gradient.
        trained: its tensors that an optimizer may have.
    """

    def __init__(self, shared: Sequence[Path] = ()) -> None:
        self.shared = [folder.resolve() for folder in shared]
        self.keyed = Numbered()
        self.iterators: dict[object, Iterator[object]] = {}
        self.callbacks: dict[object, Callable[..., object]] = {}
        self.sent_files: set[bytes] = set()
        self.passed: dict[int, Numbered] = {}
        self.begin()

    def begin(self) -> None:
        """Begin a new call: nothing has been passed to it yet."""
        self.current = Numbered()
        self.autograd_inputs: list[torch.Tensor] = []
        self.trained: list[torch.Tensor] = []

    def node(self, encoder: Encoder, value: object) -> Node:
        """Return the node of an argument that is no plain value, or None."""
        if value in self.current:
            return ["given", self.current.number(value)]
        for types, method in self.KINDS:
            if isinstance(value, types):
                return method(self, encoder, value)
        return None

    def path_text(self, encoder: Encoder, text: str) -> Node:
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
        """Return the node of a tensor, with a key where it is to stay the same object."""
        if tensor not in self.current:
            if tensor.requires_grad:
                self.autograd_inputs.append(tensor)
            if is_trained(tensor):
                self.trained.append(tensor)
        about = {
            "number": self.current.number(tensor),
            "key": self.keyed.number(tensor) if keyed else None,
            "parameter": isinstance(tensor, torch.nn.Parameter),
            "leaf": tensor.is_leaf,
            "requires_grad": tensor.requires_grad,
            "grad": None,
            "stride": unusual_stride(tensor),
        }
        if tensor.is_leaf and tensor.grad is not None:
            about["grad"] = encode_tensor(encoder, tensor.grad)
        return ["tensor_argument", encode_tensor(encoder, tensor), about]

    def array(self, encoder: Encoder, array: np.ndarray[Any, Any]) -> Node:
        """An array by value, or as the file that it is mapped from."""
        # A slice of a map is a map too, but knows no offset of its own.
        if isinstance(array, np.memmap) and not isinstance(array.base, np.memmap):
            path = self.path(encoder, Path(str(array.filename)))
            return ["memmap", path, array.dtype.name, list(array.shape), array.offset]
        node = encode_array(encoder, array)
        return ["array_argument", node, self.current.number(array), array.flags.writeable]

    def container(self, encoder: Encoder, value: object) -> Node:
        """A list, dictionary, set or bytearray, which the call may change."""
        number = self.current.number(value)
        return ["container", encoder.encode_value(value), number]

    def module(self, encoder: Encoder, module: torch.nn.Module) -> Node:
        """A module as its parameters and buffers by name."""
        entries = {
            name: ["given", self.current.number(tensor)]
            if tensor in self.current
            else self.tensor_node(encoder, tensor, keyed=True)
            for name, tensor in module.state_dict(keep_vars=True).items()
        }
        return ["module", self.keyed.number(module), entries, module.training]

    def torch_optimizer(self, encoder: Encoder, optimizer: torch.optim.Optimizer) -> Node:
        """One of torch's own optimizers: its class, groups and state."""
        name = type(optimizer).__name__
        if getattr(torch.optim, name, None) is not type(optimizer):
            raise TypeError(f"a check passes torch's own optimizers, not {name}")
        groups = [
            {option: encoder.encode(value) for option, value in group.items()}
            for group in optimizer.param_groups
        ]
        state = Encoder(None, encoder.buffers).encode(optimizer.state_dict()["state"])
        about = {
            "key": self.keyed.number(optimizer),
            "number": self.current.number(optimizer),
            "name": name,
        }
        return ["torch_optimizer", about, groups, state]

    def path(self, encoder: Encoder, path: Path) -> Node:
        """A path, with the file that is there unless it was sent before."""
        key = f"{zlib.crc32(str(path.parent).encode()):08x}"
        return ["path", key, path.name, self.pieces(encoder, path) if path.is_file() else None]

    def pieces(self, encoder: Encoder, path: Path) -> Node:
        """Return a file's size and the pieces of it with data, or None if they were sent before."""
        pieces: list[object] = [path.stat().st_size]
        digest = hashlib.sha256(str(path).encode())
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                offset = file.tell() - len(piece)
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
        content = encoder.encode(file.getvalue())
        return ["file", self.keyed.number(file), self.current.number(file), content, file.tell()]

    def mirrored_optimizer(self, encoder: Encoder, optimizer: MirroredOptimizer) -> Node:
        """The submission's own optimizer: the hyperparameters and parameters of its groups here."""
        plain = Encoder(None, encoder.buffers)
        groups = [
            [
                plain.encode({name: group[name] for name in group if name != "params"}),
                encoder.items(group["params"]),
            ]
            for group in optimizer.param_groups
        ]
        return ["mirrored_optimizer", optimizer.key, self.current.number(optimizer), groups]

    def listed(self, encoder: Encoder, iterator: Iterator[object]) -> Node:
        """An iterator over a list, with all that is left in it: that spares a question an item.

        Nothing is left of it here, however much the worker takes.
        """
        return ["listed", self.keyed.number(iterator), encoder.encode(list(iterator))]

    def pulled(self, _encoder: Encoder, iterator: Iterator[object]) -> Node:
        """An iterator, asked for one item whenever the worker needs one."""
        key = self.keyed.number(iterator)
        self.iterators[key] = iterator
        return ["pulled", key]

    def callback(self, _encoder: Encoder, function: Callable[..., object]) -> Node:
        """A function, called here with plain values whenever the worker calls it."""
        key = self.keyed.number(function)
        self.callbacks[key] = function
        return ["callback", key]

    def sync(self, encoder: Encoder) -> list[Node]:
        """Return the nodes that bring all that is trained up to date in the middle of the call."""
        return [self.tensor(encoder, tensor) for tensor in self.trained]

    def change(self, made_of: int | None, number: int, part: str, value: Any) -> Action:
        """Return the action that makes a change that the call made to an argument.

        Args:
            made_of: an object's key, if it is an argument of the earlier call that made it.
            number: the argument's.
            part: "data", "grad", "items", "state", "groups" or "content".
            value: the new value; nothing in it is relied on.

        Raises:
            WireError, LookupError, TypeError, ValueError: the change does not fit the argument.
        """
        target = (self.current if made_of is None else self.passed[made_of])[number]
        types, method = self.PARTS[part]
        if not isinstance(target, types):
            raise WireError(f"a change to the {part} of an argument that has none")
        return method(self, target, value)

    def data(self, target: Any, value: Any) -> Action:
        """Return the action that gives a tensor or array other values."""
        if not fits(value, target):
            raise WireError("an argument has another shape or dtype than it was passed with")
        if isinstance(target, np.ndarray):
            return partial(np.copyto, target, value)
        stride = target.stride()
        return partial(without_repeats(target.data, stride).copy_, without_repeats(value, stride))

    def grad(self, target: torch.Tensor, value: Any) -> Action:
        """Return the action that gives a tensor another gradient, or none."""
        if value is not None and not fits(value, target):
            raise WireError("a gradient has another shape or dtype than its argument")
        return partial(setattr, target, "grad", value)

    def items(self, target: Any, value: Any) -> Action:
        """Return the action that gives a container other items."""
        if type(value) not in CONTAINERS or not isinstance(target, type(value)):
            raise WireError("an argument's items are of another kind")
        return partial(refill, target, value)

    def state(self, target: torch.optim.Optimizer, value: Any) -> Action:
        """Return the action that gives one of torch's own optimizers the state of its stand-in."""
        return partial(target.load_state_dict, checked_state(target, value))

    def groups(self, target: MirroredOptimizer, value: Any) -> Action:
        """Return the action that gives a mirrored optimizer the groups of the submission's."""
        groups = checked_groups(value, len(target.param_groups), self.parameter)
        return partial(target.take_over, groups)

    def content(self, target: io.BytesIO, value: Any) -> Action:
        """Return the action that gives a file object the content and position of its stand-in."""
        if type(value) is not tuple or [*map(type, value)] != [bytes, int]:
            raise WireError("the content of a file object is not as agreed")
        content, position = value
        if not 0 <= position <= MAX_BODY_BYTES:
            raise WireError("a position that no file object has")
        return partial(rewrite, target, content, position)

    def parameter(self, key: int) -> torch.Tensor:
        """Return the tensor of a key.

        Raises:
            WireError: there is none.
        """
        value = self.keyed[key]
        if not isinstance(value, torch.Tensor):
            raise WireError("a parameter that is no tensor")
        return value

    PARTS: ClassVar[dict[str, tuple[Any, Callable[["Arguments", Any, Any], Action]]]] = {
        "data": ((torch.Tensor, np.ndarray), data),
        "grad": (torch.Tensor, grad),
        "items": (CONTAINERS, items),
        "state": (torch.optim.Optimizer, state),
        "groups": (MirroredOptimizer, groups),
        "content": (io.BytesIO, content),
    }
    KINDS: tuple[tuple[Any, Callable[["Arguments", Encoder, Any], Node]], ...] = (
        (str, path_text),
        (torch.Tensor, tensor),
        (np.ndarray, array),
        (CONTAINERS, container),
        (torch.nn.Module, module),
        (torch.optim.Optimizer, torch_optimizer),
        (Path, path),
        (io.BytesIO, file),
        (MirroredOptimizer, mirrored_optimizer),
        (RemoteObject, lambda _self, _encoder, remote: ["held", remote.key]),
        (type(iter([])), listed),
        (Iterator, pulled),
        (FunctionType, callback),
    )


def is_trained(tensor: torch.Tensor) -> bool:
    """Return True for a tensor that an optimizer may have."""
    return isinstance(tensor, torch.nn.Parameter) or (tensor.is_leaf and tensor.requires_grad)


def unusual_stride(tensor: torch.Tensor) -> list[int] | None:
    """Return the stride of a tensor that is not contiguous."""
    usual = tensor.layout != torch.strided or tensor.is_meta or tensor.is_contiguous()
    return None if usual else list(tensor.stride())


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
