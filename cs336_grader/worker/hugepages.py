"""Makes this process cheap to fork, where the system can do that.

A fork copies an entry for every page of memory, and a process that has imported torch has a hundred
thousand small ones. Collected into huge pages there are a few hundred: with torch's CUDA build, a
fork and its end take 3 ms of CPU instead of 17, for 0.7 s once (measured on Linux 6.18).

Each page that a child writes to is copied then, and what it allocates first are the gaps that lie
all over this memory. With these taken, a check has a fifth fewer pages to copy.

The code of libraries is not copied, but each child looks it up in their files again, 64 KiB at a
time. What is used of it, moved into huge pages of memory, is found by all: another quarter fewer.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .isolation.syscalls import MACHINE, libc

PAGE_BYTES = 4096
HUGE_PAGE_BYTES = 2 * 2**20
# From Linux 6.1 on; see madvise(2). Elsewhere the call fails, and pages stay as they are.
MADV_COLLAPSE = 25
MADV_DONTNEED, MADV_HUGEPAGE = 4, 14
PROT_READ_WRITE, PROT_READ_EXECUTE = 0b011, 0b101
MAP_PRIVATE_ANONYMOUS = 0x22
MREMAP_TO_A_PLACE = 0b11
FAILED = ctypes.c_void_p(-1).value
# What glibc keeps ready for each thread does not count as free: 7 pieces of each size up to 1 KiB.
CACHED_BYTES = 2**18
# So many of its 512 pages have been looked up where code is worth a huge page.
USED_PAGES = 32
PRESENT, OF_A_FILE = np.uint64(1 << 63), np.uint64(1 << 61)


class HeapUse(ctypes.Structure):
    """What the C library says of its heap, in bytes; see mallinfo(3)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    )


@dataclass(frozen=True, slots=True)
class Mapping:
    """A stretch of this process's memory; see proc_pid_maps(5)."""

    start: int
    end: int
    permissions: str
    name: str

    def huge_pages(self) -> tuple[int, int]:
        """Where the huge pages that it has room for begin and end."""
        first = -(-self.start // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
        return first, max(first, self.end // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES)


def mappings() -> list[Mapping]:
    """All of this process's memory; none where that is not to be seen."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    except OSError:
        return []
    found = []
    for line in maps.splitlines():
        addresses, permissions, _offset, _device, _inode, *name = line.split(maxsplit=5)
        start, end = (int(address, 16) for address in addresses.split("-"))
        found.append(Mapping(start, end, permissions, "".join(name)))
    return found


def take_gaps() -> None:
    """Allocate what is free below the top of the heap, for good, where the C library is glibc."""
    if not hasattr(libc(), "mallinfo2"):
        return
    use, malloc, sbrk = libc().mallinfo2, libc().malloc, libc().sbrk
    use.restype = HeapUse
    malloc.restype = sbrk.restype = ctypes.c_void_p
    malloc.argtypes, sbrk.argtypes = [ctypes.c_size_t], [ctypes.c_ssize_t]
    left = use().fordblks + CACHED_BYTES
    for size in (*(2**power for power in range(16, 10, -1)), *range(1024, 0, -16)):
        # What lies higher is no gap, but new.
        top = sbrk(0) - use().keepcost
        while left > 0 and (malloc(size) or top) < top:
            left -= size


def collect_memory() -> None:
    """Collect the memory that was allocated so far into huge pages, with the gaps in it."""
    if sys.platform != "linux":
        return
    take_gaps()
    for mapping in mappings():
        if mapping.permissions == "rw-p" and mapping.name in ("", "[heap]"):
            first, last = mapping.huge_pages()
            if last > first:
                collected(first, last - first)


def collected(start: int, length: int) -> bool:
    """Collect memory into huge pages; whether that was done."""
    return advise(start, length, MADV_COLLAPSE)


def advise(start: int, length: int, advice: int) -> bool:
    """Tell the system what to do with memory; whether it does. See madvise(2)."""
    madvise = libc().madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return bool(madvise(start, length, advice) == 0)


def library_code() -> list[Mapping]:
    """The code of libraries that can be moved.

    Other kinds of processors would have to be told that what was written there is code.
    """
    if sys.platform != "linux" or MACHINE != "x86_64":
        return []
    return [m for m in mappings() if m.permissions == "r-xp" and m.name.startswith("/")]


def forget_code() -> None:
    """Let go of the code of libraries, so that what is used from now on can be told apart.

    To load a library takes a look at parts of it that are never needed again.
    """
    for mapping in library_code():
        looked_up = page_entries(mapping.start, mapping.end)
        # What was written to is in no file.
        if bool((looked_up[looked_up & PRESENT > 0] & OF_A_FILE > 0).all()):
            advise(mapping.start, mapping.end - mapping.start, MADV_DONTNEED)


def move_code() -> None:
    """Move the code of libraries that is used into huge pages of memory; it keeps its addresses."""
    for mapping in library_code():
        for start, length in used_stretches(mapping):
            if not moved(start, length):
                return


def used_stretches(mapping: Mapping) -> Iterator[tuple[int, int]]:
    """Where neighbouring huge pages that are much used begin, and how long they are together."""
    start = 0
    first, last = mapping.huge_pages()
    for place in range(first, last + 1, HUGE_PAGE_BYTES):
        if place < last and used_pages(place) >= USED_PAGES:
            start = start or place
        elif start:
            yield start, place - start
            start = 0


def used_pages(start: int) -> int:
    """How many pages of a huge one this process has looked up."""
    return int((page_entries(start, start + HUGE_PAGE_BYTES) & PRESENT > 0).sum())


def page_entries(start: int, end: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """What the system knows of each page of this process; see proc_pid_pagemap(5)."""
    entry = np.dtype(np.uint64)
    first, count = start // PAGE_BYTES, (end - start) // PAGE_BYTES
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as pages:
            told = os.pread(pages.fileno(), count * entry.itemsize, first * entry.itemsize)
    except OSError:
        return np.zeros(count, entry)
    return np.frombuffer(told, entry)


def moved(start: int, length: int) -> bool:
    """Put a copy of code in its place, in huge pages; whether that could be done."""
    mmap, mremap, mprotect, munmap = libc().mmap, libc().mremap, libc().mprotect, libc().munmap
    mmap.restype = mremap.restype = ctypes.c_void_p
    word, number = ctypes.c_size_t, ctypes.c_int
    mmap.argtypes = [ctypes.c_void_p, word, number, number, number, ctypes.c_ssize_t]
    mremap.argtypes = [ctypes.c_void_p, word, word, number, ctypes.c_void_p]
    mprotect.argtypes, munmap.argtypes = [ctypes.c_void_p, word, number], [ctypes.c_void_p, word]
    room = mmap(None, length + HUGE_PAGE_BYTES, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)
    if room == FAILED:
        return False
    copy = -(-room // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    advise(copy, length, MADV_HUGEPAGE)
    ctypes.memmove(copy, start, length)
    done = (
        collected(copy, length)
        and mprotect(copy, length, PROT_READ_EXECUTE) == 0
        and mremap(copy, length, length, MREMAP_TO_A_PLACE, start) == start
    )
    munmap(room, copy - room)
    munmap(copy + length, room + HUGE_PAGE_BYTES - copy)
    if not done:
        munmap(copy, length)
    return done
