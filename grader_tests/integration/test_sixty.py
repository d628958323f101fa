"""Sixty submissions in one batch: right variants, mistakes, attacks and broken archives."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from grader_tests.classes import assignment_with_short_limits, sixty
from grader_tests.commands import ENVIRONMENT, PROGRAM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's"),
]
SEED = 1_904_261_377
MOST_SECONDS = 3600
LINGER_SECONDS = 20


class Place:
    """A class, the assignment it is about, and a place for temporary files of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.submissions = sixty(root / "submissions")
        self.assignment = assignment_with_short_limits(root / "assignment")
        self.temporary = root / "temporary"
        self.temporary.mkdir()

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command of the grader, running."""
        common = ["--assignment", str(self.assignment), "--seed", str(SEED)]
        return subprocess.Popen(
            [*PROGRAM, *arguments, *common],
            cwd=self.root,
            env={**ENVIRONMENT, "TMPDIR": str(self.temporary)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def batch(self, out: str) -> subprocess.Popen[bytes]:
        """The batch, running."""
        return self.start("batch", str(self.submissions), "--report-dir", out, "--jobs", "2")

    def done(self, out: str) -> dict[Path, int]:
        """The records of what is done, and when each was written."""
        return {path: path.stat().st_mtime_ns for path in (self.root / out).glob("*/record.json")}

    def left(self) -> list[str]:
        """What is left of runs that ended: processes with our folder for temporary files, files."""
        found = [path.name for path in self.temporary.iterdir()]
        for process in psutil.process_iter():
            try:
                if process.environ().get("TMPDIR") == str(self.temporary):
                    found.append(f"{process.pid} {process.name()}")
            except psutil.Error:
                continue
        return found

    def wait_until_nothing_is_left(self) -> None:
        """Fail where something is, after some time."""
        end = time.monotonic() + LINGER_SECONDS
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.5)
        assert not left


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Where the class is graded in one go."""
    made = Place(tmp_path_factory.mktemp("sixty"))
    assert made.batch("whole").wait(MOST_SECONDS) == 3
    return made


def rows(place: Place, out: str) -> dict[str, dict[str, str]]:
    """A gradebook by the files that were handed in."""
    with (place.root / out / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def test_everybody_is_in_the_gradebook(place: Place) -> None:
    """Right work earns all, mistakes and attacks lose, and what is broken has no grade."""
    found = rows(place, "whole")
    assert len(found) == 60
    for file, row in found.items():
        kind = file.partition("-")[0]
        if kind == "broken":
            assert (row["status"], row["score"]) == ("not judged", ""), row
        elif kind == "right":
            assert float(row["score"]) == 9.0, row
        else:
            assert float(row["score"]) < 9.0, row
        if kind == "attack":
            assert float(row["moving_average"]) == 0.0, row


def test_nothing_is_left(place: Place) -> None:
    """No process and no file outlives the batch."""
    place.wait_until_nothing_is_left()


def test_killed_twice_and_resumed(place: Place) -> None:
    """None is graded twice, the gradebook is the same, and nothing is left of what was killed."""
    chance = random.Random(time.time_ns())  # noqa: S311 (no secret)
    moments = sorted(chance.sample(range(1, 59), 2))
    seen: dict[Path, int] = {}
    for moment in moments:
        running = place.batch("killed")
        while len(place.done("killed")) < moment and running.poll() is None:
            time.sleep(chance.uniform(0.01, 0.5))
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        place.wait_until_nothing_is_left()
        now = place.done("killed")
        assert now.items() >= seen.items()
        seen = now
    assert place.batch("killed").wait(MOST_SECONDS) == 3
    assert place.done("killed").items() >= seen.items()
    assert len(place.done("killed")) == 60
    whole, killed = (place.root / out / "gradebook.csv" for out in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes(), moments


def verdicts(report: dict[str, Any]) -> dict[str, Any]:
    """All of a report that was decided; how long it took and how a limit was met is another time's.

    On a busy machine, the time limit may come before the end of a process is noticed.
    """
    decided = ("id", "verdict", "mistakes")
    checks = [{name: check[name] for name in decided} for check in report["checks"]]
    kept = ("score", "max_score", "problems", "findings", "seed", "isolation", "notes")
    return {**{name: report[name] for name in kept}, "checks": checks}


def test_every_verdict_is_the_same_as_alone(place: Place) -> None:
    """Whatever was graded before and beside it."""
    different = {}
    for record in place.done("whole"):
        file = json.loads(record.read_text(encoding="utf-8"))["file"]
        path = place.submissions / file
        place.start("grade", str(path), "--report-dir", "alone", "-q").wait(MOST_SECONDS)
        alone = json.loads((place.root / "alone" / "report.json").read_text(encoding="utf-8"))
        batch = json.loads(record.with_name("report.json").read_text(encoding="utf-8"))
        if verdicts(alone) != verdicts(batch):
            different[file] = (verdicts(alone), verdicts(batch))
    assert not different
