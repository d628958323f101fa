"""On every machine, a resource that was measured as closed is closed to every attack."""

import functools
import json
import subprocess
import sys
from typing import Any

import pytest

from grader_tests.assignments import ROOT

from .judge_raiders import ATTACKS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")
POORER = [sys.executable, "-m", "grader_tests.isolation.poorer"]
RAID = [sys.executable, "-m", "grader_tests.isolation.raid"]
# How the grader is run, and which level is to be had then at least.
PLACES: dict[str, tuple[tuple[str, ...], str]] = {
    "as it is": ((), "partial"),
    "as an ordinary user": (("--user",), "partial"),
    "without Landlock": (("--user", "--refuse", "Landlock"), "none"),
    "without namespaces": (("--refuse", "namespaces"), "partial"),
    "as an ordinary user without namespaces": (("--user", "--refuse", "namespaces"), "partial"),
    "without namespaces and Landlock": (
        ("--user", "--refuse", "namespaces", "--refuse", "Landlock"),
        "partial",
    ),
}
LEVELS = ("none", "partial", "strict")


@functools.cache
def raided(place: str) -> dict[str, Any]:
    """Return the measured isolation in a place, and the loot of each attack there."""
    options, _ = PLACES[place]
    command = [*POORER, *options, "--", *RAID] if options else RAID
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("place", PLACES)
def test_something_is_closed_everywhere(place: str) -> None:
    """The layers that are left still close what they can, and always the judge."""
    measured = raided(place)["measured"]
    assert LEVELS.index(measured["level"]) >= LEVELS.index(PLACES[place][1])
    barriers = measured["barriers"]
    assert [b["closed"] for b in barriers if b["resource"] == "judge"] == [True], barriers


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_closed_is_closed(place: str, attack: str) -> None:
    """An attack gets nothing where what it is against was measured as closed."""
    # What was measured as open is not attacked.
    assert raided(place)["got"].get(attack, "") == "", ATTACKS[attack][1].__doc__
