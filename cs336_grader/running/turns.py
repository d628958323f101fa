"""One processor for processes that take turns: the one that judges, and a worker.

On two, each turn wakes a processor that sleeps, and what one process has written the other fetches
from afar: with all that, a grading took a fifth more time of them both (measured on two of Linux).
Nobody is slower for it, as only one of the two ever has something to do.
"""

import os
import random
import threading
from contextlib import suppress
from pathlib import Path

CLOCKS = Path("/proc/thread-self/schedstat")


class Turns:
    """Keeps this thread and a worker on one processor, until what the worker does takes long.

    Where processes cannot be kept on one, they run as they do.
    """

    def __init__(self) -> None:
        self.thread = threading.get_native_id()
        self.allowed: set[int] = set()
        if hasattr(os, "sched_getaffinity"):
            self.allowed = os.sched_getaffinity(0)
        self.taken = False
        self.processor = -1
        self.ran = self.waited = 0

    def take_with(self, pid: int) -> None:
        """From now on, this thread and a process with one thread share a processor."""
        busy = self.is_busy()
        if self.allowed and (busy or not self.taken):
            if busy or self.processor < 0:
                self.processor = random.choice(sorted(self.allowed))  # noqa: S311 (no secret)
            self.taken = True
            for task in (self.thread, pid):
                keep_on(task, {self.processor})

    def is_busy(self) -> bool:
        """Whether this thread waited for its processor more than half as long as it had it."""
        try:
            ran, waited = map(int, CLOCKS.read_text("ascii").split()[:2])
        except (OSError, ValueError):
            return False
        busy = 2 * (waited - self.waited) > ran - self.ran
        self.ran, self.waited = ran, waited
        return busy

    def end(self, *pids: int) -> None:
        """Let this thread, and processes with all their threads, run where they can."""
        if self.taken:
            self.taken = False
            keep_on(self.thread, self.allowed)
        for pid in pids:
            with suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    keep_on(int(thread), self.allowed)


def keep_on(task: int, processors: set[int]) -> None:
    """Keep a thread on some processors, if it is still there and one may."""
    with suppress(OSError):
        os.sched_setaffinity(task, processors)
