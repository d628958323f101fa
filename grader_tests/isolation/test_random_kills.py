"""Any process of a grading can be killed at any moment: the run ends, and nothing is left."""

import json
import os
import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from cs336_checks.rubric import load_assignment
from grader_tests.assignments import TINY
from grader_tests.commands import ENVIRONMENT, PROGRAM
from grader_tests.unit.submissions import write

# It starts a process in each check, and takes its time.
ADAPTERS = """
import os, time

def run_moving_average(values, width):
    if os.fork() == 0:
        time.sleep(0.3)
        os._exit(0)
    time.sleep(0.2)
    return [sum(values[i : i + width]) / width for i in range(len(values) - width + 1)]

def run_count_words(text):
    time.sleep(0.2)
    return {}
"""
KILLS = 200
# So long after the start, a run is mostly over.
LATEST_SECONDS = 6.0
END_SECONDS = 60


def kill_one(launcher: psutil.Process, draw: random.Random) -> None:
    """Kill a process below the launcher, or the launcher itself, if there is one."""
    with suppress(psutil.NoSuchProcess):
        draw.choice([launcher, *launcher.children(recursive=True)]).kill()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(KILLS))
def test_a_random_kill_loses_nothing(tmp_path: Path, seed: int) -> None:
    """Every check is in the report, no process and no file is left."""
    draw = random.Random(seed)  # noqa: S311 (any moment will do)
    folder = write(tmp_path / "submission", {"tests/adapters.py": ADAPTERS})
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
    launcher = psutil.Process(process.pid)
    seen: set[psutil.Process] = set()
    end = time.monotonic() + draw.uniform(1.0, LATEST_SECONDS)
    while time.monotonic() < end and process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            seen.update(launcher.children(recursive=True))
        time.sleep(0.05)
    with suppress(psutil.NoSuchProcess):
        seen.update(launcher.children(recursive=True))
    kill_one(launcher, draw)
    code = process.wait(END_SECONDS)
    _, alive = psutil.wait_procs(seen, timeout=END_SECONDS)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
    assert os.listdir(temporary) == []
    if code in (0, 1, 3):
        report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
        assert {check["id"] for check in report["checks"]} == {
            check.id for check in load_assignment(TINY).checks.values()
        }
    else:
        assert code == -9, "nothing but the launcher's own end explains this"
