"""The zygote, which has imported torch, and the workers forked from it."""

import os
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import psutil

import cs336_grader
from cs336_grader.worker.channel import Channel, Message, WireError
from cs336_grader.worker.process import become_worker
from cs336_grader.worker.sandbox.limits import Limits

from .faults import CouldNotRunError, WorkerLostError
from .processes import has_not_ended, innermost_id, pids_below

END_SECONDS = 5
# After so long, `kill_descendants` also kills the one to keep, and then gives up.
KEEP_SECONDS, KILL_SECONDS = 10, 30
# The ids of process, user and group that Linux attaches to a message; see unix(7).
CREDENTIALS_BYTES, PID_BYTES = 12, 4
UNUSABLE = (EOFError, OSError, WireError, KeyError, TypeError, ValueError)
GRADER = Path(cs336_grader.__file__).parent
# A worker must not find the grader: it can import the worker's modules alone.
START = """
import sys, types
package = sys.modules["cs336_grader"] = types.ModuleType("cs336_grader")
package.__path__ = [{folder!r}]
from cs336_grader.worker.process import main
main({channel})
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """The files and limits of workers.

    Attributes:
        staged: the submission's folder.
        scratch: the folder that workers may write to.
        limits: limits of the submission.
        hidden: installed packages that workers must not find.
        isolated: False for workers without a sandbox.
    """

    staged: Path
    scratch: Path
    limits: Limits
    hidden: tuple[str, ...] = ()
    isolated: bool = True


def fork_zygote() -> tuple[socket.socket, int]:
    """Fork this process into a zygote; return the connection to it and its id.

    No operation of torch may have run on more than one thread before.

    Raises:
        CouldNotRunError: the system refused.
    """
    ours, theirs = socket.socketpair()
    try:
        pid = os.fork()
    except OSError as error:
        raise CouldNotRunError(f"no process could be started: {error.strerror}") from error
    if pid == 0:
        # The template ignores this signal; a zygote waits for its children.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ours.close()
        become_worker(theirs)
    theirs.close()
    return ours, pid


def forked_zygote(connection: socket.socket, pid: int, setting: Setting) -> "Zygote":
    """Return the zygote that `fork_zygote` has forked, prepared for a submission.

    Raises:
        CouldNotRunError: the zygote has ended.
    """
    try:
        zygote = Zygote(Worker(Channel(connection), pid))
    except psutil.NoSuchProcess as error:
        raise CouldNotRunError("the first worker process has ended") from error
    zygote.prepare(setting)
    return zygote


def start_zygote(setting: Setting, python: str) -> "Zygote":
    """Start a zygote in another interpreter, with the packages that are installed there.

    Args:
        setting: the files and limits of workers.
        python: the path of the interpreter.

    Raises:
        CouldNotRunError: the interpreter cannot be started, or lacks what a worker needs.
    """
    ours, theirs = socket.socketpair()
    with theirs, tempfile.TemporaryFile() as complaints, open(os.devnull, "r+b") as nothing:
        streams = (nothing.fileno(), nothing.fileno(), complaints.fileno())
        given = (*streams, theirs.fileno())
        actions = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in enumerate(given)]
        start = START.format(folder=str(GRADER), channel=len(streams))
        command = [python, "-s", "-P", "-c", start]
        try:
            pid = os.posix_spawn(python, command, os.environ, file_actions=actions)
        except OSError as error:
            raise CouldNotRunError(f"{python} cannot be started: {error.strerror}") from error
        theirs.close()
        zygote = Zygote(Worker(Channel(ours), pid))
        try:
            zygote.prepare(setting)
        except CouldNotRunError as error:
            complaints.seek(0)
            told = complaints.read().decode(errors="replace").strip().splitlines() or ["nothing"]
            raise CouldNotRunError(f"{python} cannot run a worker: it says {told[-1]}") from error
    return zygote


class Worker:
    """A worker process and the channel to it.

    Attributes:
        channel: the channel.
        pid: the process id.
        handle: a file descriptor of the process; None if the system has none.

    Raises:
        psutil.NoSuchProcess: the process has ended, and the system has no descriptors of processes.
    """

    def __init__(self, channel: Channel, pid: int) -> None:
        self.channel = channel
        self.pid = pid
        self.handle = handle_of(pid)
        if self.handle is None:
            # psutil notes the start time now, and later notices another process of the same id.
            _ = self.process

    @cached_property
    def process(self) -> psutil.Process:
        """The process."""
        return psutil.Process(self.pid)

    def is_running(self) -> bool:
        """Return True until the process has ended."""
        return has_not_ended(self.pid)

    def ask(self, message: Message) -> Message:
        """Send a message without buffers, and return the answer.

        Raises:
            WorkerLostError: there is no answer.
        """
        try:
            self.channel.send(message)
            return self.channel.receive()[0]
        except (EOFError, OSError) as error:
            raise WorkerLostError("the process ended without an answer") from error
        except WireError as error:
            raise WorkerLostError(f"the process answered with {error}") from error

    def fork(self, entropy: int) -> "Worker":
        """Fork the worker.

        Args:
            entropy: seeds the global random generators of the new worker.

        Raises:
            WorkerLostError: the worker did not fork.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            if hasattr(socket, "SO_PASSCRED"):
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            try:
                self.channel.send({"op": "fork", "entropy": entropy})
                socket.send_fds(self.channel.connection, [b"f"], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise WorkerLostError("the process did not fork") from error
        try:
            # The forking worker answers after it has closed its copy of the connection. With that
            # copy open, the end of the new worker would not be noticed.
            answer, _ = self.channel.receive()
            return Worker(Channel(ours), sender(ours) or int(answer["pid"]))
        except (*UNUSABLE, psutil.NoSuchProcess) as error:
            ours.close()
            raise WorkerLostError("the process did not fork") from error

    @cached_property
    def lineage(self) -> frozenset[int]:
        """The ids of the process and of its parent, with which it would end."""
        with suppress(psutil.NoSuchProcess):
            return frozenset((self.pid, self.process.ppid()))
        return frozenset()

    def stop(self) -> None:
        """Stop the process: no thread and no timer of it runs until `resume`."""
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process after `stop`."""
        self.send_signal(signal.SIGCONT)

    def send_signal(self, number: signal.Signals) -> None:
        """Send the process a signal, and never another process that has its id by now."""
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if self.handle is None:
                self.process.send_signal(number)
            else:
                signal.pidfd_send_signal(self.handle, number)

    def shut_down(self) -> None:
        """End every wait for an answer, even if other processes hold the connection too."""
        with suppress(OSError):
            self.channel.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the channel; the process ends when it reads the next message."""
        self.channel.close()
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None


class Zygote:
    """The process that has imported torch and nothing of a submission. Its answers are trusted.

    All workers descend from it.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.process = worker.process

    def prepare(self, setting: Setting) -> None:
        """Set up the sandbox; must come first.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        self.tell(
            {
                "op": "prepare",
                "staged": os.path.realpath(setting.staged),
                "scratch": os.path.realpath(setting.scratch),
                "hidden": list(setting.hidden),
                "isolated": setting.isolated,
                "limits": asdict(setting.limits),
            }
        )

    def fork(self) -> Worker:
        """Fork a worker, in which a submission may be imported.

        Raises:
            CouldNotRunError: no worker could be started.
        """
        try:
            return self.worker.fork(0)
        except WorkerLostError as error:
            raise CouldNotRunError("no worker process could be started") from error

    def keep_files(self) -> int:
        """From now on, keep the files that the import has written; return their number.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        return int(self.tell({"op": "keep"})["files"])

    def clean(self) -> None:
        """Remove all other files that workers have written.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        self.tell({"op": "clean"})

    def memory_of(self, pids: list[int]) -> list[int]:
        """Return the proportional set size of processes in bytes; 0 if not known.

        The judge is confined and cannot read it. No other question to the zygote may be open.
        """
        inner = [innermost_id(pid) for pid in pids]
        try:
            return list(self.worker.ask({"op": "memory", "pids": inner})["bytes"])
        except WorkerLostError:
            return [0] * len(pids)

    def usage(self) -> dict[str, float]:
        """Kill all descendants, and return the processor time and memory that they used.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        self.kill_descendants()
        answer = self.tell({"op": "usage"})
        return {name: answer[name] for name in ("cpu_seconds", "memory_bytes")}

    def tell(self, message: Message) -> Message:
        """Send a message to the zygote, and return the answer.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        try:
            return self.worker.ask(message)
        except WorkerLostError as error:
            raise CouldNotRunError("the first worker process has ended") from error

    def kill_descendants(self, keep: Worker | None = None) -> None:
        """Kill all descendants, without the worker to keep and its parent, until none is left.

        A process that forks and exits at once may be gone before its child is listed. None is left
        when two lists in a row are equal and all processes on them have ended. If that does not
        happen for some time, the worker to keep is killed too: its descendants may end with it.

        Raises:
            CouldNotRunError: some descendants cannot be killed.
        """
        begun, before = time.monotonic(), None
        while (listed := self.kill_all_but(keep)) != before or any(map(has_not_ended, listed)):
            before = listed
            time.sleep(0.001)
            took = time.monotonic() - begun
            keep = keep if took < KEEP_SECONDS else None
            if took > KILL_SECONDS:
                raise CouldNotRunError("processes that the submission started cannot be ended")

    def kill_all_but(self, keep: Worker | None) -> list[int]:
        """Kill the descendants once; return their ids, and those of ended ones."""
        kept: frozenset[int] = frozenset()
        if keep is not None:
            # A descendant may have resumed it, and it must not fork.
            keep.stop()
            kept = keep.lineage
        killed = []
        for pid in pids_below(self.process):
            if pid not in kept:
                # Without a look at it first: a fork bomb would be faster.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        return killed

    def descendants(self, keep: Worker | None = None) -> list[int]:
        """Return the ids of running descendants, without the worker to keep and its parent."""
        kept = frozenset[int]() if keep is None else keep.lineage
        return [p for p in pids_below(self.process) if p not in kept and has_not_ended(p)]

    def close(self) -> None:
        """Kill all descendants, and end the zygote."""
        with suppress(CouldNotRunError):
            self.kill_descendants()
            self.clean()
        self.worker.close()
        try:
            self.process.wait(timeout=END_SECONDS)
        except psutil.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def sender(connection: socket.socket) -> int | None:
    """Return the process id of a new worker, which sends one byte; None if the system has none.

    Inside its own namespace, the worker has another id.

    Raises:
        EOFError: the worker has ended.
    """
    said, attached, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS_BYTES))
    if not said:
        raise EOFError("the other side is gone")
    for level, kind, data in attached:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
            return int.from_bytes(data[:PID_BYTES], sys.byteorder)
    return None


def handle_of(pid: int) -> int | None:
    """Return a file descriptor of a process; None if the system has none."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.pidfd_open(pid)
    return None
