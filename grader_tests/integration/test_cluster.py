"""A class on a cluster: a scheduler and two workers on this machine, one of which is killed."""

import csv
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from grader_tests.assignments import TINY
from grader_tests.classes import RIGHT, STUBS, write_class, zipped
from grader_tests.commands import ENVIRONMENT, PROGRAM

pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked as on Linux")
DASK = [sys.executable, "-m", "dask"]
COMMON = ("--assignment", "assignment", "--seed", "7")
ADDRESS = re.compile(r"tcp://127\.0\.0\.1:\d+")
MOST_SECONDS = 900
WRONG = RIGHT + "\n\ndef run_count_words(text):\n    return {}\n"


def started(exits: ExitStack, place: Path, *arguments: str) -> subprocess.Popen[str]:
    """A program of the cluster, which ends with the test."""
    process = subprocess.Popen(
        [*DASK, *arguments],
        cwd=place,
        env={**ENVIRONMENT, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    exits.callback(end, process)
    return process


def end(process: subprocess.Popen[str]) -> None:
    """End a program, and all that it has started."""
    try:
        family: list[Any] = [process, *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = [process]
    for one in family:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of six, and the assignment."""
    place = tmp_path_factory.mktemp("cluster")
    shutil.copytree(TINY, place / "assignment", ignore=shutil.ignore_patterns("__pycache__"))
    texts = {"ada": RIGHT, "grace": WRONG, "alan": STUBS, "kurt": RIGHT, "emmy": WRONG}
    write_class(place / "submissions", texts, {"linus.zip": zipped(RIGHT)[:99]})
    return place


@pytest.fixture(scope="module")
def scheduler(place: Path) -> Iterator[tuple[ExitStack, str]]:
    """The address of a scheduler."""
    with ExitStack() as exits:
        process = started(
            exits, place, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"
        )
        assert process.stderr is not None
        for line in process.stderr:
            if found := ADDRESS.search(line):
                break
        assert found
        yield exits, found[0]


def worker(exits: ExitStack, place: Path, address: str) -> subprocess.Popen[str]:
    """A worker, as one process that nobody starts again."""
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    return started(exits, place, "worker", address, *options)


def test_a_worker_that_is_killed_loses_nothing(
    place: Path, scheduler: tuple[ExitStack, str]
) -> None:
    """The other one grades what it had; the gradebook is that of a single machine."""
    exits, address = scheduler
    workers = [worker(exits, place, address) for _ in range(2)]
    command = [*PROGRAM, "batch", "submissions", *COMMON]
    running = subprocess.Popen(
        [*command, "--cluster", address],
        cwd=place,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    killed = time.monotonic() + MOST_SECONDS
    while not list(place.glob("class/*/record.json")) and time.monotonic() < killed:
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    os.kill(workers[0].pid, 9)
    _, said = running.communicate(timeout=MOST_SECONDS)
    assert running.returncode == 3, said
    records = list(place.glob("class/*/record.json"))
    assert len(records) == 6
    alone = subprocess.run(
        [*command, "--report-dir", "alone", "--jobs", "1"],
        cwd=place,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=MOST_SECONDS,
    )
    assert alone.returncode == 3
    one, other = (place / out / "gradebook.csv" for out in ("class", "alone"))
    assert one.read_bytes() == other.read_bytes()
    with one.open(encoding="utf-8", newline="") as file:
        scores = [row["score"] for row in csv.DictReader(file)]
    assert scores == ["9.0", "0.0", "6.0", "6.0", "9.0", ""]
