"""Frames between the judge and a worker.

A frame is a length, a JSON header and raw buffers whose sizes the header names. Every size is known
and capped before it is read, and nothing in a frame can execute.
"""

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

Node = Any
Message = dict[str, Node]
Frame = list[memoryview]

MAX_HEADER_BYTES = 16 * 2**20
# To compare values, the judge needs many times the memory that they have.
MAX_BODY_BYTES = 2**28
MAX_BUFFERS = 100_000
# A frame of at most this size is sent in one piece: each piece wakes the other side.
JOINED_BYTES = 2**16
LENGTH = struct.Struct(">I")


class WireError(Exception):
    """A frame or value that the border does not carry."""


class Channel:
    """Sends and receives frames over a socket.

    Attributes:
        received_bytes: how much has come so far.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.received_bytes = 0

    def send(self, message: Message, buffers: Sequence[memoryview] = ()) -> None:
        """Send one frame.

        Raises:
            WireError: it is larger than the other side accepts.
            OSError: the other side has ended.
        """
        self.send_frame(self.frame(message, buffers))

    @staticmethod
    def frame(message: Message, buffers: Sequence[memoryview] = ()) -> Frame:
        """Return the parts of a frame, in the order in which they are sent.

        Raises:
            WireError: it is larger than the other side accepts.
        """
        sizes = [len(buffer) for buffer in buffers]
        header = json.dumps([message, sizes], separators=(",", ":")).encode()
        if len(header) > MAX_HEADER_BYTES or not is_body_allowed(sizes):
            raise WireError(f"a value of {len(header) + sum(sizes):,} bytes is too large")
        return [memoryview(LENGTH.pack(len(header)) + header), *buffers]

    def send_frame(self, frame: Frame) -> None:
        """Send the parts of a frame.

        Raises:
            OSError: the other side has ended.
        """
        if sum(map(len, frame)) <= JOINED_BYTES:
            frame = [memoryview(b"".join(frame))]
        for part in frame:
            self.connection.sendall(part)

    def receive(self) -> tuple[Message, list[memoryview]]:
        """Receive one frame.

        Raises:
            EOFError: the other side has ended.
            WireError: what came is no frame, or larger than allowed.
        """
        (length,) = LENGTH.unpack(self.read(LENGTH.size))
        if length > MAX_HEADER_BYTES:
            raise WireError(f"a header of {length:,} bytes")
        try:
            message, sizes = json.loads(bytes(self.read(length)))
            agreed = all(type(size) is int and size >= 0 for size in sizes)
        except (ValueError, TypeError, RecursionError) as error:
            raise WireError("a header that is not as agreed") from error
        if not agreed or type(message) is not dict or type(message.get("op")) is not str:
            raise WireError("a header that is not as agreed")
        if not is_body_allowed(sizes):
            raise WireError(f"a body of {sum(sizes):,} bytes")
        return message, [self.read(size) for size in sizes]

    def read(self, size: int) -> memoryview:
        """Return exactly this many bytes, in memory that nothing else refers to."""
        self.received_bytes += size
        data = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            got = self.connection.recv_into(data[filled:])
            if got == 0:
                raise EOFError("the other side has ended")
            filled += got
        return data

    def close(self) -> None:
        """Close this end."""
        self.connection.close()


def is_body_allowed(sizes: Sequence[int]) -> bool:
    """Return True if a frame may have buffers of these sizes."""
    return sum(sizes) <= MAX_BODY_BYTES and len(sizes) <= MAX_BUFFERS
