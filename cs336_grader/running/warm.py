"""Worker processes: the warm one that has imported torch, and those forked from it."""

import gc
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import torch

from cs336_grader.worker.channel import Channel, Message, WireError
from cs336_grader.worker.process import become_worker

from .faults import CouldNotRunError, WorkerLostError

# The warm worker has nothing left to do when it is to end.
END_SECONDS = 5


def warm_up() -> None:
    """Import now, once, what every worker would otherwise import for itself."""
    torch.set_num_threads(1)
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.zeros(1)
    torch.optim.AdamW([parameter]).step()
    # What has been imported stays: looking through it for garbage takes a tenth of a second.
    gc.freeze()


def fork_warm_worker(scratch: Path) -> "WarmWorker":
    """Fork this process as it is now; what it learns later stays out of reach of workers.

    No operation may have run on more than one thread before.

    Args:
        scratch: the folder that workers may write to.

    Raises:
        CouldNotRunError: the system refused.
    """
    ours, theirs = socket.socketpair()
    try:
        pid = os.fork()
    except OSError as error:
        raise CouldNotRunError(f"no process could be started: {error.strerror}") from error
    if pid == 0:
        ours.close()
        become_worker(theirs, scratch)
    theirs.close()
    return WarmWorker(Worker(Channel(ours), pid))


class Worker:
    """One worker process, reached over its channel.

    Attributes:
        channel: leads to it.
        pid: its process id, as the worker it was forked from says.
    """

    def __init__(self, channel: Channel, pid: int) -> None:
        self.channel = channel
        self.pid = pid

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

    def fork(self, entropy: int, scratch: Path) -> "Worker":
        """Fork the worker.

        Args:
            entropy: where the new worker's global random generators start from.
            scratch: its working directory, and where its temporary files go.

        Raises:
            WorkerLostError: the worker did not.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                message = {"op": "fork", "entropy": entropy, "scratch": str(scratch)}
                self.channel.send(message)
                socket.send_fds(self.channel.connection, [b"f"], [theirs.fileno()])
                answer, _ = self.channel.receive()
            except (EOFError, OSError, WireError) as error:
                ours.close()
                raise WorkerLostError("the process did not fork") from error
        pid = answer.get("pid")
        if type(pid) is not int:
            ours.close()
            raise WorkerLostError("the process did not fork")
        return Worker(Channel(ours), pid)

    def hang_up(self) -> None:
        """End whatever waits for an answer, even if other processes hold the connection too."""
        with suppress(OSError):
            self.channel.connection.shutdown(socket.SHUT_RDWR)


class WarmWorker:
    """The worker that has imported torch and nothing of a submission: what it says is trusted.

    Every other worker descends from it.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.process = psutil.Process(worker.pid)

    def fork(self, scratch: Path) -> Worker:
        """A new worker whose working directory is the scratch folder.

        Raises:
            CouldNotRunError: it could not be started.
        """
        try:
            return self.worker.fork(0, scratch)
        except WorkerLostError as error:
            raise CouldNotRunError("no worker process could be started") from error

    def sweep(self, keep: Worker | None = None) -> None:
        """Kill every descendant but the one to keep, until none is left."""
        while victims := self.descendants(keep):
            for process in victims:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            time.sleep(0.001)

    def descendants(self, keep: Worker | None) -> list[psutil.Process]:
        """The running processes that descend from this one, without the one to keep."""
        running: list[psutil.Process] = []
        for pid in pids_below(self.process):
            if keep is None or pid != keep.pid:
                with suppress(psutil.NoSuchProcess):
                    process = psutil.Process(pid)
                    if process.status() != psutil.STATUS_ZOMBIE:
                        running.append(process)
        return running

    def close(self) -> None:
        """Kill every process that descends from it, and let it end."""
        self.sweep()
        self.worker.channel.close()
        try:
            self.process.wait(timeout=END_SECONDS)
        except psutil.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @contextmanager
    def deadline(
        self, seconds: float, worker: Worker, keep: Worker | None = None
    ) -> Iterator[threading.Event]:
        """Sweep and hang up on a worker if the block takes longer.

        Yields:
            What tells whether it did.
        """
        passed = threading.Event()

        def end() -> None:
            passed.set()
            self.sweep(keep)
            worker.hang_up()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield passed
        finally:
            timer.cancel()
            timer.join()


def pids_below(process: psutil.Process) -> list[int]:
    """The ids of all processes that descend from one."""
    if not Path(f"/proc/{process.pid}/task/{process.pid}/children").exists():
        try:
            return [child.pid for child in process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []
    # Linux lists the children of each thread: much quicker than a look at every process there is.
    found: list[int] = []
    pending = [process.pid]
    while pending:
        children = children_of(pending.pop())
        found += children
        pending += children
    return found


def children_of(pid: int) -> list[int]:
    """The ids of a process's children, as Linux lists them."""
    children: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                children += map(int, (thread / "children").read_bytes().split())
    return children
