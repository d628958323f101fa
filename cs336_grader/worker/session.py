"""Runs the judge's calls, one after the other, in the process with the student's code."""

import io
import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np
import torch

from .channel import Channel, Message, Node, WireError
from .exceptions import Origin, describe
from .received import NumberedChange, Received, changes_of
from .standins import StandIns
from .tracing import Tracer
from .values import Decoder, Encoder, is_plain

# Of an iterator that asks for nothing, this many items are sent at a time.
MAX_ITEMS = 1000


class Session:
    """One conversation with the judge: objects named in it live as long as it does.

    Args:
        channel: leads to the judge.
        adapters: the student's module of adapters, or None before it is imported.
        origin: where the submission lies; errors name places in it.
        tracer: notes what the submission enters that the rules are about.
    """

    def __init__(
        self,
        channel: Channel,
        adapters: ModuleType | None,
        origin: Origin | None,
        tracer: Tracer | None,
    ) -> None:
        self.channel = channel
        self.adapters = adapters
        self.origin = origin
        self.tracer = tracer
        self.held: dict[int, Any] = {}
        self.numbers = itertools.count()
        self.outputs: dict[int, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
        self.standins = StandIns()
        self.files: dict[int, io.BytesIO] = {}
        self.lists: dict[int, Iterator[object]] = {}
        self.touched_files: list[int] = []
        self.passed: list[int] = []
        self.older: dict[int, Received] = {}
        self.watched: dict[int, dict[int, Received]] = {}
        self.entered: list[int] = []
        self.scratch: Path | None = None
        self.batch: Batch | None = None
        self.waiting = False
        self.failures: dict[int, Exception] = {}

    def answer(self, message: Message, buffers: list[memoryview]) -> None:
        """Do what a message asks and send the answer; whatever goes wrong is the answer then."""
        operations = {
            "call": self.call,
            "backward": self.backward,
            "next": self.next,
            "seed": self.seed,
        }
        try:
            answer, encoder = operations[message["op"]](message, Decoder(buffers, self.special()))
            frame = Channel.frame(answer | self.news(), encoder.buffers)
        except BaseException as error:
            frame = Channel.frame(describe(error, self.origin) | self.news())
        self.channel.send_frame(frame)

    def news(self) -> Message:
        """What the submission entered since the last answer, if anything."""
        seen = self.tracer.news() if self.tracer is not None else []
        return {"seen": seen} if seen else {}

    def call(self, message: Message, decoder: Decoder) -> tuple[Message, Encoder]:
        """Call an adapter, or a method of something an earlier call returned."""
        self.standins.begin()
        self.touched_files, self.entered = [], []
        for node in message["sync"]:
            decoder.decode(node)
        if message["held"] is not None:
            target = self.held[message["held"]]
            function = target if message["name"] is None else getattr(target, message["name"])
            if isinstance(target, torch.optim.Optimizer):
                self.held_optimizer(decoder, message["held"], message["options"])
        else:
            function = getattr(self.adapters, message["name"])
        args, kwargs = decoder.decode(message["args"]), decoder.decode(message["kwargs"])
        self.passed = list(self.standins.received)
        self.older = self.watched.get(message["held"], {})
        outputs: list[torch.Tensor] = []
        encoder = Encoder(self.result_node(outputs))
        try:
            with torch.set_grad_enabled(message["grad_enabled"]):
                value = function(*args, **kwargs)
        except BaseException as error:
            return describe(error, self.origin) | self.effects(encoder.buffers), encoder
        number = next(self.numbers)
        answer = {
            "op": "result",
            "call": number,
            "value": encoder.encode(value),
            "outputs": [encoder.encode_tensor(output) for output in outputs],
        }
        self.outputs[number] = (self.standins.autograd_inputs, outputs)
        return answer | self.effects(encoder.buffers), encoder

    def effects(self, buffers: list[memoryview]) -> Message:
        """The changes that a call made to its arguments and to the object whose method it is."""
        encoder = Encoder(self.result_node(None), buffers)
        changes = [*changes_of(self.standins.received), *self.standins.replaced()]
        return {
            "changed": changed(encoder, changes),
            "older": changed(encoder, changes_of(self.older)),
            "optimizers": [
                [key, encoder.encode(self.standins.optimizers[key].state_dict())]
                for key in self.standins.entered_optimizers
            ],
            "groups": [[key, self.groups(encoder, self.held[key])] for key in self.entered],
            "files": [
                [key, encoder.encode(self.files[key].getvalue()), self.files[key].tell()]
                for key in self.touched_files
            ],
        }

    def backward(self, message: Message, decoder: Decoder) -> tuple[Message, Encoder]:
        """The gradients of an earlier call's tensor arguments, given those of its outputs."""
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

    def next(self, message: Message, _decoder: Decoder) -> tuple[Message, Encoder]:
        """The next items of an iterator that an earlier call returned.

        As many as it gives without asking the judge for more input: see ``ask``.
        """
        key = message["held"]
        if key in self.failures:
            raise self.failures.pop(key)
        batch = Batch(key)
        # While one iterator waits in the middle of its work, another cannot: it gives single items.
        limit = 1 if self.waiting else MAX_ITEMS
        outer, self.batch = self.batch, batch
        try:
            while len(batch.items) < limit:
                item = next(self.held[key])
                # Only now: the items before it may have been handed over meanwhile.
                batch.items.append(item)
        except StopIteration:
            batch.done = True
        except Exception as error:
            if not batch.items:
                raise
            self.failures[key] = error
        finally:
            self.batch = outer
        return self.items(batch)

    def items(self, batch: "Batch") -> tuple[Message, Encoder]:
        """The message that hands over a batch of items."""
        encoder = Encoder(self.result_node(None))
        value = ["list", encoder.encode_items(batch.items)]
        return {"op": "items", "value": value, "done": batch.done}, encoder

    def result_node(self, outputs: list[torch.Tensor] | None) -> Callable[[Encoder, object], Node]:
        """How results are encoded: arguments by their number, and objects stay here.

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
            return (
                None if isinstance(value, (str, torch.Tensor)) else self.object_node(encoder, value)
            )

        return special

    def object_node(self, encoder: Encoder, value: object) -> Node:
        """The node of a value; it stays here if the border does not carry its type."""
        if isinstance(value, torch.optim.Optimizer):
            return ["optimizer", self.hold(value), self.groups(encoder, value)]
        if isinstance(value, Iterator):
            return ["iterator", self.hold(value)]
        try:
            return encoder.encode_value(value)
        except WireError:
            if isinstance(value, np.ndarray):
                raise
            key = self.hold(value)
            # The object may keep them, and change them in a later call.
            self.watched[key] = self.standins.containers()
            return ["object", key, type(value).__name__]

    def hold(self, value: object) -> int:
        """Keep an object; its key."""
        key = next(self.numbers)
        self.held[key] = value
        return key

    def groups(self, encoder: Encoder, optimizer: torch.optim.Optimizer) -> Node:
        """The groups of an optimizer: plain hyperparameters, and the keys of its parameters."""
        keys = {id(tensor): key for key, tensor in self.standins.tensors.items()}
        return [
            [
                encoder.encode({str(k): value for k, value in group.items() if is_plain(value)}),
                [keys[id(p)] for p in group["params"] if id(p) in keys],
            ]
            for group in optimizer.param_groups
        ]

    def special(self) -> dict[str, Callable[..., object]]:
        """How the nodes of arguments are decoded that are no plain values."""
        return {
            "argument": self.standins.tensor,
            "array_argument": self.standins.array,
            "container": self.standins.container,
            "given": self.standins.given,
            "module": self.standins.module,
            "torch_optimizer": self.standins.optimizer,
            "held": lambda _decoder, key: self.held[key],
            "held_optimizer": self.held_optimizer,
            "pulled": lambda _decoder, key: self.pull(key),
            "listed": self.listed,
            "callback": lambda _decoder, key: (
                lambda *args, **kwargs: self.call_back(key, args, kwargs)
            ),
            "path": self.path,
            "path_text": lambda *node: str(self.path(*node)),
            "memmap": self.memmap,
            "file": self.file,
        }

    def held_optimizer(self, decoder: Decoder, key: int, given: Node) -> Any:
        """The student's optimizer, with the hyperparameters that were changed meanwhile."""
        optimizer = self.held[key]
        for group, options in zip(optimizer.param_groups, decoder.decode(given), strict=True):
            group.update(options)
        self.entered.append(key)
        return optimizer

    def listed(self, decoder: Decoder, key: int, items: Node) -> Iterator[object]:
        """An iterator over a list, the same one whenever it is passed."""
        return self.lists.setdefault(key, iter(decoder.decode(items)))

    def pull(self, key: int) -> Iterator[object]:
        """The items of an iterator of the judge, asked for one by one."""
        while True:
            answer = self.ask({"op": "pull", "key": key})
            if answer is STOP:
                return
            yield answer

    def call_back(self, key: int, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """What a function of the judge returns for plain arguments.

        The changes that the call has made so far are sent before; changed tensors come back.

        Raises:
            WireError: one of them is no plain value.
        """
        encoder = Encoder()
        question = {
            "op": "callback",
            "key": key,
            "args": encoder.encode(args),
            "kwargs": encoder.encode(kwargs),
            "grad_enabled": torch.is_grad_enabled(),
            "changed": changed(
                Encoder(self.result_node(None), encoder.buffers),
                changes_of({number: self.standins.received[number] for number in self.passed}),
            ),
        }
        return self.ask(question, encoder.buffers)

    def ask(self, question: Message, buffers: Sequence[memoryview] = ()) -> object:
        """Ask the judge for something in the middle of a call.

        Items that an iterator gave before it wants more are handed over first, so that nothing is
        asked for that is not needed.
        """
        if self.batch is not None and self.batch.items:
            self.hand_over(self.batch)
        self.channel.send(question, buffers)
        message, received = self.channel.receive()
        decoder = Decoder(received, self.special())
        for node in message["sync"]:
            decoder.decode(node)
        return STOP if message["op"] == "stop" else decoder.decode(message["value"])

    def hand_over(self, batch: "Batch") -> None:
        """Send the items so far, and answer whatever comes until more of them are asked for."""
        answer, encoder = self.items(batch)
        self.channel.send(answer, encoder.buffers)
        batch.items = []
        self.waiting, self.batch = True, None
        message, buffers = self.channel.receive()
        while message["op"] != "next" or message["held"] != batch.key:
            self.answer(message, buffers)
            message, buffers = self.channel.receive()
        self.waiting, self.batch = False, batch

    def path(self, decoder: Decoder, key: str, name: str, pieces: Node) -> Path:
        """A file or folder of the judge, at a place of this process's own."""
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

    def memmap(self, decoder: Decoder, path: Node, dtype: str, shape: list[int], at: int) -> object:
        """An array in a file, opened over here."""
        return np.memmap(decoder.decode(path), dtype, "r", offset=at, shape=tuple(shape))

    def file(self, decoder: Decoder, key: int, content: Node, position: int) -> io.BytesIO:
        """A binary file object."""
        file = self.files.setdefault(key, io.BytesIO())
        file.seek(0)
        file.truncate()
        file.write(decoder.decode(content))
        file.seek(position)
        self.touched_files.append(key)
        return file


class Batch:
    """Items of one iterator that have not been sent yet.

    Attributes:
        key: the iterator's.
        done: whether there are no more.
    """

    def __init__(self, key: int) -> None:
        self.key = key
        self.items: list[object] = []
        self.done = False


STOP = object()


def has_graph(value: object, *, passed: bool) -> TypeGuard[torch.Tensor]:
    """Return True for a tensor through which gradients flow back."""
    if not isinstance(value, torch.Tensor):
        return False
    return value.requires_grad and not (passed and value.is_leaf)


def changed(encoder: Encoder, changes: Iterable[NumberedChange]) -> Node:
    """The nodes of changes."""
    return [
        [number, what, value if value is None else encoder.encode_value(value)]
        for number, what, value in changes
    ]
