"""A mistake is paid for once: what is right but for it earns a share where it shows again."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cs336_checks.rubric import Assignment, RubricError, load_assignment, read_rubric
from cs336_grader.judging import scoring
from cs336_grader.records import CheckResult, Consequence, Finding, ProblemResult, Verdict
from grader_tests.assignments import TINY

ASSIGNMENT = load_assignment(TINY)
MISTAKE = "moving_average/window_off_by_one"
OTHER = "moving_average/window_of_two"
AVERAGE = "test_moving_average"
TOTALS = ("test_running_totals",)
SHARE = 0.5


def built(*, carry_forward: bool = True) -> Assignment:
    """The tiny assignment with its last problem built on its first."""
    rubric = ASSIGNMENT.rubric
    problems = dict(rubric.problems)
    problems["running_totals"] = problems["running_totals"].model_copy(
        update={"built_on": {"moving_average": SHARE}}
    )
    scores = rubric.scoring.model_copy(update={"carry_forward": carry_forward})
    changed = rubric.model_copy(update={"problems": problems, "scoring": scores})
    return replace(ASSIGNMENT, rubric=changed)


def graded(
    mistakes: Mapping[str, tuple[str, ...]],
    findings: tuple[Finding, ...] = (),
    *,
    carry_forward: bool = True,
) -> ProblemResult:
    """The last problem's result where these checks fail, each explained by these mistakes."""
    assignment = built(carry_forward=carry_forward)
    problems = tuple(assignment.rubric.problems)
    outcomes = {
        check.id: CheckResult.of(check, Verdict.FAILED, mistakes=mistakes[name])
        if name in mistakes
        else CheckResult.of(check, Verdict.PASSED)
        for name, check in assignment.checks.items()
    }
    checks = scoring.check_results(assignment, problems, outcomes, "absent")
    results = scoring.problem_results(assignment, problems, checks, findings)
    return next(result for result in results if result.id == "running_totals")


def test_a_mistake_paid_for_elsewhere_costs_a_part() -> None:
    """The share that the rubric says is earned all the same, and the report can tell from where."""
    result = graded({AVERAGE: (MISTAKE,)} | dict.fromkeys(TOTALS, (MISTAKE, OTHER)))
    assert (result.score, result.carried) == (2.0 * SHARE, 2.0 * SHARE)
    assert result.carried_from == ("moving_average",)
    assert result.verdict is Verdict.FAILED


NOT_EXCUSED = {
    "the mistake costs nothing elsewhere": dict.fromkeys(TOTALS, (MISTAKE,)),
    "another mistake was paid for": {AVERAGE: (OTHER,)} | dict.fromkeys(TOTALS, (MISTAKE,)),
    "nothing explains it": {AVERAGE: (MISTAKE,)} | dict.fromkeys(TOTALS, ()),
    "its own mistake": {AVERAGE: (MISTAKE,)} | dict.fromkeys(TOTALS, ("running_totals/starts",)),
}


@pytest.mark.parametrize("mistakes", NOT_EXCUSED.values(), ids=NOT_EXCUSED)
def test_nothing_else_is_excused(mistakes: Mapping[str, tuple[str, ...]]) -> None:
    """Only what is known to be right but for a mistake that another problem has paid for."""
    result = graded(mistakes)
    assert (result.score, result.carried, result.carried_from) == (0.0, 0.0, ())


def test_it_can_be_switched_off() -> None:
    """The rubric decides."""
    mistakes = {AVERAGE: (MISTAKE,)} | dict.fromkeys(TOTALS, (MISTAKE,))
    assert graded(mistakes, carry_forward=False).score == 0.0


@pytest.mark.parametrize("problem", ["moving_average", "running_totals"])
def test_what_the_rules_forbid_carries_nothing(problem: str) -> None:
    """Neither from a problem whose points were taken, nor to one."""
    finding = Finding(problem, "a.py", 1, "x", Consequence.COSTS_POINTS, "It is ready-made.")
    mistakes = {AVERAGE: (MISTAKE,)} | dict.fromkeys(TOTALS, (MISTAKE,))
    assert graded(mistakes, (finding,)).score == 0.0


def uncarried(mistake: str, *, carry_forward: bool = True) -> str:
    """What is said where the last problem alone is graded and all of it fails for a mistake."""
    assignment = built(carry_forward=carry_forward)
    outcomes = {
        check.id: CheckResult.of(check, Verdict.FAILED, mistakes=(mistake,))
        for check in map(assignment.checks.__getitem__, TOTALS)
    }
    checks = scoring.check_results(assignment, ("running_totals",), outcomes, "absent")
    return scoring.left_uncarried(assignment, checks)


def test_what_is_not_graded_carries_nothing_and_that_is_said() -> None:
    """Its own message calls the problem right, and its score is 0 all the same."""
    assert uncarried(MISTAKE) == (
        "No points are carried from moving_average, which this run does not grade. "
        "To have them carried, add --only moving_average."
    )


def test_where_nothing_could_be_carried_nothing_is_said() -> None:
    """The mistake is its own, or the rubric carries nothing."""
    assert uncarried("running_totals/starts") == ""
    assert uncarried(MISTAKE, carry_forward=False) == ""


def test_a_wrong_dependency_is_named(tmp_path: Path) -> None:
    """A problem cannot be built on itself or on what is not there."""
    text = (TINY / "tests" / "rubric.toml").read_text(encoding="utf-8")
    for other in ("running_totals", "runing_total"):
        path = tmp_path / "rubric.toml"
        path.write_text(f"{text}\nbuilt_on = {{ {other} = 0.5 }}\n", encoding="utf-8")
        with pytest.raises(RubricError, match=f"built_on: {other} is no other problem"):
            read_rubric(path)
