"""A failed comparison names the mistake that gives the same, and never guesses."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cs336_checks.catalogue import Mistake
from cs336_checks.comparison import Comparison, Explanation
from cs336_checks.diagnosis import Suspect, diagnose, matches, recognise
from cs336_checks.differences import Tolerance
from cs336_checks.fingerprints import (
    Fingerprint,
    FingerprintFile,
    FingerprintFolder,
    Group,
    fingerprint,
)
from cs336_checks.suite_folder import SuiteFolder
from grader_tests.assignments import ROOT

TOLERANCE = Tolerance(1e-4, 1e-4)
RIGHT = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
PAIRED = Mistake("rope/paired", "rope", "pairs are mixed up", "Which belong together?")
TURNED = Mistake("rope/turned", "rope", "the turn goes backwards", "Which way is it?")
SIGNED = Mistake("rope/signed", "rope", "a sign is wrong", "Look at signs.")
LATE = Mistake("rope/late", "rope", "positions count from 1", "Where do they begin?")
NORMED = Mistake("block/normed", "block", "the sum is normalized", "What enters?")


def title(problem: str) -> str:
    """A problem's title within a sentence."""
    return SuiteFolder(ROOT / "tests").title(problem)


def comparison(
    actual: object, expected: object = RIGHT, *, position: int = 0, same_dtype: bool = False
) -> Comparison:
    """A comparison of the check that the fingerprints are of."""
    right = (expected,)
    return Comparison("test_m.test_x", "output", actual, right, TOLERANCE, same_dtype, position)


def suspect(value: object, *mistakes: Mistake) -> Suspect:
    """Mistakes that give a value."""
    found = fingerprint(value)
    assert found is not None
    return Suspect(mistakes, found)


def told(found: Comparison, *suspects: Suspect, problem: str = "rope") -> str:
    """What is told."""
    diagnosis = diagnose(found, suspects, problem, title)
    return "" if diagnosis is None else text(diagnosis)


def text(found: Explanation) -> str:
    """All that an explanation says."""
    return "\n".join(filter(None, (found.statement, found.question, found.doubt)))


def test_the_mistake_is_named_and_asked_about() -> None:
    """The wording is what students read."""
    actual = -RIGHT + 2e-5
    suspects = (suspect(-RIGHT, PAIRED), suspect(2 * RIGHT, TURNED))
    assert told(comparison(actual), *suspects) == (
        "Your output is what you get when pairs are mixed up.\nWhich belong together?"
    )
    found = diagnose(comparison(actual), suspects, "rope", title)
    assert found is not None
    assert found.mistakes == ("rope/paired",)


def test_mistakes_that_give_the_same_are_told_together() -> None:
    """Up to three of them; of more, nothing is said."""
    same = [suspect(-RIGHT, mistake) for mistake in (PAIRED, TURNED, SIGNED, LATE)]
    assert told(comparison(-RIGHT), *same[:2]) == (
        "Your output is what you get with either of two known mistakes, which give the same here:\n"
        "- pairs are mixed up\n"
        "- the turn goes backwards"
    )
    assert "any of three known mistakes" in told(comparison(-RIGHT), *same[:3])
    assert told(comparison(-RIGHT), *same) == ""


def test_mistakes_of_two_problems_in_the_same_words_are_told_once() -> None:
    """With the question of the problem's own."""
    own = replace(PAIRED, id="block/paired", problem="block", hint="Which does the block pair?")
    same = [suspect(-RIGHT, mistake) for mistake in (PAIRED, own)]
    found = diagnose(comparison(-RIGHT), same, "block", title)
    assert found.statement == "Your output is what you get when pairs are mixed up."
    assert found.question == own.hint
    assert set(found.mistakes) == {PAIRED.id, own.id}


def test_a_mistake_that_wrong_parts_resemble_is_told_with_them() -> None:
    """Where they are too many to tell one by one."""
    same = [suspect(-RIGHT, mistake) for mistake in (PAIRED, TURNED, SIGNED, NORMED)]
    words = told(comparison(-RIGHT), *same, problem="block")
    assert words.startswith("Your output is what you get when the sum is normalized.")
    part = "your rotary position embedding"
    assert words.endswith(f"A mistake in {part} would give the same: do their checks pass?")


def test_a_wrong_part_is_named_with_what_is_right() -> None:
    """What is built on it is right."""
    words = told(comparison(-RIGHT), suspect(-RIGHT, PAIRED), problem="transformer_lm")
    assert words.startswith(
        "Your transformer language model is right, given your rotary position embedding: its output"
        " is what you get when pairs are mixed up."
    )


def test_a_mistake_beside_a_wrong_part_is_named_alone() -> None:
    """The part is only mentioned, and only the other is accused."""
    found = diagnose(comparison(-RIGHT), [suspect(-RIGHT, NORMED, PAIRED)], "block", title)
    assert found is not None
    assert text(found).startswith(
        "Given your rotary position embedding, your output is what you get when the sum is"
        " normalized.\nWhat enters?"
    )
    assert found.mistakes == ("block/normed",)


