"""Should the judge be taken over, it can do next to nothing; what is missing is told."""

import json
import subprocess
import sys
from typing import Any

import pytest

from grader_tests.assignments import ROOT

from .test_conformance import PLACES, POORER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")
# What Landlock alone closes.
FILES = {f"file: {how}" for how in ("make", "append", "truncate", "remove", "move in", "move out")}
FILES |= {f"file: {how}" for how in ("link", "link, then write", "folder", "pipe", "setting")}
PROCESSES = {"process: read", "process: write"}


@pytest.mark.parametrize("place", PLACES)
def test_the_judge_is_confined(place: str) -> None:
    """It writes in its folder alone, connects to nothing, starts nothing and reaches nobody."""
    options, _ = PLACES[place]
    before = [*POORER, *options, "--"] if options else []
    result = subprocess.run(
        [*before, sys.executable, "-m", "grader_tests.isolation.confined"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    told: dict[str, Any] = {}
    for line in result.stdout.splitlines():
        told |= json.loads(line)
    without_landlock = "Landlock" in options
    assert bool(told["missing"]["Landlock"]) == without_landlock
    assert set(told["open"]) <= (FILES | PROCESSES if without_landlock else set())
    assert (told["lacking"], told["status"], told["left"]) == ([], 0, False)
    # Root may read what it likes.
    assert not told["read"] or "--user" not in options
