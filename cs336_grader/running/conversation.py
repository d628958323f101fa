"""One check's exchange with its worker, on the judge's side (worker/session.py has the other)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from cs336_grader.worker.channel import Channel, Message, Node, WireError
from cs336_grader.worker.operator_trace import COMPUTED, EMPTY
from cs336_grader.worker.values import Decoder, Encoder

from .arguments import Arguments
from .faults import SubmissionError, WorkerLostError, submission_error
from .forbidden_calls import MAX_FORBIDDEN_CALLS, NO_RECORD, Place, forbidden_calls_in
from .optimizers import MirroredOptimizer, checked_groups, fits
from .remote import LinkedOutput, RemoteIterator, RemoteObject

# Exceptions that the decoding of an answer raises if it is not as agreed.
UNUSABLE = (
    *(WireError, LookupError, TypeError, ValueError, ArithmeticError),
    *(RuntimeError, AttributeError),
)
# Of all that one case of a check receives; an answer alone may be as large as a frame.
MAX_RECEIVED_BYTES = 2 * 2**30
# Of all iterators of one case of a check.
MAX_ITEMS = 2**24
# What functions and iterators of the check give in a call is kept as long as the call lasts.
MAX_CALLBACKS = 10_000
MAX_GIVEN_BYTES = 2**28


class Conversation:
    """Calls functions and methods in the worker, and makes here the changes they make there.

    Args:
        channel: leads to the worker.
        why_lost: says, when the worker is gone, why.
        shared: the folders whose files a check passes by their paths as texts.

    Attributes:
        forbidden_calls: what the submission ran that the rules are about, as the worker tells.
        unanswered: how many messages have no answer, and will have none where a call has failed.
        returned_floats: whether a call returned a tensor of floats that is no argument of it.
    """

    def __init__(
        self, channel: Channel, why_lost: Callable[[], str], shared: Sequence[Path] = ()
    ) -> None:
        self.channel = channel
        self.why_lost = why_lost
        self.arguments = Arguments(shared)
        self.outputs: Sequence[torch.Tensor] = []
        self.forbidden_calls: set[Place] = set()
        self.unanswered = 0
        self.returned_floats = False
        self.target: int | None = None
        self.items = 0
        self.callbacks = 0
        self.given_bytes = 0
        channel.received_bytes = 0

    def call(
        self,
        name: str | None,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        target: RemoteObject | None = None,
    ) -> Any:
        """Call an adapter, or a method of a held object (without a name, the object itself).

        Args:
            name: the function or method.
            args: its arguments.
            kwargs: its keyword arguments.
            target: the object whose method is meant.

        Raises:
            SubmissionError: the submission's code raised an exception.
            WorkerLostError: there is no answer.
        """
        self.arguments.begin()
        self.target = None if target is None else target.key
        self.callbacks = self.given_bytes = 0
        encoder = Encoder(self.arguments.node)
        message: Message = {
            "op": "call",
            "name": name,
            "target": encoder.encode(target),
            "args": encoder.encode(args),
            "kwargs": encoder.encode_value(kwargs),
            "grad_enabled": torch.is_grad_enabled(),
        }
        answer, buffers = self.exchange(message, encoder, f"Your {name or 'class'}")
        inputs = self.arguments.autograd_inputs if torch.is_grad_enabled() else []
        return self.understand(lambda: self.result(answer, buffers, inputs))

    def more(self, held: RemoteObject) -> tuple[list[Any], bool]:
        """Return the next items of a held iterator, and True if these are the last.

        Raises:
            SubmissionError, WorkerLostError: as for ``call``.
        """
        message = {"op": "next", "held": held.key}
        answer, buffers = self.exchange(message, Encoder(), "Your iterator")
        decoder = self.decoder(buffers)
        items, done = self.understand(
            lambda: (decoder.decode(answer["value"]), answer["done"] is True)
        )
        if type(items) is not list or not (items or done):
            raise WorkerLostError("what came back cannot be used: neither an item nor an end")
        self.items += len(items)
        if self.items > MAX_ITEMS:
            raise WorkerLostError(f"it gave more than {MAX_ITEMS:,} items, one after the other")
        return items, done

    def seed(self, number: int) -> None:
        """Seed torch's global generator in the worker.

        Raises:
            SubmissionError, WorkerLostError: as for ``call``.
        """
        self.exchange({"op": "seed", "seed": number}, Encoder(), "torch.manual_seed")

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Have the worker record torch's operators."""
        with suppress(SubmissionError, WorkerLostError):
            self.exchange({"op": "record", "begin": True}, Encoder(), "The record")
        try:
            yield
        finally:
            if not self.unanswered:
                try:
                    self.exchange({"op": "record", "begin": False}, Encoder(), "The record")
                except (SubmissionError, WorkerLostError):
                    # The worker answered all of the case, and does not tell what ran.
                    self.forbidden_calls.add(NO_RECORD)
            if not self.returned_floats:
                self.forbidden_calls -= {("", 0, COMPUTED), ("", 0, EMPTY)}

    def exchange(
        self, message: Message, encoder: Encoder, what: str
    ) -> tuple[Message, list[memoryview]]:
        """Send a message, answer the questions that come back, and return the answer.

        Args:
            message: the message.
            encoder: holds its buffers.
            what: names what is called, in the text of an exception.

        Raises:
            SubmissionError, WorkerLostError: as for ``call``.
        """
        self.unanswered += 1
        try:
            self.channel.send(message, encoder.buffers)
            while True:
                answer, buffers = self.receive()
                if answer["op"] not in ("pull", "callback"):
                    break
                self.reply(answer, buffers)
        except (EOFError, OSError) as error:
            raise WorkerLostError(self.why_lost()) from error
        except WireError as error:
            raise WorkerLostError(f"what came back cannot be used: {error}") from error
        self.unanswered -= 1
        if len(self.forbidden_calls) < MAX_FORBIDDEN_CALLS:
            self.forbidden_calls.update(forbidden_calls_in(answer.get("seen")))
        if answer["op"] == "error":
            self.understand(lambda: self.make_changes(answer, self.decoder(buffers)))
            raise submission_error(what, answer)
        return answer, buffers

    def receive(self) -> tuple[Message, list[memoryview]]:
        """Receive the next frame.

        Raises:
            WireError: it is none, or one more than the check may take in.
            EOFError, OSError: the worker is gone.
        """
        frame = self.channel.receive()
        if self.channel.received_bytes > MAX_RECEIVED_BYTES:
            raise WireError("it is more than a check may take in")
        return frame

    def reply(self, question: Message, buffers: list[memoryview]) -> None:
        """Answer what the worker asks in the middle of a call: an item, or a function's value."""
        ask = self.understand(lambda: self.asked(question, buffers))
        values = ask()
        encoder = Encoder(self.arguments.node)
        answer: Message = {"op": "values", "values": encoder.items(values)}
        answer["sync"] = self.arguments.sync(encoder) if question["op"] == "callback" else []
        self.given_bytes += sum(map(len, encoder.buffers))
        if self.given_bytes > MAX_GIVEN_BYTES:
            most = f"{MAX_GIVEN_BYTES // 2**20} MB"
            raise WorkerLostError(f"it asked functions and iterators of the check for over {most}")
        self.channel.send(answer, encoder.buffers)

    def asked(self, question: Message, buffers: list[memoryview]) -> Callable[[], list[Any]]:
        """Return a function that gives the values asked for; there is none at an iterator's end.

        Raises:
            WireError, LookupError, TypeError, ValueError: it is not as agreed.
        """
        key = question["key"]
        if question["op"] == "pull":
            iterator = self.arguments.iterators[key]
            self.make_changes(question, self.decoder(buffers))
            return lambda: list(islice(iterator, 1))
        self.callbacks += 1
        if self.callbacks > MAX_CALLBACKS:
            raise WorkerLostError(f"it called the check's functions over {MAX_CALLBACKS:,} times")
        function = self.arguments.callbacks[key]
        decoder = self.decoder(buffers)
        args, kwargs = decoder.decode(question["args"]), decoder.decode(question["kwargs"])
        enabled = question["grad_enabled"]
        named = type(kwargs) is dict and all(type(name) is str for name in kwargs)
        if type(args) is not tuple or not named or type(enabled) is not bool:
            raise WireError("a function's arguments that are none")
        self.make_changes(question, decoder)

        def call() -> list[Any]:
            with torch.set_grad_enabled(enabled):
                return [function(*args, **kwargs)]

        return call

    def understand(self, decode: Callable[[], Any]) -> Any:
        """Decode an answer; refuse one that is not as agreed."""
        try:
            return decode()
        except UNUSABLE as error:
            reason = str(error) if isinstance(error, WireError) else "it is not as agreed"
            raise WorkerLostError(f"what came back cannot be used: {reason}") from error

    def result(self, answer: Message, buffers: list[memoryview], inputs: list[torch.Tensor]) -> Any:
        """Make the changes that a call made, and return its value."""
        decoder = self.decoder(buffers)
        outputs: list[torch.Tensor] = [decoder.decode(node) for node in answer["outputs"]]
        if not all(type(output) is torch.Tensor for output in outputs):
            raise WireError("an output that is no tensor")
        if inputs and outputs:
            call = whole(answer["call"])
            # Some releases of torch give it a type, others none.
            apply: Any = LinkedOutput.apply
            outputs = apply(lambda grads: self.backward(call, grads, inputs), outputs, *inputs)
        self.outputs = outputs
        value = decoder.decode(answer["value"])
        self.outputs = []
        self.make_changes(answer, decoder)
        if type(value) is torch.Tensor and answer["value"][0] != "given":
            self.returned_floats |= value.is_floating_point()
        return value

    def make_changes(self, answer: Message, decoder: Decoder) -> None:
        """Make the changes that a call made; none of them before all are known to fit.

        Raises:
            WireError, LookupError, TypeError, ValueError: one of them does not.
        """
        actions = [
            self.arguments.change(made_of, number, part, decoder.decode(node))
            for made_of, changes in (
                (self.target, answer.get("older", ())),
                (None, answer.get("changed", ())),
            )
            for number, part, node in changes
        ]
        for action in actions:
            action()

    def backward(
        self, call: int, grads: list[torch.Tensor | None], inputs: list[torch.Tensor]
    ) -> list[torch.Tensor | None]:
        """Return the gradients of a call's inputs, given those of its outputs.

        Raises:
            SubmissionError, WorkerLostError: as for ``call``.
        """
        encoder = Encoder()
        message = {"op": "backward", "call": call, "grads": encoder.encode(grads)}
        answer, buffers = self.exchange(message, encoder, "The backward pass of your function")

        def gradients() -> list[torch.Tensor | None]:
            found: list[torch.Tensor | None] = Decoder(buffers).decode(answer["value"])
            for grad, tensor in zip(found, inputs, strict=True):
                if grad is not None and not fits(grad, tensor):
                    raise WireError("a gradient has another shape or dtype than its argument")
            return list(found)

        grads_of_inputs: list[torch.Tensor | None] = self.understand(gradients)
        return grads_of_inputs

    def decoder(self, buffers: list[memoryview]) -> Decoder:
        """Return a decoder of results, also of held objects and of arguments."""
        special: dict[str, Callable[..., object]] = {
            "output": lambda _, number: self.outputs[whole(number)],
            "given": lambda _, number: self.arguments.current[number],
            "optimizer": self.optimizer,
            "iterator": lambda _, key: RemoteIterator(RemoteObject(self, whole(key), "iterator")),
            "object": self.remote_object,
        }
        return Decoder(buffers, special)

    def optimizer(self, decoder: Decoder, key: int, groups: Node) -> MirroredOptimizer:
        """Return the mirror of an optimizer of the submission's own."""
        mirror = MirroredOptimizer(self, whole(key))
        mirror.take_over(checked_groups(decoder.decode(groups), 0, self.arguments.parameter))
        return mirror

    def remote_object(self, _decoder: Decoder, key: int, name: Node) -> RemoteObject:
        """Return an object that stays in the worker, and may keep what the call was passed."""
        self.arguments.passed[whole(key)] = self.arguments.current
        return RemoteObject(self, key, str(name))


def whole(number: object) -> int:
    """Return a number that counts something.

    Raises:
        WireError: it does not.
    """
    if type(number) is not int or number < 0:
        raise WireError("a number that counts nothing")
    return number
