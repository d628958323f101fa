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
from .processes import has_not_ended, innermost_id, parent_of, pids_below

# The zygote has nothing left to do when it is to end.
END_SECONDS = 5
# So long its descendants are tried to be ended while one of them is kept, and so long in all.
KEEP_SECONDS, KILL_SECONDS = 10, 30
# A process, a user and a group, as Linux attaches them to a message; see unix(7).
CREDENTIALS_BYTES, PID_BYTES = 12, 4
UNUSABLE = (EOFError, OSError, WireError, KeyError, TypeError, ValueError)
GRADER = Path(cs336_grader.__file__).parent
# The grader's own packages must not be found there: it gets the worker's modules and no path.
START = """
import sys, types
package = sys.modules["cs336_grader"] = types.ModuleType("cs336_grader")
package.__path__ = [{folder!r}]
from cs336_grader.worker.process import main
main({channel})
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """Says what workers are shown and allowed.

    Attributes:
        staged: the submission's folder.
        scratch: the folder that workers may write to.
        limits: how much they may use.
        hidden: installed packages that they must not find.
        isolated: whether anything is closed to them.
    """

    staged: Path
    scratch: Path
    limits: Limits
    hidden: tuple[str, ...] = ()
    isolated: bool = True


def fork_worker() -> tuple[socket.socket, int]:
    """Fork this process into a worker that waits to be told more; its connection and its id.

    No operation may have run on more than one thread before.

    Raises:
        CouldNotRunError: the system refused.
    """
    ours, theirs = socket.socketpair()
    try:
        pid = os.fork()
    except OSError as error:
        raise CouldNotRunError(f"no process could be started: {error.strerror}") from error
    if pid == 0:
        # Whoever forks many may have the system let go of those that have ended.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ours.close()
        become_worker(theirs)
    theirs.close()
    return ours, pid


def forked_zygote(connection: socket.socket, pid: int, setting: Setting) -> "Zygote":
    """A worker that was forked, ready for a submission.

    Raises:
        CouldNotRunError: it has ended.
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
        setting: what workers are shown and allowed.
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
    """One worker process, reached over its channel.

    Attributes:
        channel: leads to it.
        pid: its process id.
        handle: a descriptor of it, where the system has such.

    Raises:
        psutil.NoSuchProcess: it has ended already, where there is no descriptor.
    """

    def __init__(self, channel: Channel, pid: int) -> None:
        self.channel = channel
        self.pid = pid
        self.handle = handle_of(pid)
        if self.handle is None:
            # Known by when it began, before another one can have its id.
            _ = self.process

    @cached_property
    def process(self) -> psutil.Process:
        """The process itself."""
        return psutil.Process(self.pid)

    def is_running(self) -> bool:
        """Return True until it has ended."""
        return has_not_ended(self.pid)

    def ask(self, message: Message) -> Message:
        """Send a message that carries no buffers, and return the answer.

        Raises:
            WorkerLostError: there is none.
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
            entropy: where the new worker's global random generators start from.

        Raises:
            WorkerLostError: the worker did not.
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
            # The answer comes when its copy of the connection is closed. While that is open, the
            # end of the new worker would not be noticed.
            answer, _ = self.channel.receive()
            return Worker(Channel(ours), sender(ours) or int(answer["pid"]))
        except (*UNUSABLE, psutil.NoSuchProcess) as error:
            ours.close()
            raise WorkerLostError("the process did not fork") from error

    @cached_property
    def lineage(self) -> frozenset[int]:
        """The ids of it and of its parent, without which it would end."""
        parent = parent_of(self.pid)
        return frozenset() if parent is None else frozenset((self.pid, parent))

    def stop(self) -> None:
        """Have it stand still: what waits in it, a timer say, does not happen meanwhile."""
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Undo ``stop``."""
        self.send_signal(signal.SIGCONT)

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, and no other process that has its id by now."""
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if self.handle is None:
                self.process.send_signal(number)
            else:
                signal.pidfd_send_signal(self.handle, number)

    def shut_down(self) -> None:
        """End whatever waits for an answer, even if other processes hold the connection too."""
        with suppress(OSError):
            self.channel.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close what leads to it: it ends when it reads on, and is not to be used any more."""
        self.channel.close()
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None


class Zygote:
    """The worker that has imported torch and nothing of a submission: what it says is trusted.

    Every other worker descends from it.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.process = worker.process

    def prepare(self, setting: Setting) -> None:
        """Tell it, before anything else, what workers are shown and allowed.

        Raises:
            CouldNotRunError: it has ended.
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
        """A new worker, in which a submission may be imported.

        Raises:
            CouldNotRunError: it could not be started.
        """
        try:
            return self.worker.fork(0)
        except WorkerLostError as error:
            raise CouldNotRunError("no worker process could be started") from error

    def keep_files(self) -> int:
        """From now on, leave the files that the import of the submission wrote; how many.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        return int(self.tell({"op": "keep"})["files"])

    def clean(self) -> None:
        """Remove the files that workers have left.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        self.tell({"op": "clean"})

    def memory_of(self, pids: list[int]) -> list[int]:
        """The memory of processes in bytes, each one's part of what it shares; 0 if not known.

        The system does not tell the judge, which is confined. Nothing else must be asked of the
        zygote at the time.
        """
        inner = [innermost_id(pid) for pid in pids]
        try:
            return list(self.worker.ask({"op": "memory", "pids": inner})["bytes"])
        except WorkerLostError:
            return [0] * len(pids)

    def usage(self) -> dict[str, float]:
        """Return what all ended descendants took, as the system counts it.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        self.kill_descendants()
        answer = self.tell({"op": "usage"})
        return {name: answer[name] for name in ("cpu_seconds", "memory_bytes")}

    def tell(self, message: Message) -> Message:
        """Have something done, and return the answer.

        Raises:
            CouldNotRunError: the zygote has ended.
        """
        try:
            return self.worker.ask(message)
        except WorkerLostError as error:
            raise CouldNotRunError("the first worker process has ended") from error

    def kill_descendants(self, keep: Worker | None = None) -> None:
        """Kill every descendant but the one to keep, until none is left.

        One that ends when it has made the next is no longer there when it is looked at: none is
        left when twice the same ones are listed, and each of them has ended. Where that does not
        come about, the one to keep is given up: all that it made may end with it.

        Raises:
            CouldNotRunError: some cannot be ended.
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
        """Kill every descendant but the one to keep; their ids, also of those that had ended."""
        kept: frozenset[int] = frozenset()
        if keep is not None:
            # One of them may have set it going again: it must not make new ones.
            keep.stop()
            kept = keep.lineage
        killed = []
        for pid in pids_below(self.process):
            if pid not in kept:
                # At once: there is no time for a look at it.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        return killed

    def descendants(self, keep: Worker | None = None) -> list[int]:
        """The ids of the running processes that descend from this one, without the one to keep."""
        kept = frozenset[int]() if keep is None else keep.lineage
        return [p for p in pids_below(self.process) if p not in kept and has_not_ended(p)]

    def close(self) -> None:
        """Kill every process that descends from it, and let it end."""
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
    """The process id of a new worker, which sends one byte; None where the system does not tell it.

    The worker itself knows another number where it lives in a namespace of its own.

    Raises:
        EOFError: nothing has come.
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
    """A descriptor of a process, where the system has such and grants it."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
