"""The worker's stand-ins for the arguments that the judge passes.

``running/arguments.py`` makes the nodes, and each method here takes those of the method of the same
name there. What a call changed in a stand-in is sent back, and the judge changes its own argument.
"""

import io
import operator
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .channel import Message, Node
from .values import Decoder, Encoder, is_plain, raw, without_repeats

CONTAINERS = (list, dict, set, bytearray)
# What is compared with an earlier one, and what is sent where they differ.
Parts = dict[str, tuple[object, Any]]
Change = tuple[int, str, Any]


class Argument:
    """A stand-in that a call may change.

    Args:
        value: what the student's code gets.
        parts: returns its parts by name.
    """

    def __init__(self, value: Any, parts: Callable[[Any], Parts]) -> None:
        self.value = value
        self.parts = parts
        self.before = parts(value)

    def changes(self) -> Iterator[tuple[str, Any]]:
        """Yield the parts that changed since the last call of this method, by name."""
        before, self.before = self.before, self.parts(self.value)
        for name, (compared, sent) in self.before.items():
            if not is_same(compared, before[name][0]):
                yield name, sent


class StandIns:
    """Every stand-in of one check, and the objects that stay here.

    Args:
        ask: asks the judge for values in the middle of a call.

    Attributes:
        held: results that stay here, by key.
        keyed: stand-ins that are the same object in every call, by key.
        received: the stand-ins that the call may change, by the judge's numbers.
        autograd_inputs: the tensors of the call that require a gradient.
    """

    def __init__(self, ask: Callable[[Message, Encoder], list[Any]]) -> None:
        self.ask = ask
        self.held: dict[int, Any] = {}
        self.keyed: dict[int, Any] = {}
        self.scratch: Path | None = None
        self.begin()

    def begin(self) -> None:
        """Begin a new call: nothing has been received for it yet."""
        self.received: dict[int, Argument] = {}
        self.numbers: dict[int, int] = {}
        self.autograd_inputs: list[torch.Tensor] = []
        self.modules: list[tuple[torch.nn.Module, dict[str, int]]] = []

    def decoders(self) -> dict[str, Callable[..., object]]:
        """Return the functions that decode the nodes of arguments, by tag."""
        return {
            "given": self.given,
            "held": lambda _decoder, key: self.held[key],
            "path_text": lambda *node: str(self.path(*node)),
            "tensor_argument": self.tensor,
            "array_argument": self.array,
            "memmap": self.memmap,
            "container": self.container,
            "module": self.module,
            "torch_optimizer": self.torch_optimizer,
            "path": self.path,
            "file": self.file,
            "mirrored_optimizer": self.mirrored_optimizer,
            "listed": self.listed,
            "pulled": lambda _decoder, key: self.pulled(key),
            "callback": self.callback,
        }

    def receive(self, number: int, value: Any, parts: Callable[[Any], Parts]) -> Any:
        """Note an argument under its number; return it."""
        self.received[number] = Argument(value, parts)
        self.numbers[id(value)] = number
        return value

    def number(self, value: object) -> int | None:
        """Return the number of an argument, or None for any other value."""
        return self.numbers.get(id(value))

    def containers(self) -> dict[int, Argument]:
        """Return the lists, dictionaries, sets and bytearrays of the call."""
        received = self.received.items()
        return {number: one for number, one in received if isinstance(one.value, CONTAINERS)}

    def changes(self) -> Iterator[Change]:
        """Yield what the call changed since the last call of this method."""
        yield from changes_of(self.received)
        for module, numbers in self.modules:
            tensors = dict(module.state_dict(keep_vars=True))
            for name, number in numbers.items():
                # Another tensor may be in the place of a module's own.
                if name in tensors and self.number(tensors[name]) is None:
                    yield number, "data", tensors[name]

    def given(self, _decoder: Decoder, number: int) -> Any:
        """Return an argument that was passed in the same call before."""
        return self.received[number].value

    def tensor(self, decoder: Decoder, node: Node, about: dict[str, Node]) -> torch.Tensor:
        """Return a tensor; one that has a key is the same object in every call."""
        value = decoder.decode(node)
        if about["leaf"]:
            value = laid_out(value, about["stride"])
        tensor = self.kept_tensor(value, about) if about["key"] is not None else value
        with torch.no_grad():
            tensor.requires_grad_(about["requires_grad"])
            tensor.grad = decoder.decode(about["grad"])
        if about["requires_grad"] and about["number"] not in self.received:
            self.autograd_inputs.append(tensor)
        if not about["leaf"]:
            # Where the check computed it, it may be changed in place; a leaf may not.
            tensor = laid_out(tensor.clone(), about["stride"])
        received: torch.Tensor = self.receive(about["number"], tensor, tensor_parts)
        return received

    def kept_tensor(self, value: torch.Tensor, about: dict[str, Node]) -> Any:
        """Return the tensor kept under the key, holding the value."""
        kept = self.keyed.get(about["key"])
        if kept is None:
            kept = torch.nn.Parameter(value, requires_grad=False) if about["parameter"] else value
            self.keyed[about["key"]] = kept
        else:
            kept.data.copy_(value)
        return kept

    def array(self, decoder: Decoder, node: Node, number: int, writeable: bool) -> object:
        """Return a NumPy array."""
        array = decoder.decode(node)
        array.flags.writeable = writeable
        return self.receive(number, array, lambda value: {"data": (value.tobytes(), value)})

    def memmap(self, decoder: Decoder, path: Node, dtype: str, shape: list[int], at: int) -> object:
        """Return an array that is mapped from a file of this process's own."""
        return np.memmap(decoder.decode(path), dtype, "r", offset=at, shape=tuple(shape))

    def container(self, decoder: Decoder, node: Node, number: int) -> object:
        """Return a list, dictionary, set or bytearray."""
        return self.receive(
            number, decoder.decode(node), lambda value: {"items": (items(value), value)}
        )

    def module(self, decoder: Decoder, key: int, entries: dict[str, Node], training: bool) -> Any:
        """Return a module with the same parameter and buffer names, that cannot be called."""
        module = self.keyed.setdefault(key, torch.nn.Module())
        numbers = {}
        for name, node in entries.items():
            tensor = decoder.decode(node)
            numbers[name] = self.numbers[id(tensor)]
            owner, leaf = submodule(module, name)
            if isinstance(tensor, torch.nn.Parameter):
                owner.register_parameter(leaf, tensor)
            else:
                owner.register_buffer(leaf, tensor)
        self.modules.append((module.train(training), numbers))
        return module

    def torch_optimizer(
        self, decoder: Decoder, about: dict[str, Any], groups: list[dict[str, Node]], state: Node
    ) -> Any:
        """Return one of torch's own optimizers over the stand-ins of its parameters."""
        key = about["key"]
        plain = [
            {option: decoder.decode(node) for option, node in group.items()} for group in groups
        ]
        if key not in self.keyed:
            self.keyed[key] = getattr(torch.optim, about["name"])(plain)
        optimizer = self.keyed[key]
        packed = optimizer.state_dict()["param_groups"]
        for pack, group in zip(packed, plain, strict=True):
            pack.update({option: value for option, value in group.items() if option != "params"})
        optimizer.load_state_dict({"state": decoder.decode(state), "param_groups": packed})
        return self.receive(
            about["number"], optimizer, lambda value: {"state": (object(), value.state_dict())}
        )

    def path(self, decoder: Decoder, key: str, name: str, pieces: Node) -> Path:
        """Return the place, in this process's own folder, of a file or folder of the judge."""
        if self.scratch is None:
            self.scratch = Path(tempfile.mkdtemp(prefix="check-"))
        place = self.scratch / key / name
        place.parent.mkdir(exist_ok=True)
        if pieces is not None:
            size, *parts = decoder.decode(pieces)
            with place.open("wb") as file:
                for offset, data in parts:
                    file.seek(offset)
                    file.write(data)
                file.truncate(size)
        return place

    def file(
        self, decoder: Decoder, key: int, number: int, content: Node, position: int
    ) -> io.BytesIO:
        """Return a binary file object."""
        file = self.keyed.setdefault(key, io.BytesIO())
        file.seek(0)
        file.truncate()
        file.write(decoder.decode(content))
        file.seek(position)
        received: io.BytesIO = self.receive(number, file, file_parts)
        return received

    def mirrored_optimizer(
        self, decoder: Decoder, key: int, number: int, groups: list[list[Node]]
    ) -> Any:
        """Return the submission's own optimizer, brought up to date with its mirror."""
        optimizer = self.held[key]
        for group, (options, parameters) in zip(optimizer.param_groups, groups, strict=True):
            for name, value in decoder.decode(options).items():
                # Groups may share a tensor: it stays where it has the value already.
                if not is_equal(group.get(name, self), value):
                    group[name] = value
            decoder.items(parameters)
        return self.receive(
            number, optimizer, lambda value: {"groups": (object(), self.groups(value))}
        )

    def groups(self, optimizer: torch.optim.Optimizer) -> list[tuple[object, object]]:
        """Return an optimizer's groups: plain hyperparameters, and the keys of its parameters."""
        keys = {id(value): key for key, value in self.keyed.items()}
        return [
            (
                {str(name): value for name, value in group.items() if is_plain(value)},
                [keys[id(tensor)] for tensor in group["params"] if id(tensor) in keys],
            )
            for group in optimizer.param_groups
        ]

    def listed(self, decoder: Decoder, key: int, node: Node) -> Any:
        """Return an iterator over a list, the same one whenever it is passed."""
        return self.keyed.setdefault(key, iter(decoder.decode(node)))

    def pulled(self, key: int) -> Iterator[Any]:
        """Yield the items of an iterator of the judge, asked for one by one."""
        while found := self.ask({"op": "pull", "key": key}, Encoder()):
            yield found[0]

    def callback(self, _decoder: Decoder, key: int) -> Callable[..., Any]:
        """Return a function that calls one of the judge, for plain arguments."""

        def call_back(*args: object, **kwargs: object) -> Any:
            encoder = Encoder()
            question = {
                "op": "callback",
                "key": key,
                "args": encoder.encode(args),
                "kwargs": encoder.encode(kwargs),
                "grad_enabled": torch.is_grad_enabled(),
            }
            return self.ask(question, encoder)[0]

        return call_back


