"""Kills workers that exceed a limit, measured from outside."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import psutil

from cs336_grader.worker.sandbox.limits import Limits

from .faults import CouldNotRunError
from .processes import pids_below, resident
from .zygote import Worker, Zygote

MEBIBYTE = 2**20
# Most checks end before the first look.
FIRST_LOOK_SECONDS = 0.2
LOOK_SECONDS = 0.1
# After a look the monitor pauses so many times the processor time of the look. Not its wall time:
# that is long if hundreds of processes run, and then the next look is urgent.
LOOK_SHARE = 5


class Deadline(NamedTuple):
    """A limit of time.

    Attributes:
        seconds: the limit.
        reason: the message if it is exceeded; by default it names the seconds.
    """

    seconds: float
    reason: str = ""

    def __str__(self) -> str:
        """Return the message if the limit is exceeded."""
        return self.reason or f"there was no answer within {self.seconds:g} seconds"


class Guarded:
    """A request to a worker with its limits.

    Args:
        worker: the worker.
        keep: a worker that is not killed and whose use does not count.
        deadline: the limit of time.

    Attributes:
        breach: why all workers were killed, in words; empty if they were not.
        late: True if they were killed because the request took too long.
    """

    def __init__(self, worker: Worker, keep: Worker | None, deadline: Deadline) -> None:
        self.worker = worker
        self.keep = keep
        self.deadline = deadline
        self.begun = time.monotonic()
        self.end = self.begun + deadline.seconds
        self.next_look = min(self.begun + FIRST_LOOK_SECONDS, self.end)
        self.breach = ""
        self.late = False
        # A worker runs many checks, and the limit is for each.
        self.cpu_before = 0.0
        with suppress(psutil.Error):
            self.cpu_before = sum(worker.process.cpu_times()[:4])


class ResourceMonitor:
    """Watches workers during requests, in a thread of its own.

    Args:
        zygote: the process that all workers descend from.
        limits: limits of the submission.
    """

    def __init__(self, zygote: Zygote, limits: Limits) -> None:
        self.zygote = zygote
        self.limits = limits
        # Held during a look: a request does not end before it.
        self.looking = threading.Lock()
        self.guarded: Guarded | None = None
        self.over = threading.Event()
        self.thread: threading.Thread | None = None

    @contextmanager
    def guard(
        self, deadline: Deadline, worker: Worker, keep: Worker | None = None
    ) -> Iterator[Guarded]:
        """Kill all workers if the block, or what they use, exceeds a limit.

        Args:
            deadline: the limit of time.
            worker: the worker that the block talks to.
            keep: a worker that is not killed and whose use does not count.

        Yields:
            The request, whose attributes say if and why workers were killed.
        """
        guarded = Guarded(worker, keep, deadline)
        with self.looking:
            self.guarded = guarded
        if self.thread is None or not self.thread.is_alive():
            self.over.clear()
            self.thread = threading.Thread(target=self.watch, daemon=True)
            self.thread.start()
        try:
            yield guarded
        finally:
            with self.looking:
                self.guarded = None

    def close(self) -> None:
        """End the thread."""
        self.over.set()
        if self.thread is not None:
            self.thread.join()

    def watch(self) -> None:
        """Look at the request now and then.

        One thread for all requests: to start one takes longer than most checks.
        """
        while not self.over.wait(LOOK_SECONDS):
            with self.looking:
                if self.guarded is not None and time.monotonic() >= self.guarded.next_look:
                    self.look(self.guarded)

    def look(self, guarded: Guarded) -> None:
        """Kill all workers if a request exceeds a limit."""
        begun = time.thread_time()
        pids = self.zygote.descendants(guarded.keep)
        guarded.late = time.monotonic() >= guarded.end
        if guarded.late:
            guarded.breach = f"{guarded.deadline}{processes_started(guarded.worker)}"
        else:
            guarded.breach = self.breach(pids, guarded.cpu_before)
        if guarded.breach:
            # The caller kills descendants again, and reports a failure.
            with suppress(CouldNotRunError):
                self.zygote.kill_descendants(guarded.keep)
            guarded.worker.shut_down()
            self.guarded = None
        pause = LOOK_SHARE * (time.thread_time() - begun)
        guarded.next_look = min(time.monotonic() + pause, guarded.end)

    def breach(self, pids: list[int], cpu_before: float) -> str:
        """Return the limit that processes exceed, in words; empty if none."""
        limits = self.limits
        cpu_seconds, memory, threads = -cpu_before, 0, 0
        processes: list[psutil.Process] = []
        for pid in pids:
            with suppress(psutil.Error), (process := psutil.Process(pid)).oneshot():
                processes.append(process)
                cpu_seconds += sum(process.cpu_times()[:4])
                memory += resident(process)
                threads += process.num_threads()
        if cpu_seconds > limits.cpu_seconds:
            return f"it used more than {limits.cpu_seconds:g} seconds of processor time"
        if threads > limits.processes:
            return f"it started more than {limits.processes} processes and threads"
        # Each process counts its shared memory in full: if the sum is above the limit, count again.
        allowed = limits.memory_megabytes * MEBIBYTE
        if memory > allowed and self.held(processes) > allowed:
            return f"it used more than {limits.memory_megabytes} MB of memory"
        return ""

    def held(self, processes: list[psutil.Process]) -> int:
        """Return the memory of processes in bytes, with shared memory counted once.

        They are stopped meanwhile: with a hundred busy ones it would take longer than any limit.
        """
        try:
            for process in processes:
                with suppress(psutil.Error):
                    process.suspend()
            parts = self.zygote.memory_of([process.pid for process in processes])
            return sum(part or resident(p) for part, p in zip(parts, processes, strict=True))
        finally:
            for process in processes:
                with suppress(psutil.Error):
                    process.resume()


def processes_started(worker: Worker) -> str:
    """Return a hint if a worker has started processes, with the usual mistakes; empty if not."""
    count = 0
    with suppress(psutil.Error):
        count = sum(1 for _ in pids_below(worker.process))
    if not count:
        return ""
    return (
        f", and your code had started {count} process{'es' if count > 1 else ''}. A started process"
        " may import your modules again: start processes inside functions only, never while a"
        " module is imported. A process that fails sends no result: wait for each with a timeout"
    )
