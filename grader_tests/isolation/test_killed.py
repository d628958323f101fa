"""However a run ends, nothing of it is left."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from grader_tests.assignments import TINY
from grader_tests.commands import ENVIRONMENT, PROGRAM
from grader_tests.unit.submissions import write

# It writes a file, leaves a daemon behind and hangs.
LINGERING = """
import os, signal, time

def run_moving_average(values, width):
    open("written", "w").write("x" * 100)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            time.sleep(1000)
        os._exit(0)
    time.sleep(1000)
"""
# Template, recorder, judge, zygote, (init,) import, worker, daemon.
SMALLEST_TREE = 7
END_SECONDS = 30


@contextmanager
def hanging_run(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[psutil.Process]]]:
    """A run that hangs in a check, and all its processes."""
    folder = write(tmp_path / "submission", {"tests/adapters.py": LINGERING})
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [*PROGRAM, "grade", str(folder), "--assignment", str(TINY), "-q"]
    process = subprocess.Popen(
        [*command, "--report-dir", str(tmp_path / "report")],
        env={**ENVIRONMENT, "TMPDIR": str(temporary)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        launcher = psutil.Process(process.pid)
        tree: list[psutil.Process] = []
        end, before = time.monotonic() + END_SECONDS, None
        # Those that find out what is closed come and go.
        while (len(tree) < SMALLEST_TREE or tree != before) and time.monotonic() < end:
            time.sleep(0.5)
            before, tree = tree, launcher.children(recursive=True)
        assert len(tree) >= SMALLEST_TREE, tree
        yield process, tree
    finally:
        process.kill()
        process.wait()


def running(tree: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run, after some time to end."""
    _, alive = psutil.wait_procs(tree, timeout=END_SECONDS)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_launcher_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """No process and no temporary file, whether it could clean up or not."""
    with hanging_run(tmp_path) as (process, tree):
        process.send_signal(number)
        process.wait()
        assert running(tree) == []
    assert os.listdir(tmp_path / "temporary") == []


@pytest.mark.parametrize("place", range(3), ids=["template", "recorder", "judge"])
def test_a_killed_part_of_the_grader_leaves_nothing(tmp_path: Path, place: int) -> None:
    """The launcher says that it could not judge, and cleans up for the process that was killed."""
    with hanging_run(tmp_path) as (process, tree):
        (template,) = (one for one in tree if one.ppid() == process.pid)
        recorder, *_ = template.children()
        (judge,) = recorder.children()
        (template, recorder, judge)[place].kill()
        assert process.wait(END_SECONDS) == 3
        assert running(tree) == []
    assert os.listdir(tmp_path / "temporary") == []
