"""Wherever the grader runs: no attack gains a point, leaves a trace, learns a secret or is heard.

What is measured as open in a place is not attacked there: the report says that it is open.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader_tests.assignments import ROOT
from grader_tests.isolation.test_conformance import PLACES, POORER

from .attack import Attack
from .corpus import CORPUS, FAMILIES, INNER, LAYERED

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")
CAMPAIGN = [sys.executable, "-m", "grader_tests.attacks.campaign"]
# How the grader is run, and with which attacks. Where strict isolation is to be had, the first is.
LEVELS: dict[str, tuple[list[str], tuple[Any, ...]]] = {
    place: ([*POORER, *options, "--", *CAMPAIGN], LAYERED) if options else (CAMPAIGN, FAMILIES)
    for place, (options, _) in PLACES.items()
} | {"none": ([*CAMPAIGN, "--isolation", "none"], INNER)}
# The others take minutes each, too.
QUICK = ("as it is",)
TIMEOUT_SECONDS = 1800
FILE = re.compile(r"`([\w./]+\.py)`")


def campaign(level: str) -> dict[str, list[str]]:
    """What was wrong after each attack that was tried at a level."""
    command, families = LEVELS[level]
    result = subprocess.run(
        [*command, *(name for family in families for name in family.ATTACKS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return dict(json.loads(line) for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(level, marks=() if level in QUICK else pytest.mark.slow, id=level)
        for level in LEVELS
    ],
)
def test_no_attack_gains_anything(level: str) -> None:
    """Its check fails, others keep their verdicts, reports are valid, and nothing is left."""
    found = campaign(level)
    attacks = {name: a for family in LEVELS[level][1] for name, a in family.ATTACKS.items()}
    assert {name for name, attack in attacks.items() if attack.against == "verdict"} <= set(found)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_what_an_attack_defines_is_what_runs() -> None:
    """Its own adapters take the place of the honest ones."""
    module: dict[str, Any] = {}
    exec(Attack("def run_count_words(text):\n    return 'mine'\n").adapters({}), module)  # noqa: S102 (it is ours)
    assert module["run_count_words"]("") == "mine"
    assert module["run_moving_average"]([5.0], 2) == [0.0]


def test_the_table_names_what_there_is() -> None:
    """Every file that it names exists, every file of attacks is named, and the count is right."""
    folder = Path(__file__).parent
    table = (folder / "README.md").read_text(encoding="utf-8")
    named = {name for row in table.splitlines() if row[:1] == "|" for name in FILE.findall(row)}
    assert {name for name in named if not (folder / name).is_file()} == set()
    assert f"There are {len(CORPUS)} attacks in the corpus." in table
    families = {f"{family.__name__.rpartition('.')[2]}.py" for family in FAMILIES}
    assert families | {"ready_made.py"} <= named


def test_each_attack_has_a_name_of_its_own() -> None:
    """None is lost where families are put together."""
    assert len(CORPUS) == sum(len(family.ATTACKS) for family in FAMILIES)
