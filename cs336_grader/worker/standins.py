"""The worker's stand-ins for the arguments that the judge passes."""

from collections.abc import Iterator
from typing import Any

import torch

from .channel import Node
from .received import Received, ReceivedArray, ReceivedContainer, ReceivedTensor
from .values import Decoder, without_repeats


class StandIns:
    """Every stand-in of one check, each kept as long as the check lasts.

    Attributes:
        received: what the call may change, as the judge counts it.
        autograd_inputs: the tensors of the call that require a gradient.
    """

    def __init__(self) -> None:
        self.tensors: dict[int, torch.Tensor] = {}
        self.modules: dict[int, torch.nn.Module] = {}
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self.begin()

    def begin(self) -> None:
        """A new call: nothing has been received for it yet."""
        self.received: dict[int, Received] = {}
        self.numbers: dict[int, int] = {}
        self.autograd_inputs: list[torch.Tensor] = []
        self.entered_modules: list[tuple[torch.nn.Module, dict[str, int]]] = []
        self.entered_optimizers: list[int] = []

    def receive(self, number: int, received: Received) -> Any:
        """Note an argument under its number; what the student's code gets."""
        self.received[number] = received
        self.numbers[id(received.value)] = number
        return received.value

    def number(self, value: object) -> int | None:
        """The number of an argument, if a value is one."""
        return self.numbers.get(id(value))

    def containers(self) -> dict[int, Received]:
        """The lists, dictionaries, sets and bytearrays of the call."""
        return {
            number: received
            for number, received in self.received.items()
            if isinstance(received, ReceivedContainer)
        }

    def given(self, _decoder: Decoder, number: int) -> Any:
        """An argument that was passed in the same call before."""
        return self.received[number].value

    def tensor(self, decoder: Decoder, node: Node, about: dict[str, Node]) -> torch.Tensor:
        """The tensor of an argument; one that has a key is the same object in every call."""
        value = decoder.decode(node)
        if about["leaf"]:
            value = laid_out(value, about["stride"])
        tensor = self.keyed(value, about) if about["key"] is not None else value
        with torch.no_grad():
            tensor.requires_grad_(about["requires_grad"])
            tensor.grad = decoder.decode(about["grad"])
        if about["requires_grad"] and about["number"] not in self.received:
            self.autograd_inputs.append(tensor)
        if not about["leaf"]:
            # Where the check computed it, it may be changed in place; a leaf may not.
            tensor = laid_out(tensor.clone(), about["stride"])
        received: torch.Tensor = self.receive(about["number"], ReceivedTensor(tensor))
        return received

    def keyed(self, value: torch.Tensor, about: dict[str, Node]) -> torch.Tensor:
        """The tensor kept under the key, holding the value."""
        kept = self.tensors.get(about["key"])
        if kept is None:
            kept = torch.nn.Parameter(value, requires_grad=False) if about["parameter"] else value
            self.tensors[about["key"]] = kept
        else:
            kept.data.copy_(value)
        return kept

    def array(self, decoder: Decoder, node: Node, number: int, writeable: bool) -> object:
        """The NumPy array of an argument."""
        value = decoder.decode(node)
        value.flags.writeable = writeable
        return self.receive(number, ReceivedArray(value))

    def container(self, decoder: Decoder, node: Node, number: int) -> object:
        """The list, dictionary, set or bytearray of an argument."""
        return self.receive(number, ReceivedContainer(decoder.decode(node)))

    def module(self, decoder: Decoder, key: int, entries: dict[str, Node], training: bool) -> Any:
        """A module with the same parameter and buffer names, that cannot be called."""
        module = self.modules.setdefault(key, torch.nn.Module())
        numbers = {}
        for name, node in entries.items():
            tensor = decoder.decode(node)
            numbers[name] = self.numbers[id(tensor)]
            owner, leaf = submodule(module, name)
            if isinstance(tensor, torch.nn.Parameter):
                owner.register_parameter(leaf, tensor)
            else:
                owner.register_buffer(leaf, tensor)
        self.entered_modules.append((module.train(training), numbers))
        return module

    def optimizer(
        self, decoder: Decoder, key: int, name: str, groups: list[dict[str, Node]], state: Node
    ) -> torch.optim.Optimizer:
        """One of torch's own optimizers over the stand-ins of its parameters."""
        plain = [
            {option: decoder.decode(node) for option, node in group.items()} for group in groups
        ]
        if key not in self.optimizers:
            self.optimizers[key] = getattr(torch.optim, name)(plain)
        optimizer = self.optimizers[key]
        packed = optimizer.state_dict()["param_groups"]
        for pack, group in zip(packed, plain, strict=True):
            pack.update({option: value for option, value in group.items() if option != "params"})
        optimizer.load_state_dict({"state": decoder.decode(state), "param_groups": packed})
        self.entered_optimizers.append(key)
        return optimizer

    def replaced(self) -> Iterator[tuple[int, str, torch.Tensor]]:
        """The tensors in the place of a module's own, as changes of those."""
        for module, numbers in self.entered_modules:
            held = dict(module.state_dict(keep_vars=True))
            for name, number in numbers.items():
                if name in held and self.number(held[name]) is None:
                    yield number, "data", held[name]


def laid_out(value: torch.Tensor, stride: list[int] | None) -> torch.Tensor:
    """A tensor of the same values with another layout in memory, if one is given."""
    if stride is None:
        return value
    once = without_repeats(value, stride)
    return torch.empty_strided(once.shape, stride, dtype=value.dtype).copy_(once).expand_as(value)


def submodule(module: torch.nn.Module, name: str) -> tuple[torch.nn.Module, str]:
    """The module that owns a dotted name, made where it is missing, and the name's last part."""
    *path, leaf = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, torch.nn.Module())
        module = module.get_submodule(part)
    return module, leaf
