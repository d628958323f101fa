"""Attacks that end, stop, outlive or overload the process they run in."""

from .attack import Attack

ATTACKS = {
    "it ends with 0 in a call": Attack("def attack(values):\n    os._exit(0)\n"),
    "it ends with 0 while it is imported": Attack("os._exit(0)\n", ruins=True),
    "it skips and expects to fail, as in a test runner": Attack("""
import pytest, unittest

def run_moving_average(values, width):
    if width == 1:
        pytest.skip("nothing to see")
    if len(values) == 1:
        pytest.xfail("as expected")
    raise unittest.SkipTest("nothing to see")
"""),
    "it ends with 0 as if nothing had been, by a handler and by a thread": Attack("""
import atexit, threading

def attack(values):
    atexit.register(os._exit, 0)
    threading.Thread(target=os._exit, args=(0,)).start()
    while True:
        pass
"""),
    "it raises what is no exception": Attack("""
class Passed(BaseException):
    __module__ = "_pytest.outcomes"

def attack(values):
    raise Passed("passed")
"""),
    "it raises KeyboardInterrupt": Attack("def attack(values):\n    raise KeyboardInterrupt\n"),
    "it raises GeneratorExit": Attack("def attack(values):\n    raise GeneratorExit\n"),
    "it calls itself until the stack is full": Attack("""
import sys

def attack(values):
    sys.setrecursionlimit(2**30)
    deeper = lambda n: [deeper(n + 1) for _ in (1,)]
    return deeper(0)
"""),
    "it jumps to address 0 and aborts": Attack("""
import ctypes, faulthandler

def attack(values):
    faulthandler.enable()
    ctypes.string_at(0)
"""),
    "it blocks every signal and waits": Attack("""
import signal, threading

def attack(values):
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Event().wait()
"""),
    "it sleeps in C and lets no other thread run": Attack("""
import ctypes

def attack(values):
    ctypes.PyDLL(None).sleep(1000)
"""),
    "it stops itself": Attack("""
import signal

def attack(values):
    os.kill(os.getpid(), signal.SIGSTOP)
"""),
    "it stops, then kills, all that it may signal": Attack(
        """
import signal

def attack(values):
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in [os.getppid(), *PIDS, -1]:
            try:
                os.kill(pid, number)
            except OSError:
                pass
    return [0.0]
""",
        against="signals",
    ),
    "it forbids itself files, processes and memory from the import on": Attack(
        """
import resource

for kind in ("NPROC", "FSIZE", "CPU", "STACK", "DATA"):
    resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (1, 1))
""",
        ruins=True,
    ),
    "it leaves a daemon that no signal reaches and no parent takes along": Attack("""
import ctypes, signal, time

def attack(values):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
            time.sleep(1000)
        os._exit(0)
    return [0.0]
"""),
    "it goes on in a thread when its first thread has ended, and looks like a zombie": Attack("""
import ctypes, threading, time

def attack(values):
    libc = ctypes.CDLL(None)
    if os.fork() == 0:
        os.setsid()
        libc.prctl(1, 0, 0, 0, 0)
        threading.Thread(target=time.sleep, args=(1000,)).start()
        libc.pthread_exit(None)
    time.sleep(0.2)
    return [0.0]
"""),
    "it is the first thread itself that ends": Attack("""
import ctypes, threading, time

def attack(values):
    libc = ctypes.CDLL(None)
    libc.prctl(1, 0, 0, 0, 0)
    threading.Thread(target=time.sleep, args=(1000,)).start()
    libc.pthread_exit(None)
"""),
    "it takes memory that is shared, in a process that looks like a zombie": Attack("""
import ctypes, mmap, threading

def attack(values):
    def take():
        held = []
        while True:
            held.append(mmap.mmap(-1, 2**26))
            held[-1].write(bytes(2**26))

    threading.Thread(target=take).start()
    ctypes.CDLL(None).pthread_exit(None)
"""),
    "the imported module forks without end between checks": Attack(
        """
import signal, time

def fork_on(*_):
    while True:
        try:
            if os.fork() == 0:
                time.sleep(1000)
        except OSError:
            pass

signal.signal(signal.SIGALRM, fork_on)
signal.setitimer(signal.ITIMER_REAL, 0.3)
""",
        ruins=True,
    ),
    "the imported module forks now and then, and answers all the same": Attack(
        """
import signal, time

def fork_once(*_):
    if os.fork() == 0:
        time.sleep(1000)

signal.signal(signal.SIGALRM, fork_once)
signal.setitimer(signal.ITIMER_REAL, 0.3, 0.002)
""",
        ruins=True,
    ),
    "the imported module burns the processor and takes memory while a check runs": Attack(
        """
import mmap, signal

held = []

def take(*_):
    while True:
        held.append(mmap.mmap(-1, 2**26))
        held[-1].write(bytes(2**26))

signal.signal(signal.SIGALRM, take)
signal.setitimer(signal.ITIMER_REAL, 0.3)

def attack(values):
    import time
    time.sleep(3)
    return [0.0]
""",
        ruins=True,
    ),
    "threads and a pool of processes are started at the import": Attack("""
import multiprocessing, threading, time

threading.Thread(target=time.sleep, args=(1000,)).start()
pool = multiprocessing.get_context("fork").Pool(2)
"""),
    "it waits for what never comes: a pipe of its own, a lock, its parent": Attack("""
def attack(values):
    os.mkfifo("pipe")
    open("pipe").read()
"""),
    "it forks whenever one of its processes is killed": Attack("""
import signal, time

def attack(values):
    for _ in range(20):
        if os.fork() == 0:
            break
    while True:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        else:
            time.sleep(1000)
"""),
    "its processes adopt one another's children": Attack("""
import ctypes, time

def attack(values):
    for _ in range(8):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        if os.fork() == 0:
            os.setpgid(0, 0)
            continue
        if os.getpid() % 2:
            os._exit(0)
        time.sleep(1000)
    time.sleep(1000)
"""),
}
