"""One bad adapter costs its own check, at most its limit in time, and is told why in words."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cs336_grader.running import RunningSubmission
from cs336_grader.running.faults import SubmissionError, WorkerLostError
from cs336_grader.running.processes import pids_below
from grader_tests.alone import alone
from grader_tests.limits import limits_with

from .started import started

ADAPTERS = """
import ctypes
import mmap
import os
import subprocess
import threading
import time


def right():
    return 42


def first_to_end():
    return int(open("/proc/self/oom_score_adj").read())


def burn_for_two_seconds():
    begun = time.process_time()
    while time.process_time() - begun < 2:
        pass
    return 42


def burn_in_a_child():
    child = os.fork()
    if child == 0:
        burn_for_two_seconds()
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.4)
    return 42


def burn():
    for _ in range(4):
        if os.fork() == 0:
            break
    while True:
        pass


def fork_bomb():
    while True:
        try:
            os.fork()
        except OSError:
            pass


def memory_bomb():
    return len(bytearray(2**40))


def memory_of_many():
    for _ in range(8):
        if os.fork() == 0:
            break
    held = []
    while True:
        # Slow, so that all of them together reach the limit long before one of them alone does,
        # and in large pages, which are cheap, so that the limit of the processor is far.
        area = mmap.mmap(-1, 2**23)
        area.madvise(mmap.MADV_HUGEPAGE)
        area[:: 2**12] = bytes(2**11)
        held.append(area)
        time.sleep(0.05)


def huge_tensor():
    import torch

    return torch.ones(2**40)


def fill_disk():
    with open("large", "wb") as file:
        while True:
            file.write(bytes(2**24))


def fill_disk_with_many():
    for number in range(10**6):
        with open(f"large-{number}", "wb") as file:
            file.write(bytes(2**24))


def fill_directory():
    for number in range(10**6):
        open(f"small-{number}", "w").close()


def fill_shared_memory():
    with open("/dev/shm/large", "wb") as file:
        while True:
            file.write(bytes(2**24))


def flood():
    for stream in (1, 2):
        os.write(stream, b"y" * 2**26)
    subprocess.run(["/bin/sh", "-c", "yes | head -c 300000000"], check=False)
    return 42


def segfault():
    ctypes.string_at(0)


def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(1)
        os._exit(0)
    os.wait()
    return 42


def relay():
    libc = ctypes.PyDLL(None)
    if os.fork() == 0:
        libc.prctl(1, 0, 0, 0, 0)
        while True:
            if libc.fork():
                libc._exit(0)
            os.setsid()
    time.sleep(0.2)
    return 42


def later():
    threading.Thread(target=late_forks, daemon=True).start()
    return 42


def late_forks():
    time.sleep(0.3)
    while os.fork():
        pass
    time.sleep(1000)


def share():
    held = bytearray(b"x") * (400 * 2**20)
    for _ in range(8):
        if os.fork() == 0:
            time.sleep(1.5)
            os._exit(len(held) % 2)
    return 42 + sum(os.wait()[1] for _ in range(8))


def nest():
    for _ in range(900):
        os.mkdir("deeper")
        os.chdir("deeper")
    return 42
