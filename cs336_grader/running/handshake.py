"""What a new worker says first, and what the system says of who said it."""

import socket
import struct

from cs336_grader.worker.process import HELLO

CREDENTIALS_BYTES = 12


def ask_for_credentials(connection: socket.socket) -> None:
    """Have the system say who sends what comes from now on, where it can do that."""
    if hasattr(socket, "SO_PASSCRED"):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


def handshake(connection: socket.socket) -> int:
    """The process id of a new worker, in the words of the system where it can tell.

    The worker itself knows another number where it lives in a namespace of its own.

    Raises:
        EOFError: nothing has come.
    """
    said, attached, _, _ = connection.recvmsg(HELLO.size, socket.CMSG_SPACE(CREDENTIALS_BYTES))
    if len(said) != HELLO.size:
        raise EOFError("the other side is gone")
    for level, kind, data in attached:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
            return int(struct.unpack("3i", data)[0])
    return int(HELLO.unpack(said)[0])
