"""What stands in, over here, for the tensors, modules and optimizers of the trusted process."""

from collections.abc import Iterator
from typing import Any

import torch

from .channel import Node
from .values import Decoder, raw


class Received:
    """One tensor argument, with what it held on arrival, so that a change can be told.

    Attributes:
        tensor: what the student's code gets.
        number: how the trusted process counts it within the call.
    """

    def __init__(self, number: int, tensor: torch.Tensor, data: bytes, grad: bytes | None) -> None:
        self.number = number
        self.tensor = tensor
        self.data = data
        self.grad = grad

    def changes(self) -> dict[str, torch.Tensor | None]:
        """The data and gradient that are no longer what arrived."""
        changed: dict[str, torch.Tensor | None] = {}
        if self.tensor.device.type != "meta" and bytes(raw(self.tensor)) != self.data:
            changed["data"] = self.tensor
        grad = self.tensor.grad if self.tensor.is_leaf else None
        if (None if grad is None else bytes(raw(grad))) != self.grad:
            changed["grad"] = grad
        return changed


class StandIns:
    """Every stand-in of one check, each kept as long as the check lasts."""

    def __init__(self) -> None:
        self.tensors: dict[int, torch.Tensor] = {}
        self.modules: dict[int, torch.nn.Module] = {}
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self.begin()

    def begin(self) -> None:
        """A new call: nothing has been received for it yet."""
        self.received: list[Received] = []
        self.arrays: list[tuple[int, Any, bytes]] = []
        self.autograd_inputs: list[torch.Tensor] = []
        self.entered_modules: list[tuple[torch.nn.Module, dict[str, int]]] = []
        self.entered_optimizers: list[int] = []

    def tensor(self, decoder: Decoder, node: Node, about: dict[str, Node]) -> torch.Tensor:
        """The tensor of an argument; one that has a key is the same object in every call."""
        value: torch.Tensor = decoder.decode(node)
        data = b"" if value.device.type == "meta" else bytes(raw(value))
        grad = decoder.decode(about["grad"])
        tensor = self.keyed(value, about) if about["key"] is not None else value
        with torch.no_grad():
            tensor.requires_grad_(about["requires_grad"])
            tensor.grad = grad
        if about["requires_grad"]:
            self.autograd_inputs.append(tensor)
        if not about["leaf"]:
            # Where the check computed it, it may be changed in place; a leaf may not.
            tensor = tensor.clone()
        before = None if grad is None else bytes(raw(grad))
        self.received.append(Received(about["number"], tensor, data, before))
        return tensor

    def keyed(self, value: torch.Tensor, about: dict[str, Node]) -> torch.Tensor:
        """The tensor kept under the key, holding the value."""
        kept = self.tensors.get(about["key"])
        if kept is None:
            kept = torch.nn.Parameter(value, requires_grad=False) if about["parameter"] else value
            self.tensors[about["key"]] = kept
        else:
            kept.data.copy_(value)
        return kept

    def array(self, decoder: Decoder, node: Node, number: int) -> object:
        """The NumPy array of an argument."""
        value = decoder.decode(node)
        self.arrays.append((number, value, value.tobytes()))
        return value

    def module(self, decoder: Decoder, key: int, entries: dict[str, Node], training: bool) -> Any:
        """A module with the same parameter and buffer names, that cannot be called."""
        module = self.modules.setdefault(key, torch.nn.Module())
        numbers = {}
        for name, node in entries.items():
            tensor = decoder.decode(node)
            numbers[name] = self.received[-1].number
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

    def changes(self) -> Iterator[tuple[int, str, object]]:
        """What the call changed: the argument's number, "data" or "grad", the new value."""
        for received in self.received:
            for what, value in received.changes().items():
                yield received.number, what, value
        for number, array, before in self.arrays:
            if array.tobytes() != before:
                yield number, "data", array
        for module, numbers in self.entered_modules:
            replaced = dict(module.state_dict(keep_vars=True))
            kept = {id(received.tensor) for received in self.received}
            for name, number in numbers.items():
                if name in replaced and id(replaced[name]) not in kept:
                    yield number, "data", replaced[name]


def submodule(module: torch.nn.Module, name: str) -> tuple[torch.nn.Module, str]:
    """The module that owns a dotted name, made where it is missing, and the name's last part."""
    *path, leaf = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, torch.nn.Module())
        module = module.get_submodule(part)
    return module, leaf
