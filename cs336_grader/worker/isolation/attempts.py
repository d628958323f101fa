"""Tries, from inside, to reach what should be out of reach: what succeeds is open.

It runs in the very process that is to import the submission, before it does.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .syscalls import checked, libc

TIMEOUT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Canaries:
    """What lies outside for the attempts to reach.

    Attributes:
        file: holds the text "canary"; its folder may be written to.
        tcp_port: something listens there.
        udp_port: something listens there.
        abstract_socket: the name of a socket that something listens at.
        socket: the path of another.
        pid: a process.
        memory_bytes: more than a process may have.
    """

    file: str
    tcp_port: int
    udp_port: int
    abstract_socket: str
    socket: str
    pid: int
    memory_bytes: int

    def attempts(self) -> dict[str, dict[str, Callable[[], object]]]:
        """What is tried for each resource, named by what it means when it succeeds."""
        return {
            "file system": {
                "files outside can be read": self.read,
                "folders outside can be listed": lambda: os.listdir(os.path.dirname(self.file)),
                "files outside can be written": lambda: Path(f"{self.file}.new").write_text(""),
                "files outside can be given another mode": self.change_mode,
                "files outside can be removed": lambda: os.unlink(f"{self.file}.removable"),
            },
            "network": {
                "TCP connects": lambda: connect(socket.AF_INET, ("127.0.0.1", self.tcp_port)),
                "UDP can be sent": self.send,
                "abstract sockets connect": lambda: connect(
                    socket.AF_UNIX, f"\0{self.abstract_socket}"
                ),
                "sockets with a path connect": lambda: connect(socket.AF_UNIX, self.socket),
            },
            "processes": {
                "processes outside can be seen": lambda: opened(f"/proc/{self.pid}/status"),
                "their environment can be read": lambda: opened(f"/proc/{self.pid}/environ"),
                "their memory can be read": self.peek,
            },
            "signals": {"processes outside can be signalled": lambda: os.kill(self.pid, 0)},
            "memory": {"more memory than allowed can be had": self.allocate},
        }

    def read(self) -> None:
        """Read the file."""
        if Path(self.file).read_text(encoding="ascii") != "canary":
            raise OSError("another file")

    def change_mode(self) -> None:
        """Change who may do what with the file, and see that it was done."""
        before = os.stat(self.file).st_mode
        os.chmod(self.file, before ^ stat.S_IXOTH)
        if os.stat(self.file).st_mode == before:
            raise OSError("it is as it was")

    def send(self) -> None:
        """Send a datagram."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"canary", ("127.0.0.1", self.udp_port))

    def peek(self) -> None:
        """Ask for a byte that no process has: whoever may not ask at all hears so instead."""
        there, here = (ctypes.c_size_t * 2)(1, 1), (ctypes.c_size_t * 2)(1, 1)
        one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
        read = libc().process_vm_readv
        try:
            checked(read(self.pid, ctypes.byref(here), one, ctypes.byref(there), one, none), "peek")
        except OSError as error:
            if error.errno != errno.EFAULT:
                raise

    def allocate(self) -> None:
        """Reserve memory, and touch none of it."""
        mmap.mmap(-1, self.memory_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()

    def open_ways(self) -> dict[str, list[str]]:
        """For each resource, what is open."""
        return {
            resource: [means for means, attempt in tried.items() if succeeds(attempt)]
            for resource, tried in self.attempts().items()
        }


def succeeds(attempt: Callable[[], object]) -> bool:
    """Whether something can be done."""
    with contextlib.suppress(OSError, AttributeError):
        attempt()
        return True
    return False


def connect(family: int, address: object) -> None:
    """Connect to a socket."""
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(TIMEOUT_SECONDS)
        client.connect(address)  # type: ignore[arg-type]  # each family has its own kind


def opened(path: str) -> None:
    """Open a file and read from it."""
    with Path(path).open("rb") as file:
        file.read(1)
