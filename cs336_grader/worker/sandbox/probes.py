"""Tries to reach resources outside: an attempt that succeeds means that the resource is open.

It runs in a worker that is set up as for a submission.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import socket
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .syscalls import checked, libc

if sys.platform != "win32":
    import resource

TIMEOUT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Canaries:
    """Files, sockets and processes outside that the attempts try to reach.

    Attributes:
        file: holds the text "canary"; its folder may be written to.
        tcp_port: something listens there.
        udp_port: something listens there.
        abstract_socket: the name of a socket that something listens at.
        socket: the path of another.
        pid: a process of the grader's user, open to all others of that user.
        judge: the judge.
        memory_bytes: more than a process may have.
    """

    file: str
    tcp_port: int
    udp_port: int
    abstract_socket: str
    socket: str
    pid: int
    judge: int
    memory_bytes: int

    def attempts(self) -> dict[str, dict[str, Callable[[], object]]]:
        """Return the attempts for each resource, each under the words for its success."""
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
                "their memory can be read": lambda: reach_memory(self.pid, writing=False),
                "their memory can be written": lambda: reach_memory(self.pid, writing=True),
                "their scheduling can be changed": lambda: reschedule(self.pid),
            },
            "judge": {
                "its environment can be read": lambda: opened(f"/proc/{self.judge}/environ"),
                "its memory can be read": lambda: reach_memory(self.judge, writing=False),
                "its memory can be written": lambda: reach_memory(self.judge, writing=True),
                "its scheduling can be changed": lambda: reschedule(self.judge),
            },
            "signals": {"processes outside can be signalled": lambda: os.kill(self.pid, 0)},
            "memory": {"more memory than allowed can be had": self.allocate},
        }

    def read(self) -> None:
        """Read the file."""
        if Path(self.file).read_text(encoding="ascii") != "canary":
            raise OSError("another file")

    def change_mode(self) -> None:
        """Change the mode of the file, and raise an error if it is unchanged."""
        before = os.stat(self.file).st_mode
        os.chmod(self.file, before ^ stat.S_IXOTH)
        if os.stat(self.file).st_mode == before:
            raise OSError("it is as it was")

    def send(self) -> None:
        """Send a datagram."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"canary", ("127.0.0.1", self.udp_port))

    def allocate(self) -> None:
        """Reserve memory without using it."""
        mmap.mmap(-1, self.memory_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()

    def open_ways(self) -> dict[str, list[str]]:
        """Return the successful attempts for each resource."""
        return {
            resource: [means for means, attempt in tried.items() if succeeds(attempt)]
            for resource, tried in self.attempts().items()
        }


def succeeds(attempt: Callable[[], object]) -> bool:
    """Return True if an attempt raises no error."""
    with contextlib.suppress(OSError, AttributeError):
        attempt()
        return True
    return False


def connect(family: int, address: object) -> None:
    """Connect to a socket."""
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(TIMEOUT_SECONDS)
        client.connect(address)  # type: ignore[arg-type]  # each family has its own kind


def reach_memory(pid: int, *, writing: bool) -> None:
    """Open the memory of a process, or read or write at an address that no process has.

    Raises:
        OSError: neither is allowed.
    """
    if succeeds(lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR if writing else 0))):
        return
    there, here = (ctypes.c_size_t * 2)(1, 1), (ctypes.c_size_t * 2)(1, 1)
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    copy = libc().process_vm_writev if writing else libc().process_vm_readv
    try:
        checked(copy(pid, ctypes.byref(here), one, ctypes.byref(there), one, none), "reach")
    except OSError as error:
        # This error means that access is allowed and the address is wrong.
        if error.errno != errno.EFAULT:
            raise


def reschedule(pid: int) -> None:
    """Set priority, scheduling, processors or limits of a process to their present values.

    Raises:
        OSError: none of them can be set.
    """
    limit = resource.RLIMIT_CPU
    ways: list[Callable[[], object]] = [
        lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)),
        lambda: os.sched_setscheduler(pid, os.sched_getscheduler(pid), os.sched_getparam(pid)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid)),
        lambda: resource.prlimit(pid, limit, resource.prlimit(pid, limit)),
        lambda: os.close(os.open(f"/proc/{pid}/autogroup", os.O_WRONLY)),
        lambda: os.close(os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY)),
    ]
    if not any(map(succeeds, ways)):
        raise OSError("nothing can be set")


def opened(path: str) -> None:
    """Open a file and read from it."""
    with Path(path).open("rb") as file:
        file.read(1)
