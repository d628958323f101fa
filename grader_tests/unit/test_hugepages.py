"""A process is made cheap to fork, and what it holds stays as it is."""

import subprocess
import sys

import pytest

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
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    before, after = map(int, ended.stdout.split())
    assert before > 5_000_000
    assert after < 50_000
