"""One check's exchange with its worker, seen from the trusted side."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from cs336_grader.worker.channel import Channel, Message, Node, WireError
from cs336_grader.worker.values import MAX_ITEMS, Decoder, Encoder

from .arguments import Arguments
from .faults import WorkerLostError, submission_error
from .remote import LinkedOutput, MirroredOptimizer, RemoteIterator, RemoteObject
from .restoring import fits
from .sightings import MAX_SIGHTINGS, Place, sightings_in

# What taking in an answer raises that is not as agreed.
UNUSABLE = (
    *(WireError, LookupError, TypeError, ValueError, ArithmeticError),
    *(RuntimeError, AttributeError),
)
# Of all that one check receives; an answer alone may be as large as a frame.
MAX_RECEIVED_BYTES = 2 * 2**30


class Conversation:
    """Calls functions and methods in the worker, and makes here the changes they make there.

    Args:
        channel: leads to the worker.
        why_lost: says, when the worker is gone, why.
        shared: the folders whose files a check passes by their paths as texts.

    Attributes:
        sightings: what the worker saw the submission enter that the rules are about.
    """

    def __init__(
        self, channel: Channel, why_lost: Callable[[], str], shared: Sequence[Path] = ()
    ) -> None:
        self.channel = channel
        self.why_lost = why_lost
        self.arguments = Arguments(shared)
        self.mirrors: dict[int, MirroredOptimizer] = {}
        self.sightings: set[Place] = set()
        self.items = 0

    def call(
        self,
        name: str | None,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        *,
        held: RemoteObject | None = None,
        optimizer: MirroredOptimizer | None = None,
    ) -> Any:
        """Call an adapter, or a method of a held object (without a name, the object itself).

        Args:
            name: the function or method.
            args: its arguments.
            kwargs: its keyword arguments.
            held: the object whose method is meant.
            optimizer: the mirror of that object, if it is an optimizer: its parameters and
                hyperparameters are brought up to date over there first.

        Raises:
            SubmissionError: the submission's code raised an exception.
            WorkerLostError: there is no answer.
        """
        self.arguments.begin()
        encoder = Encoder(self.arguments.node)
        message: Message = {
            "op": "call",
            "name": name,
            "held": None if held is None else held.key,
            "sync": self.arguments.sync(encoder, optimizer),
            "options": encoder.encode(None if optimizer is None else optimizer.options()),
            "args": encoder.encode(args),
            "kwargs": encoder.encode(kwargs),
            "grad_enabled": torch.is_grad_enabled(),
        }
        inputs = list(self.arguments.autograd_inputs) if torch.is_grad_enabled() else []
        answer, buffers = self.exchange(message, encoder, f"Your {name or 'class'}")
        return self.understand(lambda: self.result(answer, buffers, inputs))

    def more(self, held: RemoteObject) -> tuple[list[Any], bool]:
        """The next items of a held iterator, and whether these are the last.

        Raises:
            SubmissionError, WorkerLostError: as for ``call``.
        """
        message = {"op": "next", "held": held.key}
        answer, buffers = self.exchange(message, Encoder(), "Your iterator")
        items, done = self.understand(
            lambda: (self.value(answer["value"], buffers), answer["done"] is True)
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
        if len(self.sightings) < MAX_SIGHTINGS:
            self.sightings.update(sightings_in(answer.get("seen")))
        if answer["op"] == "error":
            raise submission_error(what, answer)
        return answer, buffers

    def receive(self) -> tuple[Message, list[memoryview]]:
        """The next frame.

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
        encoder = Encoder(self.arguments.node)
        answer: Message = {"op": "item", "sync": []}
        key = question.get("key")
        try:
            if question["op"] == "pull" and key in self.arguments.iterators:
                answer["value"] = encoder.encode(next(self.arguments.iterators[key]))
            elif question["op"] == "callback" and key in self.arguments.callbacks:
                args = Decoder(buffers).decode(question.get("args"))
                if type(args) is not tuple:
                    raise WireError("a function's arguments that are no tuple")
                answer["value"] = encoder.encode(self.arguments.callbacks[key](*args))
                answer["sync"] = self.arguments.sync_again(encoder)
            else:
                raise WireError("a question about something that was not passed")
        except StopIteration:
            answer["op"] = "stop"
        self.channel.send(answer, encoder.buffers)

    def understand(self, decode: Callable[[], Any]) -> Any:
        """Decode an answer; one that is not as agreed is as good as none."""
        try:
            return decode()
        except UNUSABLE as error:
            reason = str(error) if isinstance(error, WireError) else "it is not as agreed"
            raise WorkerLostError(f"what came back cannot be used: {reason}") from error

    def result(self, answer: Message, buffers: list[memoryview], inputs: list[torch.Tensor]) -> Any:
        """Make the changes that a call made, and return its value."""
        plain = Decoder(buffers)
        for number, what, node in answer["changed"]:
            self.arguments.apply(number, what, plain.decode(node))
        for key, node in answer["optimizers"]:
            self.arguments.restore(key, plain.decode(node))
        for key, node in answer["options"]:
            self.mirrors[key].set_options(plain.decode(node))
        for key, node, position in answer["files"]:
            self.arguments.rewrite(key, plain.decode(node), position)
        outputs: list[torch.Tensor] = []
        value = self.value(answer["value"], buffers, outputs)
        if not inputs or not outputs:
            return value
        call = answer["call"]
        # Some releases of torch give it a type, others none.
        apply: Any = LinkedOutput.apply
        linked = apply(lambda grads: self.backward(call, grads, inputs), outputs, *inputs)
        return self.value(answer["value"], buffers, linked=linked)

    def backward(
        self, call: int, grads: list[torch.Tensor | None], inputs: list[torch.Tensor]
    ) -> list[torch.Tensor | None]:
        """The gradients of a call's inputs, given those of its outputs.

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

    def value(
        self,
        node: Node,
        buffers: list[memoryview],
        outputs: list[torch.Tensor] | None = None,
        linked: tuple[torch.Tensor, ...] = (),
    ) -> Any:
        """The value of a result.

        Args:
            node: its node.
            buffers: of its frame.
            outputs: collects the tensors that have a graph in the worker.
            linked: takes their place.
        """

        def output(decoder: Decoder, tensor: Node, position: int) -> torch.Tensor:
            if linked:
                return linked[position]
            value: torch.Tensor = decoder.decode(tensor)
            if outputs is not None:
                outputs.append(value)
            return value

        def optimizer(decoder: Decoder, key: int, options: Node, keys: Node) -> MirroredOptimizer:
            groups = [
                {**option, "params": [self.arguments.parameter(k) for k in held if k is not None]}
                for option, held in zip(decoder.decode(options), keys, strict=True)
            ]
            remote = RemoteObject(self, key, "optimizer")
            return self.mirrors.setdefault(key, MirroredOptimizer(remote, groups))

        special: dict[str, Callable[..., object]] = {
            "output": output,
            "optimizer": optimizer,
            "iterator": lambda _, key: RemoteIterator(RemoteObject(self, key, "iterator")),
            "object": lambda _, key, type_name: RemoteObject(self, key, str(type_name)),
        }
        return Decoder(buffers, special).decode(node)
