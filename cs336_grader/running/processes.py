"""Finds the processes that descend from one, and their memory."""

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def has_not_ended(pid: int) -> bool:
    """Return True for a process that still runs, even if its first thread has ended."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return process.status() not in ENDED or process.num_threads() > 1
    return False


def innermost_id(pid: int) -> int:
    """Return the id of a process in its own namespace."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return pid


def pids_below(process: psutil.Process) -> Iterator[int]:
    """Yield the ids of all processes that descend from one, each as soon as it is known."""
    if not children_are_listed():
        with suppress(psutil.NoSuchProcess):
            yield from (child.pid for child in process.children(recursive=True))
        return
    # Linux lists the children of each thread: much quicker than a look at every process there is.
    pending = children_of(process.pid)
    while pending:
        # The newest first.
        pid = pending.pop()
        yield pid
        pending += children_of(pid)


@cache
def children_are_listed() -> bool:
    """Return True where the system lists each thread's children."""
    return os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def children_of(pid: int) -> list[int]:
    """Return the ids of a process's children, as Linux lists them."""
    children: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                listed = Path(f"/proc/{pid}/task/{thread}/children").read_bytes()
                children += map(int, listed.split())
    return children


def memory_of_threads(pid: int) -> int:
    """Return the memory in bytes of a process whose first thread has ended."""
    pages = 0
    for statm in Path(f"/proc/{pid}/task").glob("*/statm"):
        with suppress(OSError):
            pages = max(pages, int(statm.read_bytes().split()[1]))
    return pages * mmap.PAGESIZE


def resident(process: psutil.Process) -> int:
    """Return the memory of a process in bytes, shared memory included; 0 if it has ended."""
    with suppress(psutil.Error):
        return process.memory_info().rss or memory_of_threads(process.pid)
    return 0
