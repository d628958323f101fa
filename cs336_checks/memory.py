"""How much memory a process takes, watched from outside it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

MEBIBYTE = 2**20


@dataclass
class Growth:
    """By how much a process grew, at most, while it was watched.

    Attributes:
        bytes: memory of its own.
        mapped_bytes: pages of mapped files that it touched; memory of its own where the system
            does not tell.
    """

    bytes: int = 0
    mapped_bytes: int = 0


class Memory:
    """Watches one process.

    Pages of a mapped file are counted by themselves: they can be dropped at any time and are not a
    copy. A peak shorter than the interval between two looks can be missed. A process that has ended
    grows no more.

    Args:
        pid: the process to watch.
    """

    INTERVAL_SECONDS = 0.005

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)

    def look(self) -> tuple[int, int]:
        """The memory the process would free by ending, and what it has touched of files."""
        info = self.process.memory_info()
        if hasattr(info, "shared"):
            # Not what it alone has touched of files: a library's pages would become its own
            # when another process that uses the library ends.
            return int(info.rss - info.shared), int(info.shared)
        own = int(self.process.memory_full_info().uss)
        return own, own

    @contextmanager
    def watch(self) -> Iterator[Growth]:
        """Watch while the block runs; afterwards the growth is known."""
        growth = Growth()
        own_before, mapped_before = self.look()
        over = threading.Event()

        def note() -> None:
            try:
                own, mapped = self.look()
            except psutil.NoSuchProcess:
                return
            growth.bytes = max(growth.bytes, own - own_before)
            growth.mapped_bytes = max(growth.mapped_bytes, mapped - mapped_before)

        def keep_noting() -> None:
            while not over.wait(self.INTERVAL_SECONDS):
                note()

        watcher = threading.Thread(target=keep_noting, daemon=True)
        watcher.start()
        try:
            yield growth
        finally:
            over.set()
            watcher.join()
            note()
