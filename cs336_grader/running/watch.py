"""Ends what a check does when it takes more than it may, seen from outside."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from cs336_grader.worker.isolation.limits import Limits

from .faults import CouldNotRunError
from .processes import memory_of_threads, proportional
from .warm import WarmWorker, Worker

MEBIBYTE = 2**20
# Most checks are over before the first look, and pay nothing.
FIRST_LOOK_SECONDS = 0.2
LOOK_SECONDS = 0.1
# A look is followed by a pause of so many times what it took on the processor. By the clock it may
# take long where hundreds of processes crowd it out, and then the next one is urgent.
LOOK_SHARE = 5


class Breach:
    """Why something was ended.

    Attributes:
        reason: in words; empty while nothing was.
    """

    reason = ""


class Watch:
    """Looks after workers while something is asked of them.

    Args:
        warm: the worker they descend from.
        limits: what they may use.
    """

    def __init__(self, warm: WarmWorker, limits: Limits) -> None:
        self.warm = warm
        self.limits = limits

    @contextmanager
    def guard(self, seconds: float, worker: Worker, keep: Worker | None = None) -> Iterator[Breach]:
        """End a worker and all others if the block takes longer, or they take more than allowed.

        Args:
            seconds: how long it may take.
            worker: the one that is asked.
            keep: one that is not ended, and whose use does not count.

        Yields:
            What tells whether they were ended, and why.
        """
        breach = Breach()
        over = threading.Event()

        def look_after() -> None:
            breach.reason = self.first_breach(seconds, over, keep)
            if breach.reason:
                # Whoever waits for the worker sweeps again, and says where that is in vain.
                with suppress(CouldNotRunError):
                    self.warm.sweep(keep)
                worker.hang_up()

        looking = threading.Thread(target=look_after, daemon=True)
        looking.start()
        try:
            yield breach
        finally:
            over.set()
            looking.join()

    def first_breach(self, seconds: float, over: threading.Event, keep: Worker | None) -> str:
        """Wait until something is over; say what went beyond its limit before, if anything did."""
        end = time.monotonic() + seconds
        pause = FIRST_LOOK_SECONDS
        while not over.wait(min(pause, max(0.0, end - time.monotonic()))):
            begun = time.thread_time()
            if time.monotonic() >= end:
                return f"there was no answer within {seconds:g} seconds"
            if reason := self.breach(self.warm.descendants(keep)):
                return reason
            pause = max(LOOK_SECONDS, LOOK_SHARE * (time.thread_time() - begun))
        return ""

    def breach(self, processes: list[psutil.Process]) -> str:
        """What processes use beyond their limits, in words; empty if nothing."""
        limits = self.limits
        cpu_seconds, resident, threads = 0.0, 0, 0
        for process in processes:
            with suppress(psutil.Error), process.oneshot():
                cpu_seconds += sum(process.cpu_times()[:4])
                resident += process.memory_info().rss or memory_of_threads(process.pid)
                threads += process.num_threads()
        if cpu_seconds > limits.cpu_seconds:
            return f"it used more than {limits.cpu_seconds:g} seconds of processor time"
        if threads > limits.processes:
            return f"it started more than {limits.processes} processes and threads"
        # What processes share is in each one's count: looked at only where it could matter.
        allowed = limits.memory_megabytes * MEBIBYTE
        if resident > allowed and held(processes) > allowed:
            return f"it used more than {limits.memory_megabytes} MB of memory"
        return ""


def held(processes: list[psutil.Process]) -> int:
    """The bytes of memory that processes have, each one's part of what they share.

    They stand still meanwhile: with a hundred that are busy, it would take as long as all limits.
    """
    try:
        for process in processes:
            with suppress(psutil.Error):
                process.suspend()
        return sum(map(proportional, processes))
    finally:
        for process in processes:
            with suppress(psutil.Error):
                process.resume()