def test_what_changes_nothing_is_not_mentioned() -> None:
    """Where a mistake explains an output by itself, others beside it are needless."""
    alone, both = suspect(-RIGHT, NORMED), suspect(-RIGHT, NORMED, PAIRED)
    assert [match.suspect for match in matches(comparison(-RIGHT), [both, alone])] == [alone]
    words = told(comparison(-RIGHT), alone, both, problem="block")
    assert words.startswith("Your output is what you get when the sum is normalized.")


def test_what_is_right_is_never_accused() -> None:
    """Not even where a mistake's value is hardly another."""
    barely = RIGHT + 1.5e-4
    assert told(comparison(RIGHT.double(), same_dtype=True), suspect(RIGHT, PAIRED)) == ""
    assert told(comparison(RIGHT + 1e-6), suspect(barely, PAIRED)) == ""


def test_another_dtype_alone_is_a_mistake_where_the_dtype_is_asked_for() -> None:
    """The numbers are right then."""
    wide = comparison(RIGHT.double(), same_dtype=True)
    assert "pairs" in told(wide, suspect(RIGHT.double(), PAIRED), suspect(-RIGHT, TURNED))


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (torch.zeros(3, 4), RIGHT),
        (torch.ones(3, 4), RIGHT),
        (torch.full((3, 4), torch.nan), RIGHT),
        (torch.tensor([True, False, True]), torch.tensor([False, True, True])),
        (torch.tensor([1, 0, 2]), torch.tensor([0, 1, 2])),
        (torch.tensor(True), torch.tensor(False)),
        (0, 1),
        ([], [3, 4, 5]),
        ([0], [7]),
    ],
)
def test_what_any_mistake_may_give_accuses_none(actual: object, expected: object) -> None:
    """Zeros, NaN and a few truth values come of everything."""
    assert told(comparison(actual, expected), suspect(actual, PAIRED)) == ""


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(1, 2**32 - 1), shape=st.lists(st.integers(1, 4), max_size=3))
def test_an_unrelated_output_accuses_none(seed: int, shape: list[int]) -> None:
    """Whatever the mistakes give."""
    generator = torch.Generator().manual_seed(seed)
    values = [torch.randn(shape, generator=generator) for _ in range(5)]
    suspects = [suspect(value, PAIRED) for value in values[2:]]
    assert told(comparison(values[0], values[1]), *suspects) == ""


def test_a_scalar_accuses_only_where_it_agrees_well() -> None:
    """Within the tolerance, many a wrong loss comes near."""
    right, wrong = torch.tensor(2.0417), torch.tensor(2.0613)
    assert "pairs" in told(comparison(wrong, right), suspect(wrong, PAIRED))
    assert told(comparison(wrong + 1e-4, right), suspect(wrong, PAIRED)) == ""


def test_lists_are_compared_item_by_item() -> None:
    """Tuples and lists are one."""
    right, wrong = [(b"a", b"b"), (b"c", b"d")], [[b"c", b"d"], [b"x", b"y"]]
    words = told(comparison([(b"c", b"d"), (b"x", b"y")], right), suspect(wrong, PAIRED))
    assert words.startswith("Your output is what you get when pairs are mixed up.")


def saved(folder: Path, *values: Tensor) -> FingerprintFolder:
    """Fingerprints of the first comparison of a check, and of the second for the last value."""
    places = np.array([0, 3, 5, 7, 11], dtype=np.int32)

    def group(mistake: int, value: Tensor) -> Group:
        alike = Fingerprint("float32", "floating-point", (3, 4), places, np.zeros(0))
        rows = value.reshape(1, -1).numpy()[:, places]
        return Group(alike, (f"rope/{mistake}",), rows)

    groups = [group(i, value) for i, value in enumerate(values)]
    last = len(values) - 1
    file = FingerprintFile(
        {"test_m.test_x": "rope"},
        {("test_m.test_x", 0): groups, ("test_m.test_x", 1): [group(last, values[last])]},
    )
    file.write(folder / "test_m.npz")
    entries = [
        {"id": f"rope/{i}", "problem": "rope", "wrong": f"it is {i}", "hint": "Why?"}
        for i in range(len(values))
    ]
    (folder / "mistakes.json").write_text(json.dumps(entries), encoding="utf-8")
    return FingerprintFolder(folder)


def test_fingerprints_name_a_mistake(tmp_path: Path) -> None:
    """A few elements of each are enough."""
    prints = saved(tmp_path, -RIGHT, 2 * RIGHT)
    found = recognise(comparison(2 * RIGHT), prints, title)
    assert found is not None
    assert "when it is 1.\nWhy?" in text(found)
    assert found.mistakes == ("rope/1",)
    assert not recognise(comparison(3 * RIGHT), prints, title).statement


def test_a_mistake_that_would_have_failed_before_is_not_meant(tmp_path: Path) -> None:
    """What the submission passed clears it of what fails there."""
    prints = saved(tmp_path, -RIGHT, 2 * RIGHT)
    assert not recognise(comparison(2 * RIGHT, position=1), prints, title).statement


def test_without_fingerprints_nothing_is_said(tmp_path: Path) -> None:
    """A suite may have none."""
    assert not recognise(comparison(-RIGHT), FingerprintFolder(tmp_path), title).statement
