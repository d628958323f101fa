"""A process is made cheap to fork, and what it holds stays as it is."""

import platform
import subprocess
import sys

import pytest

from cs336_grader.worker.hugepages import HUGE_PAGE_BYTES

# Pieces of 600 bytes are the C library's, not Python's own; every other one is given back.
PROGRAM = """
import ctypes
from cs336_grader.worker.hugepages import HeapUse, collect_memory
held = [bytes([i % 256]) * 600 for i in range(20_000)]
del held[::2]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = HeapUse
def gaps():
    use = libc.mallinfo2()
    return use.fordblks - use.keepcost
before = gaps()
collect_memory()
assert all(held[i] == bytes([(2 * i + 1) % 256]) * 600 for i in range(10_000))
print(before, gaps())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone does this")
def test_gaps_in_memory_are_taken() -> None:
    """Nothing is left of them that a forked process could write to; values stay."""
    before, after = numbers(PROGRAM)
    assert before > 5_000_000
    assert after < 50_000


MOVING = """
import torch
from cs336_grader.worker import hugepages

def found():
    x = torch.arange(64 * 64.0).reshape(64, 64) / 1e3
    try:
        torch.zeros(2) @ torch.zeros(3)
    except RuntimeError as error:
        said = str(error)
    return torch.softmax(x @ x.T, -1).tolist(), torch.linalg.svd(x)[1].tolist(), said

def of_no_file():
    code = [m for m in hugepages.mappings() if m.permissions == "r-xp" and not m.name]
    return sum(m.end - m.start for m in code)

torch.set_num_threads(1)
before = found()
{change}
print(of_no_file(), end=" ")
hugepages.move_code()
assert found() == before
print(of_no_file())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone does this")
def test_code_moves_and_does_what_it_did() -> None:
    """Where there are huge pages to be had, and where there are none."""
    before, after = numbers(MOVING.format(change=""))
    assert before == 0
    if platform.machine() == "x86_64" and can_be_collected():
        assert after >= 16 * HUGE_PAGE_BYTES
    assert after % HUGE_PAGE_BYTES == 0
    refused = "hugepages.collected = lambda start, length: False"
    assert numbers(MOVING.format(change=refused)) == [0, 0]


def can_be_collected() -> bool:
    """Whether this system makes huge pages where it is asked to."""
    program = """
import ctypes, mmap
from cs336_grader.worker.hugepages import HUGE_PAGE_BYTES, collected
room = mmap.mmap(-1, 2 * HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
room[:] = b"1" * len(room)
print(int(collected(-(-start // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES, HUGE_PAGE_BYTES)))
"""
    return numbers(program) == [1]


def numbers(program: str) -> list[int]:
    """The numbers that a program prints."""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return list(map(int, ended.stdout.split()))
