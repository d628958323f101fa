"""A name that the rest of a run contradicts is taken back."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cs336_checks.findings import Clarity, Finding
from cs336_checks.fingerprints import Fingerprint, FingerprintFile, Group
from cs336_checks.reconsidering import reconsidered
from cs336_checks.suite_folder import SuiteFolder
from grader_tests.assignments import ROOT

CASES = ("test_m.test_a", "test_m.test_b", "test_m.test_c")
PAIRED, TURNED = "rope/paired", "rope/turned"
BUILT = "multihead_self_attention/shifted"
FINDING = Finding(
    "test_a",
    "rope",
    "Rotates.",
    "Which?",
    "Your output is what you get with either of two known mistakes.",
    "All differ.\nHere.",
    (),
    "pytest",
    Clarity.NAMED,
    (PAIRED, TURNED),
    CASES[0],
    (PAIRED, TURNED),
)


@pytest.fixture
def suite(tmp_path: Path) -> SuiteFolder:
    """Two mistakes that fail the first case, of which one fails two more."""
    folder = tmp_path / "tests" / "_fingerprints"
    folder.mkdir(parents=True)
    places = np.array([0], dtype=np.int32)
    alike = Fingerprint("float32", "floating-point", (1,), places, np.zeros(0))
    rows = np.array([[1.0], [2.0]])
    groups = {
        (CASES[0], 0): [Group(alike, (PAIRED, TURNED), rows)],
        (CASES[1], 0): [Group(alike, (TURNED,), rows[1:])],
        (CASES[2], 0): [Group(alike, (TURNED,), rows[1:])],
    }
    FingerprintFile(dict.fromkeys(CASES, "rope"), groups).write(folder / "test_m.npz")
    told = [
        {
            "id": name,
            "problem": name.partition("/")[0],
            "wrong": f"{name} is made",
            "hint": "Which?",
        }
        for name in (PAIRED, TURNED, BUILT)
    ]
    (folder / "mistakes.json").write_text(json.dumps(told), encoding="utf-8")
    rubric = (ROOT / "tests" / "rubric.toml").read_text(encoding="utf-8")
    (folder.parent / "rubric.toml").write_text(rubric, encoding="utf-8")
    return SuiteFolder(folder.parent)


def test_what_passed_excludes_a_mistake(suite: SuiteFolder) -> None:
    """The other one is told alone then, with its question."""
    (told,) = reconsidered([FINDING], CASES[1:2], suite)
    assert told.mistakes == (PAIRED,)
    assert told.message == "Your output is what you get when rope/paired is made."


def test_what_nothing_contradicts_stays(suite: SuiteFolder) -> None:
    """Word for word."""
    assert reconsidered([FINDING], (), suite) == [FINDING]


def test_more_cases_that_it_does_not_explain_exclude_a_mistake(suite: SuiteFolder) -> None:
    """It would have failed them in another way; a case that cannot tell counts for nothing."""
    others = [
        replace(FINDING, check=case, case=case, mistakes=(), candidates=()) for case in CASES[1:]
    ]
    assert reconsidered([FINDING, *others], (), suite)[0].mistakes == (PAIRED,)
    silent = [replace(other, candidates=None) for other in others]
    assert reconsidered([FINDING, *silent], (), suite)[0] == FINDING


def test_cases_of_its_own_problem_count_by_themselves(suite: SuiteFolder) -> None:
    """What a mistake would give there is not seen, so it is not named elsewhere either."""
    elsewhere = replace(FINDING, problem="transformer_block", mistakes=(TURNED,))
    own = replace(FINDING, check=CASES[1], case=CASES[1], mistakes=(), candidates=())
    told, *_ = reconsidered([elsewhere, elsewhere, own], (), suite)
    assert told.mistakes == ()


def test_a_wrong_part_is_to_blame_first(suite: SuiteFolder) -> None:
    """Where a part fails, no mistake of what is built on it is named, and those of parts are."""
    part = replace(FINDING, problem="rope", mistakes=(), candidates=None)
    attention = replace(FINDING, problem="multihead_self_attention", mistakes=(BUILT,))
    assert reconsidered([attention], (), suite) == [attention]
    told, _ = reconsidered([attention, part], (), suite)
    assert (told.mistakes, told.message) == ((), "All differ.")
    given = replace(attention, mistakes=(PAIRED,))
    assert reconsidered([given, part], (), suite)[0] == given


def test_what_is_left_of_several_below_a_wrong_part_needs_a_proof(suite: SuiteFolder) -> None:
    """Checks of its own problem must show it: the one that was ruled out may be the cause."""
    part = replace(FINDING, problem="rope", mistakes=(), candidates=None)
    either = replace(FINDING, problem="multihead_self_attention", mistakes=(BUILT, PAIRED))
    assert reconsidered([either, part], (), suite)[0].mistakes == ()
    shown = replace(part, candidates=(PAIRED,))
    assert reconsidered([either, shown], (), suite)[0].mistakes == (PAIRED,)