def changes_of(received: Mapping[int, Argument]) -> Iterator[Change]:
    """Yield the changes to arguments: an argument's number, a part's name and its new value."""
    for number, argument in received.items():
        for part, value in argument.changes():
            yield number, part, value


def tensor_parts(tensor: torch.Tensor) -> Parts:
    """Return the data of a tensor and its gradient, if it can have one."""
    grad = tensor.grad if tensor.is_leaf else None
    return {
        "data": (None if tensor.is_meta else bytes(raw(tensor)), tensor),
        "grad": (None if grad is None else bytes(raw(grad)), grad),
    }


def file_parts(file: io.BytesIO) -> Parts:
    """Return the content and position of a binary file object."""
    content = file.getvalue(), file.tell()
    return {"content": (content, content)}


def items(container: Any) -> list[object]:
    """Return the items of a container; a dictionary's keys come first."""
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def is_same(now: object, before: object) -> bool:
    """Return True for equal values, and for lists of the same objects.

    Items that can change are arguments of their own.
    """
    if isinstance(now, list) and isinstance(before, list):
        return len(now) == len(before) and all(map(operator.is_, now, before))
    return now == before


def is_equal(own: object, given: object) -> bool:
    """Return True for hyperparameters of one type and value."""
    if isinstance(own, torch.Tensor) and isinstance(given, torch.Tensor):
        return own.dtype == given.dtype and torch.equal(own, given)
    return type(own) is type(given) and own == given


def laid_out(value: torch.Tensor, stride: list[int] | None) -> torch.Tensor:
    """Return a tensor of the same values with another layout in memory, if one is given."""
    if stride is None:
        return value
    once = without_repeats(value, stride)
    return torch.empty_strided(once.shape, stride, dtype=value.dtype).copy_(once).expand_as(value)


def submodule(module: torch.nn.Module, name: str) -> tuple[torch.nn.Module, str]:
    """Return the owner of a dotted name, made where it is missing, and the name's last part."""
    *path, leaf = name.split(".")
    for part in path:
        if not hasattr(module, part):
            module.add_module(part, torch.nn.Module())
        module = module.get_submodule(part)
    return module, leaf
