"""Confines itself as the judge does, tries all that it must not do, and prints what it could.

Run as a program, so that it can be run as another user and where system calls are refused.
"""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cs336_grader.running import confine, hide_memory
from cs336_grader.running.measuring import canaries
from cs336_grader.worker.sandbox.probes import Canaries, connect, reach_memory, succeeds


def main() -> None:
    """Print which layers are missing, what is allowed, and what should be and is not."""
    with tempfile.TemporaryDirectory() as outside, canaries(2**31) as found:
        run = Path(outside, "run")
        files = run / "files"
        files.mkdir(parents=True)
        ours, theirs = socket.socketpair()
        hide_memory()
        confined = os.fork()
        if confined == 0:
            told: dict[str, object] = {"missing": dict(confine(run, files).missing)}
            told["open"] = [name for name, do in forbidden(found, run).items() if succeeds(do)]
            told["lacking"] = [name for name, do in needed(run).items() if not succeeds(do)]
            theirs.send(b"look")
            theirs.recv(1)
            say(told)
            os._exit(0)
        ours.recv(4)
        read = succeeds(lambda: reach_memory(confined, writing=False))
        ours.send(b"x")
        _, status = os.waitpid(confined, 0)
        say({"read": read, "status": status, "left": run.exists()})


def say(told: dict[str, object]) -> None:
    """Print what was found, on a line of its own."""
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def forbidden(found: Canaries, run: Path) -> dict[str, Callable[[], object]]:
    """Return acts that must fail; one that would do nothing raises an error."""
    beside, file = run.parent / "beside", Path(found.file)
    program = ["/bin/true"]
    libc = ctypes.CDLL(None, use_errno=True)
    return {
        "file: make": lambda: beside.write_text(""),
        "file: append": lambda: file.open("a").close(),
        "file: truncate": lambda: os.truncate(file, 0),
        "file: remove": file.unlink,
        "file: move in": lambda: file.rename(run / "moved"),
        "file: move out": lambda: moved_out(run, beside),
        "file: link": lambda: os.link(file, run / "linked"),
        "file: link, then write": lambda: written_through_a_link(file, run),
        "file: folder": beside.mkdir,
        "file: device": lambda: os.mknod(run / "disk", 0o600 | 0o060000, os.makedev(254, 0)),
        "file: pipe": lambda: os.mkfifo(beside),
        "file: mode": lambda: changed(file, lambda: os.chmod(file, 0o600)),
        "file: mode, opened": lambda: changed(file, lambda: os.fchmod(os.open(file, 0), 0o600)),
        "file: owner": lambda: changed(file, lambda: os.chown(file, os.getuid(), 12345)),
        "file: time": lambda: changed(file, lambda: os.utime(file, (0, 0))),
        "file: attribute": lambda: attribute_set(file),
        "file: setting": lambda: Path("/proc/self/oom_score_adj").write_text("1"),
        "network: TCP": lambda: connect(socket.AF_INET, ("127.0.0.1", found.tcp_port)),
        "network: TCP of IPv6": lambda: socket.socket(socket.AF_INET6),
        "network: UDP": found.send,
        "network: path": lambda: connect(socket.AF_UNIX, found.socket),
        "network: abstract": lambda: connect(socket.AF_UNIX, f"\0{found.abstract_socket}"),
        "network: netlink": lambda: socket.socket(16, socket.SOCK_RAW, 0),
        "network: datagram": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
        "network: raw datagram": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW),
        "network: connect again": lambda: socket.socketpair()[0].connect(found.socket),
        "program: exec": lambda: os.execv(program[0], program),  # noqa: S606 (no shell, as meant)
        "program: fork, then exec": lambda: subprocess.run(program, check=True),
        "program: spawn": lambda: os.posix_spawn(program[0], program, {}),
        "program: in memory": lambda: os.execve(os.memfd_create("x"), ["x"], {}),  # noqa: S606
        "process: read": lambda: reach_memory(found.pid, writing=False),
        "process: write": lambda: reach_memory(found.pid, writing=True),
        "process: trace": lambda: refused(libc.ptrace(0x4206, found.pid, None, None)),
        "namespace": lambda: refused(libc.unshare(0x10000000)),
    }


def needed(run: Path) -> dict[str, Callable[[], object]]:
    """Return acts that must succeed; the last one removes everything."""
    return {
        "write": lambda: (run / "files" / "a").write_text("a"),
        "copy": lambda: shutil.copy(run / "files" / "a", run / "b"),
        "move": lambda: (run / "b").rename(run / "files" / "b"),
        "temporary": lambda: tempfile.TemporaryFile().write(b"a"),
        "null": lambda: Path(os.devnull).write_text("a"),
        "read": lambda: Path(__file__).read_bytes(),
        "import": lambda: __import__("sqlite3"),
        "pair": socket.socketpair,
        "thread": lambda: in_a_thread(lambda: None),
        "fork, then kill": forked_and_killed,
        "own files": lambda: Path("/proc/self/status").read_text() and os.listdir("/proc/self/fd"),
        "remove": lambda: shutil.rmtree(run),
    }


def moved_out(run: Path, beside: Path) -> None:
    """Make a file, and move it to where none can be made."""
    (run / "inside").write_text("")
    (run / "inside").rename(beside)


def written_through_a_link(file: Path, run: Path) -> None:
    """Write to a file by another name."""
    with suppress(FileExistsError):
        (run / "link").symlink_to(file)
    (run / "link").write_text("forged")


def changed(file: Path, change: Callable[[], object]) -> None:
    """Change a file's attributes, and see that it was done."""
    before = file.stat()
    change()
    if file.stat() == before:
        raise OSError("it is as it was")


def attribute_set(file: Path) -> None:
    """Give a file an attribute, and see that it has it."""
    os.setxattr(file, "user.x", b"x")
    os.getxattr(file, "user.x")


def refused(result: int) -> None:
    """Raise what a call of the C library answers."""
    if result < 0:
        raise OSError(ctypes.get_errno())


def in_a_thread(do: Callable[[], object]) -> None:
    """Do something in a thread."""
    thread = threading.Thread(target=do)
    thread.start()
    thread.join()


def forked_and_killed() -> None:
    """Fork, and end that process."""
    pid = os.fork()
    if pid == 0:
        threading.Event().wait()
    os.kill(pid, 9)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