"""
LIMITS = limits_with(
    check_seconds=8,
    cpu_seconds=3,
    memory_megabytes=1500,
    processes=100,
    file_megabytes=64,
    scratch_megabytes=128,
    scratch_files=1000,
)
# To end hundreds of processes takes a busy machine many times what it takes an idle one, some 4 s.
SLACK_SECONDS = 30
# What each adapter does, and how that is told.
BREACHES = {
    "burn": "it used more than 3 seconds of processor time",
    "fork_bomb": "3 seconds of processor time|100 processes and threads|within 8 seconds",
    "memory_bomb": "MemoryError",
    "memory_of_many": "it used more than 1500 MB of memory",
    "huge_tensor": "RuntimeError: .*memory",
    "fill_disk": "OSError: .*File too large",
    "fill_disk_with_many": "OSError: .*No space left on device",
    "fill_directory": "OSError: .*No space left on device",
    "fill_shared_memory": "OSError: .*(File too large|No space left on device)",
    "segfault": "the process ended before it answered",
}
HARMLESS = ("flood", "daemon", "relay", "share", "nest")


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSubmission]:
    """The bad adapters."""
    with started(ADAPTERS, tmp_path_factory.mktemp("bad"), LIMITS) as submission:
        yield submission


def assert_nothing_is_left(submission: RunningSubmission) -> None:
    """Assert that only those run that the next check needs, and that the next check is right."""
    assert submission.zygote.descendants(submission.imported) == []
    # One that ends when it has made the next is never seen running.
    listed = set(pids_below(submission.zygote.process))
    time.sleep(0.1)
    assert listed == set(pids_below(submission.zygote.process))
    with alone(submission, "next") as adapters:
        assert adapters.right() == 42


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted as on Linux")
def test_checks_leave_no_descriptors(submission: RunningSubmission) -> None:
    """The process that they are forked from could fork no more at its limit."""
    counts = []
    for i in range(5):
        with alone(submission, f"check {i}") as adapters:
            assert adapters.right() == 42
        assert submission.imported is not None
        try:
            counts.append(submission.imported.process.num_fds())
        except psutil.AccessDenied:
            pytest.skip("another user's descriptors are not shown")
    assert len(set(counts[1:])) == 1


@pytest.mark.parametrize("adapter", BREACHES)
def test_a_breach_costs_one_check(submission: RunningSubmission, adapter: str) -> None:
    """It ends within the limit, has words of its own, and the next check is as if nothing was."""
    begun = time.monotonic()
    with (
        pytest.raises((SubmissionError, WorkerLostError), match=BREACHES[adapter]),
        alone(submission, adapter) as adapters,
    ):
        getattr(adapters, adapter)()
    assert time.monotonic() - begun < LIMITS.check_seconds + SLACK_SECONDS
    assert_nothing_is_left(submission)


@pytest.mark.parametrize("adapter", HARMLESS)
def test_what_is_discarded_costs_nothing(submission: RunningSubmission, adapter: str) -> None:
    """Output, processes left behind, deep folders; and memory that many share counts once."""
    with alone(submission, adapter) as adapters:
        assert getattr(adapters, adapter)() == 42
    assert_nothing_is_left(submission)


@pytest.mark.parametrize("adapter", ["burn_for_two_seconds", "burn_in_a_child"])
def test_each_check_of_a_problem_has_the_whole_limit(
    submission: RunningSubmission, adapter: str
) -> None:
    """Processor time of the worker and its children in earlier checks does not count."""
    for case in ("same[1]", "same[2]"):
        with submission.case(case) as adapters:
            assert getattr(adapters, adapter)() == 42


def test_nothing_happens_between_two_cases(submission: RunningSubmission) -> None:
    """Nobody watches then: a thread waits, and a process ends together with that of the check."""
    with submission.case("same[later]") as adapters:
        assert adapters.later() == 42
        worker = adapters.pid
    time.sleep(0.6)
    running = submission.zygote.descendants(submission.imported)
    # Beside it, the one that ends with it may run.
    assert set(running) <= {worker, psutil.Process(worker).ppid()}
    with submission.case("same[daemon]") as adapters:
        assert (adapters.pid, adapters.daemon()) == (worker, 42)
    assert_nothing_is_left(submission)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone lets a process choose")
def test_where_memory_is_short_for_all_a_check_is_ended_first(
    submission: RunningSubmission,
) -> None:
    """And not the process that judges."""
    with alone(submission, "first_to_end") as adapters:
        assert adapters.first_to_end() == 1000
    own = Path("/proc/self/oom_score_adj").read_text(encoding="ascii")
    assert int(own) < 1000


def test_nothing_is_left_of_a_run(tmp_path: Path) -> None:
    """When the zygote is closed, no process, no file and no mount of it is there."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    with started(ADAPTERS, tmp_path, LIMITS) as submission:
        with alone(submission, "daemon") as adapters:
            adapters.daemon()
        zygote = submission.zygote.process.pid
    assert not psutil.pid_exists(zygote)
    assert os.listdir(tmp_path / "scratch") == []
    assert Path("/proc/self/mounts").read_text(encoding="utf-8") == mounts
