"""The assignment's checks earn nobody points for work that was not done."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cs336_grader.judging import scoring
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.records import CheckResult, Verdict
from grader_tests.assignments import ASSIGNMENT, suite_of
from grader_tests.judged import judged

SUITE = suite_of(ASSIGNMENT.checks.values(), seed=7)
# What the reference returns, recorded once.
EXPECTED = RecordedValues()


def results_of(function: Callable[..., Any]) -> dict[str, CheckResult]:
    """The result of every check, by its id, on adapters that all do the same."""
    alike = SimpleNamespace(**dict.fromkeys(ASSIGNMENT.adapter_names, function))
    results = judged(SUITE, LocalAdapters(lambda: alike), EXPECTED)
    return {result.id: result for result in results}


def stub(*_args: object, **_options: object) -> None:
    """What a student starts from."""
    raise NotImplementedError


def test_no_check_passes_on_stubs() -> None:
    """Not one, advice included; and none of them is left unjudged."""
    found = results_of(stub)
    assert found.keys() == {check.id for check in ASSIGNMENT.checks.values()}
    assert {name for name, o in found.items() if o.verdict is not Verdict.FAILED} == set()


@pytest.mark.parametrize("returned", [None, 0.0, [], ""], ids=repr)
def test_returning_nothing_of_use_earns_nothing(returned: object) -> None:
    """A check may hold on such a value, as where nothing is to change; no point depends on it."""
    problems = tuple(ASSIGNMENT.rubric.problems)
    outcomes = results_of(lambda *_args, **_options: returned)
    checks = scoring.check_results(ASSIGNMENT, problems, outcomes, absent="absent")
    results = scoring.problem_results(ASSIGNMENT, problems, checks)
    assert {result.id: result.score for result in results if result.score} == {}
