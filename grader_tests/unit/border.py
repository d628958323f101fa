"""The border within one process: a session in a thread, and a conversation with it."""

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from cs336_grader.running.conversation import Conversation
from cs336_grader.worker.channel import Channel, Message
from cs336_grader.worker.session import Session

Serve = Callable[[Channel], None]


@contextmanager
def conversation(serve: Serve) -> Iterator[Conversation]:
    """A conversation with what serves the other end of its channel in a thread."""
    ours, theirs = socket.socketpair()
    with ours:
        thread = threading.Thread(target=until_the_end, args=(serve, theirs))
        thread.start()
        try:
            yield Conversation(Channel(ours), lambda: "the other end is closed")
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            thread.join()


def until_the_end(serve: Serve, connection: socket.socket) -> None:
    """Serve until the connection is closed."""
    with connection, suppress(EOFError, OSError):
        serve(Channel(connection))


def session_with(**adapters: Callable[..., object]) -> Serve:
    """Serve as a worker does for a submission with these adapters."""
    module = ModuleType("adapters")
    vars(module).update(adapters)

    def serve(channel: Channel) -> None:
        session = Session(channel, module, None, None)
        try:
            while True:
                session.answer(*channel.receive())
        finally:
            if session.standins.scratch is not None:
                shutil.rmtree(session.standins.scratch)

    return serve


def answers_with(*frames: tuple[Message, list[bytes]]) -> Serve:
    """Answer each message with the next of these frames."""

    def serve(channel: Channel) -> None:
        for message, buffers in frames:
            channel.receive()
            channel.send(message, [memoryview(data) for data in buffers])
        channel.receive()

    return serve


def result(value: Any = None, **other: Any) -> Message:
    """A message that answers a call."""
    return {"op": "result", "call": 0, "value": value, "outputs": [], **other}
