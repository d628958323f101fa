"""A process that forks others stands still until they have ended."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, time
from cs336_grader.worker import forks
{change}
read, write = os.pipe()
os.set_blocking(read, False)
value = 1
for i in range(3):
    pid = forks.fork_and_wait()
    if pid == 0:
        value = 2
        time.sleep(0.1)
        {look}
        os.write(write, b"the child, %d;" % os.getpid())
        os._exit(i)
    assert os.read(read, 100) == b"the child, %d;" % pid
assert value == 1
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none left")
"""
HOW = {
    "within the call": "",
    "for an end that it is told of": "forks.CLONE.clear()",
    "where nobody is told of ends": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked as on Unix")
@pytest.mark.parametrize("change", HOW.values(), ids=HOW)
def test_the_parent_waits(change: str) -> None:
    """What the child did has been done when the parent goes on, in memory of the child's own."""
    assert run(PROGRAM.format(change=change, look="")) == "none left\n"


# So the system calls a process that stands still within a call.
IN_A_CALL = 'assert ") D " in open(f"/proc/{os.getppid()}/stat").read(), "the parent moves"'


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can do this")
def test_the_parent_stands_still_within_the_call() -> None:
    """It has not come back from the system when the child runs, and shares no page it writes to."""
    assert run(PROGRAM.format(change="", look=IN_A_CALL)) == "none left\n"


OWN_ID = """
import ctypes, os, threading
from cs336_grader.worker import forks
libc = ctypes.CDLL(None)
libc.pthread_self.restype = ctypes.c_ulong
libc.pthread_getcpuclockid.argtypes = [ctypes.c_ulong, ctypes.c_void_p]

def clock():
    found = ctypes.c_int()
    assert libc.pthread_getcpuclockid(libc.pthread_self(), ctypes.addressof(found)) == 0
    return found.value

before = clock()
if forks.fork_and_wait() == 0:
    # The clock of a thread is made of the id that the C library knows it by.
    thread = threading.Thread(target=lambda: print(clock() != before, flush=True))
    print(clock() != before, flush=True)
    thread.start()
    thread.join()
    os._exit(0)
print(clock() == before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library is asked as on Linux")
def test_the_child_is_a_thread_of_its_own() -> None:
    """The C library knows it by its own id, and it can start threads."""
    assert run(OWN_ID).split() == ["True", "True", "True"]


def run(program: str) -> str:
    """What a program prints in a process of one thread."""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
