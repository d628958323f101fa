"""What a judge tells is kept as it can be shown, whatever the submission wrote into it."""

import math

import pytest

from cs336_grader.grading import Journal
from cs336_grader.grading.journal import MAX_FORBIDDEN_CALLS, MAX_MESSAGE
from cs336_grader.judging.verdict import CaseResult, check_result
from cs336_grader.records import CheckResult, ForbiddenCall, Verdict
from grader_tests.judged import CHECKS

CHECK = CHECKS["test_count_words"]


def noted(result: CheckResult) -> CheckResult:
    """A result as it is kept."""
    journal = Journal()
    journal.note(result)
    return journal.results[CHECK.id]


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1.0])
def test_durations_are_finite(seconds: float) -> None:
    """No number in the report is strange."""
    assert (
        noted(CheckResult.of(CHECK, Verdict.PASSED, duration_seconds=seconds)).duration_seconds
        == 0.0
    )


def test_messages_are_plain_and_capped() -> None:
    """What a student wrote is cleaned and cut."""
    message = noted(CheckResult.of(CHECK, Verdict.FAILED, f"\n\x1b[31m{'x' * 10_000}")).message
    assert message.startswith("xxx")
    assert message.endswith("…")
    assert len(message) <= MAX_MESSAGE


def test_the_requirement_is_not_said_twice() -> None:
    """Not before a message that begins with it."""
    case = CaseResult(CHECK.name, Verdict.FAILED, f"{CHECK.requirement}\nNo.")
    assert noted(check_result(CHECK, [case], 0.1)).message == "No."


def test_of_very_many_forbidden_calls_a_part_is_kept() -> None:
    """A submission cannot fill the memory of the launcher."""
    journal = Journal()
    for line in range(2 * MAX_FORBIDDEN_CALLS):
        journal.note(ForbiddenCall(CHECK.name, "a.py", line + 1, "torch.softmax"))
    assert len(journal.forbidden_calls) == MAX_FORBIDDEN_CALLS
