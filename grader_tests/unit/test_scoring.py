"""The rubric is the denominator: what is not known to be right earns nothing."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader.judging import scoring
from cs336_grader.records import CheckResult, ProblemResult, TrackResult, Verdict
from grader_tests.assignments import TINY

ASSIGNMENT = load_assignment(TINY)
EVERYTHING = tuple(ASSIGNMENT.checks)
AVERAGE = "moving_average"


def outcomes(passed: Iterable[str], other: Verdict = Verdict.FAILED) -> dict[str, CheckResult]:
    """A result for each check; those not named have another verdict."""
    passing = set(passed)
    return {
        check.id: CheckResult.of(check, Verdict.PASSED if name in passing else other)
        for name, check in ASSIGNMENT.checks.items()
    }


def checks(found: dict[str, CheckResult]) -> dict[str, CheckResult]:
    """The results of all checks by name."""
    results = scoring.check_results(ASSIGNMENT, ASSIGNMENT.rubric.problems, found, "absent")
    return {result.name: result for result in results}


def problem(name: str, found: dict[str, CheckResult]) -> ProblemResult:
    """The result of one problem."""
    results = scoring.check_results(ASSIGNMENT, [name], found, "absent")
    return scoring.problem_results(ASSIGNMENT, [name], results)[0]


def test_all_passed_is_full_marks() -> None:
    """Nothing is lost to rounding."""
    for name, points in ((AVERAGE, 4.0), ("count_words", 3.0), ("running_totals", 2.0)):
        result = problem(name, outcomes(EVERYTHING))
        assert (result.score, result.max_score, result.verdict) == (points, points, Verdict.PASSED)


def test_nothing_passed_is_zero() -> None:
    """No point is given away."""
    result = problem(AVERAGE, outcomes([]))
    assert (result.score, result.verdict) == (0.0, Verdict.FAILED)


SCORES = {
    # 80 % for the core in two parts, 20 % for the edge as far as the core was earned.
    ("test_moving_average", "test_moving_average_of_a_constant"): 3.2,
    ("test_moving_average",): 1.6,
    ("test_moving_average", "test_moving_average_of_too_few"): 2.0,
    ("test_moving_average_of_too_few",): 0.0,
    ("test_moving_average_keeps_its_argument",): 0.0,
}


@pytest.mark.parametrize("passed", SCORES)
def test_parts_and_edge(passed: tuple[str, ...]) -> None:
    """Parts of the core count alike; the edge counts only as far as the core was earned."""
    assert problem(AVERAGE, outcomes(passed)).score == pytest.approx(SCORES[passed])


def test_each_edge_check_is_an_equal_piece() -> None:
    """One of two edge checks is worth half of the edge's share."""
    found = outcomes(["test_count_words", "test_count_words_of_nothing"])
    assert problem("count_words", found).score == pytest.approx(2.7)


def test_advice_changes_no_verdict() -> None:
    """A problem passes without its advice."""
    found = outcomes(set(EVERYTHING) - {"test_moving_average_keeps_its_argument"})
    result = problem(AVERAGE, found)
    assert (result.score, result.verdict) == (4.0, Verdict.PASSED)


def test_not_judged_is_neither_zero_nor_full() -> None:
    """A check that counts and has no verdict leaves its problem without one."""
    found = outcomes(set(EVERYTHING) - {"test_moving_average_of_too_few"}, Verdict.NOT_JUDGED)
    result = problem(AVERAGE, found)
    assert (result.score, result.verdict) == (3.2, Verdict.NOT_JUDGED)


def test_absent_outcomes_say_why() -> None:
    """A check nothing is known of is not judged, with the reason given."""
    result = checks({})["test_count_words"]
    assert (result.verdict, result.message) == (Verdict.NOT_JUDGED, "absent")


def test_outcomes_of_other_checks_count_nothing() -> None:
    """The suite cannot add to the denominator, nor to the score."""
    bonus = replace(ASSIGNMENT.checks["test_count_words"], name="test_bonus")
    found = outcomes([]) | {bonus.id: CheckResult.of(bonus, Verdict.PASSED)}
    assert set(checks(found)) == set(EVERYTHING)


def test_extra_points_come_on_top() -> None:
    """They are in the score, and in no maximum; each track has its own part of both."""
    problems = (
        ProblemResult("a", "A", 2.5, 4.0, Verdict.FAILED, track="numbers"),
        ProblemResult("b", "B", 2.0, 2.0, Verdict.PASSED, track="numbers", extra=True),
        ProblemResult("c", "C", 3.0, 3.0, Verdict.PASSED, track="words"),
    )
    assert (scoring.total_score(problems), scoring.total_maximum(problems)) == (7.5, 7.0)
    titles = {"numbers": "Numbers", "words": "Words", "graphs": "Graphs"}
    assert scoring.track_results(titles, problems) == (
        TrackResult("numbers", "Numbers", 4.5, 4.0),
        TrackResult("words", "Words", 3.0, 3.0),
    )
    assert scoring.track_results({}, problems) == ()


def test_the_total_is_exact() -> None:
    """Ten tenths are one."""
    assert scoring.total([0.1] * 10) == 1.0
