"""Ends what a check does when it takes more than it may, seen from outside."""

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
# Most checks are over before the first look, and pay nothing.
FIRST_LOOK_SECONDS = 0.2
LOOK_SECONDS = 0.1
# A look is followed by a pause of so many times what it took on the processor. By the clock it may
# take long where hundreds of processes crowd it out, and then the next one is urgent.
LOOK_SHARE = 5


class Deadline(NamedTuple):
    """How long something may take.

    Attributes:
        seconds: from the moment it is asked for.
        reason: what is told where it takes longer, unless that is these seconds.
    """

    seconds: float
    reason: str = ""

    def __str__(self) -> str:
        """The reason that is given when it takes longer."""
        return self.reason or f"there was no answer within {self.seconds:g} seconds"


class Guarded:
    """A request to a worker with its limits, and what became of it.

    Args:
        worker: the one that is asked.
        keep: one that is not ended, and whose use does not count.
        deadline: how long it may take.

    Attributes:
        breach: why it and all others were ended, in words; empty while they were not.
        late: whether they were ended because it took too long.
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
        # A worker runs many checks, and each has its own limit.
        self.cpu_before = 0.0
        with suppress(psutil.Error):
            self.cpu_before = sum(worker.process.cpu_times()[:4])


class ResourceMonitor:
    """Looks after workers while something is asked of them, in a thread of its own.

    Args:
        zygote: the worker they descend from.
        limits: what they may use.
    """

    def __init__(self, zygote: Zygote, limits: Limits) -> None:
        self.zygote = zygote
        self.limits = limits
        # Held while a look is taken: what is asked for is over only when that is.
        self.looking = threading.Lock()
        self.guarded: Guarded | None = None
        self.over = threading.Event()
        self.thread: threading.Thread | None = None

    @contextmanager
    def guard(
        self, deadline: Deadline, worker: Worker, keep: Worker | None = None
    ) -> Iterator[Guarded]:
        """End a worker and all others if the block takes longer, or they take more than allowed.

        Args:
            deadline: how long it may take.
            worker: the one that is asked.
            keep: one that is not ended, and whose use does not count.

        Yields:
            What tells whether they were ended, and why.
        """
        guarded = Guarded(worker, keep, deadline)
        with self.looking:
            self.guarded = guarded
        if self.thread is None or not self.thread.is_alive():
            self.over.clear()
            self.thread = threading.Thread(target=self.look_after, daemon=True)
            self.thread.start()
        try:
            yield guarded
        finally:
            with self.looking:
                self.guarded = None

    def close(self) -> None:
        """Look after nothing any more."""
        self.over.set()
        if self.thread is not None:
            self.thread.join()

    def look_after(self) -> None:
        """Look now and then at what is guarded, and end what goes beyond a limit.

        One thread for all: to start and end one costs more than most checks.
        """
        while not self.over.wait(LOOK_SECONDS):
            with self.looking:
                if self.guarded is not None and time.monotonic() >= self.guarded.next_look:
                    self.look(self.guarded)

    def look(self, guarded: Guarded) -> None:
        """Look at what is guarded, and end it if it goes beyond a limit."""
        begun = time.thread_time()
        pids = self.zygote.descendants(guarded.keep)
        guarded.late = time.monotonic() >= guarded.end
        if guarded.late:
            guarded.breach = f"{guarded.deadline}{processes_started(guarded.worker)}"
        else:
            guarded.breach = self.breach(pids, guarded.cpu_before)
        if guarded.breach:
            # Whoever waits for the worker sweeps again, and says where that is in vain.
            with suppress(CouldNotRunError):
                self.zygote.kill_descendants(guarded.keep)
            guarded.worker.shut_down()
            self.guarded = None
        pause = LOOK_SHARE * (time.thread_time() - begun)
        guarded.next_look = min(time.monotonic() + pause, guarded.end)

    def breach(self, pids: list[int], cpu_before: float) -> str:
        """Return what processes use beyond their limits, in words; empty if nothing."""
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
        # What processes share is in each one's count: looked at only where it could matter.
        allowed = limits.memory_megabytes * MEBIBYTE
        if memory > allowed and self.held(processes) > allowed:
            return f"it used more than {limits.memory_megabytes} MB of memory"
        return ""

    def held(self, processes: list[psutil.Process]) -> int:
        """The bytes of memory that processes have, each one's part of what they share.

        They stand still meanwhile: with a hundred that are busy, it would take as long as all
        limits.
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
    """Say how many processes a worker has started, if any, and what is usually wrong then."""
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
