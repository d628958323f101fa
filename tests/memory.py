"""How much memory a process takes, watched from outside it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

MEBIBYTE = 2**20


@dataclass
class Growth:
    """By how much a process grew, at most, while it was watched."""

    bytes: int = 0


class Memory:
    """Watches one process.

    Only memory that is the process's own counts: pages of a mapped file can be dropped at any
    time and are not a copy. A peak shorter than the interval between two looks can be missed.

    Args:
        pid: the process to watch.
    """

    INTERVAL_SECONDS = 0.005

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)

    def own_bytes(self) -> int:
        """The memory the process would free by ending."""
        return int(self.process.memory_full_info().uss)

    @contextmanager
    def watch(self) -> Iterator[Growth]:
        """Watch while the block runs; afterwards the growth is known."""
        growth = Growth()
        before = self.own_bytes()
        over = threading.Event()

        def look() -> None:
            while not over.wait(self.INTERVAL_SECONDS):
                growth.bytes = max(growth.bytes, self.own_bytes() - before)

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield growth
        finally:
            over.set()
            watcher.join()
            growth.bytes = max(growth.bytes, self.own_bytes() - before)
