"""Runs the judge's calls, one after the other, in the process with the student's code."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np
import torch

from .call_record import CallRecord
from .channel import Channel, Message, Node, WireError
from .entry_points import enter
from .exceptions import Origin, describe
from .standins import Argument, Change, StandIns, changes_of
from .values import Decoder, Encoder, encode_tensor

# Of an iterator that asks for nothing, this many items are sent at a time.
MAX_ITEMS = 1000


class Session:
    """One conversation with the judge: objects named in it live as long as it does.

    Args:
        channel: leads to the judge.
        adapters: the student's module of adapters, or None before it is imported.
        origin: where the submission lies; errors name places in it.
        calls: notes what the submission runs that the rules are about.
    """

    def __init__(
        self,
        channel: Channel,
        adapters: ModuleType | None,
        origin: Origin | None,
        calls: CallRecord | None,
    ) -> None:
        self.channel = channel
        self.adapters = adapters
        self.origin = origin
        self.calls = calls
        self.standins = StandIns(self.ask)
        self.numbers = itertools.count()
        self.outputs: dict[int, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
        # What the call that made an object was passed: the object may keep and change it.
        self.watched: dict[int, dict[int, Argument]] = {}
        self.failures: dict[int, Exception] = {}
        self.asked = False

    def answer(self, message: Message, buffers: list[memoryview]) -> None:
        """Do what a message asks and send the answer; whatever goes wrong is the answer then."""
        operations = {
            "call": self.call,
            "backward": self.backward,
            "next": self.next,
            "seed": self.seed,
            "record": self.record,
        }
        try:
            decoder = Decoder(buffers, self.standins.decoders())
            answer, encoder = operations[message["op"]](message, decoder)
            frame = Channel.frame(answer | self.news(), encoder.buffers)
        except BaseException as error:
            frame = Channel.frame(describe(error, self.origin) | self.news())
        self.channel.send_frame(frame)

    def news(self) -> Message:
        """Return what the submission ran since the last answer, if the rules are about it."""
        seen = self.calls.news() if self.calls is not None else []
        return {"seen": seen} if seen else {}

    def call(self, message: Message, decoder: Decoder) -> tuple[Message, Encoder]:
        """Call an adapter, or a method of something an earlier call returned."""
        self.standins.begin()
        target: Any = self.adapters
        older: dict[int, Argument] = {}
        if message["target"] is not None:
            target = decoder.decode(message["target"])
            older = self.watched.get(message["target"][1], {})
        function = target if message["name"] is None else getattr(target, message["name"])
        args, kwargs = decoder.decode(message["args"]), decoder.decode(message["kwargs"])
        outputs: list[torch.Tensor] = []
        encoder = Encoder(self.result_node(outputs))
        try:
            with torch.set_grad_enabled(message["grad_enabled"]):
                value = enter(function, args, kwargs)
        except BaseException as error:
            answer = describe(error, self.origin)
        else:
            number = next(self.numbers)
            answer = {
                "op": "result",
                "call": number,
                "value": encoder.encode(value),
                "outputs": [encode_tensor(encoder, output) for output in outputs],
            }
            self.outputs[number] = (self.standins.autograd_inputs, outputs)
        answer["changed"] = self.encoded(self.standins.changes(), encoder)
        answer["older"] = self.encoded(changes_of(older), encoder)
        return answer, encoder

    def encoded(self, changes: Iterable[Change], encoder: Encoder) -> Node:
        """Return the nodes of changes, whose buffers are added to those of an encoder."""
        encoder = Encoder(self.result_node(None), encoder.buffers)
        return [
            [number, part, None if value is None else encoder.encode_value(value)]
            for number, part, value in changes
        ]

    def backward(self, message: Message, decoder: Decoder) -> tuple[Message, Encoder]:
        """Compute the gradients of an earlier call's tensors, given those of its outputs."""
        inputs, outputs = self.outputs[message["call"]]
        given = decoder.decode(message["grads"])
        pairs = [(outputs[i], grad) for i, grad in enumerate(given) if grad is not None]
        grads = torch.autograd.grad(
            [output for output, _ in pairs],
            inputs,
            [grad for _, grad in pairs],
            allow_unused=True,
            retain_graph=True,
        )
        encoder = Encoder()
        return {"op": "result", "value": encoder.encode(list(grads))}, encoder

    def seed(self, message: Message, _decoder: Decoder) -> tuple[Message, Encoder]:
        """Seed torch's global generator."""
        torch.manual_seed(message["seed"])
        return {"op": "result"}, Encoder()

    def record(self, message: Message, _decoder: Decoder) -> tuple[Message, Encoder]:
        """Begin to record torch's operators, or end it."""
        if self.calls is not None:
            (self.calls.start if message["begin"] else self.calls.stop)()
        return {"op": "result"}, Encoder()

    def next(self, message: Message, _decoder: Decoder) -> tuple[Message, Encoder]:
        """Get the next items of an iterator that an earlier call returned.

        The last of them is the first one for which it asked the judge for input.
        """
        key = message["held"]
        if key in self.failures:
            raise self.failures.pop(key)
        items: list[object] = []
        done = self.asked = False
        try:
            while len(items) < MAX_ITEMS and not self.asked:
                items.append(next(self.standins.held[key]))
        except StopIteration:
            done = True
        except Exception as error:
            if not items:
                raise
            self.failures[key] = error
        encoder = Encoder(self.result_node(None))
        return {"op": "items", "value": encoder.encode_value(items), "done": done}, encoder

    def ask(self, question: Message, encoder: Encoder) -> list[Any]:
        """Ask the judge for values in the middle of a call.

        The changes that the call has made so far are sent before; tensors that the judge trains
        come back.
        """
        self.asked = True
        question["changed"] = self.encoded(self.standins.changes(), encoder)
        self.channel.send(question, encoder.buffers)
        message, buffers = self.channel.receive()
        decoder = Decoder(buffers, self.standins.decoders())
        decoder.items(message["sync"])
        return decoder.items(message["values"])

    def result_node(self, outputs: list[torch.Tensor] | None) -> Callable[[Encoder, object], Node]:
        """Return how results are encoded: arguments by their number, and objects stay here.

        Args:
            outputs: collects the tensors that have a graph; without it, they cross without theirs.
        """

        def special(encoder: Encoder, value: object) -> Node:
            number = self.standins.number(value)
            # An argument that is no leaf may have a longer graph now.
            if outputs is not None and has_graph(value, passed=number is not None):
                outputs.append(value)
                return ["output", len(outputs) - 1]
            if number is not None:
                return ["given", number]
            plain = isinstance(value, (str, torch.Tensor))
            return None if plain else self.object_node(encoder, value)

        return special

    def object_node(self, encoder: Encoder, value: object) -> Node:
        """Return the node of a value; it stays here if the border does not carry its type."""
        if isinstance(value, torch.optim.Optimizer):
            groups = encoder.encode_value(self.standins.groups(value))
            return ["optimizer", self.hold(value), groups]
        if isinstance(value, Iterator):
            return ["iterator", self.hold(value)]
        try:
            return encoder.encode_value(value)
        except WireError:
            if isinstance(value, np.ndarray):
                raise
            key = self.hold(value)
            self.watched[key] = self.standins.containers()
            return ["object", key, type(value).__name__]

    def hold(self, value: object) -> int:
        """Keep an object; return its key."""
        key = next(self.numbers)
        self.standins.held[key] = value
        return key


def has_graph(value: object, *, passed: bool) -> TypeGuard[torch.Tensor]:
    """Return True for a tensor through which gradients flow back."""
    if not isinstance(value, torch.Tensor):
        return False
    return value.requires_grad and not (passed and value.is_leaf)
