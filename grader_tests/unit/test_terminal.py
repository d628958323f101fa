"""The wording and the shape of the terminal report, compared with files in golden/.

After a wanted change: UPDATE_GOLDEN=1 pytest grader_tests/unit/test_terminal.py, and read the
difference before you commit it.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cs336_grader.judging import scoring
from cs336_grader.records import Isolation, Outcome, Report, SubmissionRecord, Verdict
from cs336_grader.reports import terminal
from cs336_grader.rubric import load_assignment
from grader_tests.unit.test_rubric import TINY

GOLDEN = Path(__file__).parent / "golden"
SURROUNDINGS = terminal.Surroundings(
    width=80,
    ascii_only=False,
    repeat="cs336 grade half_right --seed 7",
    saved="report/report.json",
)
NUMBERS = (
    "1,024 of 1,536 elements (66.7 %) differ, largest error 3.11 where 2e-05 is allowed; mean "
    "error 0.4.\nFirst places that differ:\n  [0, 2, 5]: yours 3.1, expected 0.2"
)
HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J[bold red]markup[/bold red] :smile: \u202egpj.exe\n"
    + "word " * 300
    + "x" * 300
)


def report(
    messages: Mapping[str, str] | None = None,
    verdict: Verdict = Verdict.FAILED,
    notes: tuple[str, ...] = (),
) -> Report:
    """A report in which the checks with a message have this verdict, and all others passed."""
    assignment = load_assignment(TINY)
    said = messages or {}
    outcomes = {
        name: Outcome(name, verdict if name in said else Verdict.PASSED, said.get(name, ""), 0.1)
        for name in assignment.checks
    }
    problems = tuple(assignment.rubric.problems)
    checks = scoring.check_results(assignment, problems, outcomes, "")
    results = scoring.problem_results(assignment, problems, checks)
    return Report(
        schema_version=1,
        submission=SubmissionRecord("half_right", "0123456789abcdef" * 4),
        seed=7,
        isolation=Isolation("process"),
        score=scoring.total(result.score for result in results),
        max_score=scoring.total(result.max_score for result in results),
        problems=results,
        checks=checks,
        notes=notes,
        duration_seconds=12.34,
    )


EVERY_CHECK = tuple(load_assignment(TINY).checks)
MIXED = {
    "test_moving_average_of_a_constant": "The average of equal values is not their value.",
    "test_moving_average_of_too_few": "The average of equal values is not their value.",
    "test_moving_average_keeps_its_argument": "The list was changed.",
    "test_count_words": NUMBERS,
    "test_count_words_in_any_case": "One word was taken for several.",
}
CASES: dict[str, Report] = {
    "all_passed": report(),
    "mixed": report(MIXED, notes=("Left out (links are not followed): a, b, c and 2 more.",)),
    "not_judged": report({"test_count_words": "It needs loguru."}, Verdict.NOT_JUDGED),
    "nothing_to_run": report(dict.fromkeys(EVERY_CHECK, "There is no adapters.py.")),
    "could_not_judge": report(dict.fromkeys(EVERY_CHECK, "No room left."), Verdict.NOT_JUDGED),
    "hostile": report({"test_count_words": HOSTILE}, notes=("note",) * 20),
}


def assert_golden(name: str, text: str) -> None:
    """Compare with a file in golden/."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_report(name: str) -> None:
    """The report reads as it did when somebody last looked at it."""
    assert_golden(name, terminal.render(CASES[name], SURROUNDINGS).plain)


@pytest.mark.parametrize("width", [50, 120])
def test_width(width: int) -> None:
    """Lines are cut to the width, but for commands, which can be copied."""
    text = terminal.render(CASES["mixed"], replace(SURROUNDINGS, width=width)).plain
    assert_golden(f"mixed_{width}", text)
    long = [line for line in text.split("\n") if len(line) > width]
    assert all("uv run pytest" in line for line in long)


def test_ascii() -> None:
    """Where marks cannot be shown, letters stand for them."""
    text = terminal.render(CASES["mixed"], replace(SURROUNDINGS, ascii_only=True)).plain
    assert text.isascii()
    assert_golden("mixed_ascii", text)


def test_no_trailing_blanks_and_no_control_characters() -> None:
    """The text can be pasted anywhere."""
    for found in CASES.values():
        for line in terminal.render(found, SURROUNDINGS).plain.split("\n"):
            assert line == line.rstrip()
            assert not any(ord(character) < 32 for character in line)


def test_every_golden_file_is_used() -> None:
    """No file is left of a test that is gone."""
    used = {*CASES, "mixed_50", "mixed_120", "mixed_ascii"}
    assert {path.stem for path in GOLDEN.iterdir()} == used
