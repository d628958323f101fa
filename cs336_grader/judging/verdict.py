"""Turns an exception in a check into a verdict, and tells its facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from cs336_checks.rubric import Check
from cs336_grader.records import CheckResult, Picture, Verdict

from .diagnosis import Explanation
from .expected import NoExpectedValueError

MAX_TEXT = 2000
ELSEWHERE = "With --worker-python it is graded by a Python that has what it needs."


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case of a check.

    Attributes:
        name: the test function with its parameters.
        message: the facts; empty where it passed.
        picture: of a comparison of numbers that failed.
        comparison: the suite's record of the comparison that failed, if it was one.
        asserted: whether the check itself found it wrong, and nothing was raised.
        observation: what the suite says of it where nothing explains it.
        mistakes: the ids of the known mistakes that each explain it.
        nothing_ran: whether there was nothing to call.
    """

    name: str
    verdict: Verdict
    message: str
    picture: Picture | None = None
    comparison: Any = None
    asserted: bool = False
    observation: str = ""
    mistakes: tuple[str, ...] = ()
    nothing_ran: bool = False

    def explained(self, explanation: Explanation | None) -> "CaseResult":
        """The same, with what explains it said first; nothing else of the comparison is kept."""
        first = self.observation if explanation is None else explanation.text
        return CaseResult(
            self.name,
            self.verdict,
            "\n".join(filter(None, (first, self.message))),
            self.picture,
            mistakes=() if explanation is None else explanation.mistakes,
            nothing_ran=self.nothing_ran,
        )

    def unexplained(self, reason: str) -> Explanation:
        """The explanation of a case for which known mistakes could not be tried."""
        sentence = f"Known mistakes could not be tried: {reason}."
        return Explanation("\n".join(filter(None, (self.observation, sentence))), ())


def case_result(name: str, error: BaseException) -> CaseResult:
    """The result of a case that ended with an exception."""
    if isinstance(error, pytest.skip.Exception):
        return CaseResult(name, Verdict.NOT_JUDGED, f"The check was skipped: {error}.")
    if (missing := getattr(error, "missing", None)) is not None:
        return CaseResult(name, Verdict.NOT_JUDGED, f"{missing.strip()} {ELSEWHERE}")
    if isinstance(error, NoExpectedValueError | OSError | MemoryError):
        text = f"The check could not be carried out: {str(error) or type(error).__name__}."
        return CaseResult(name, Verdict.NOT_JUDGED, text)
    return CaseResult(
        name,
        Verdict.FAILED,
        facts(error),
        picture_of(error),
        getattr(error, "comparison", None),
        isinstance(error, AssertionError),
        getattr(error, "observation", ""),
        nothing_ran=getattr(error, "nothing_ran", False),
    )


def facts(error: BaseException) -> str:
    """Tell an exception that is the submission's doing, after the suite's notes on it."""
    notes = getattr(error, "__notes__", ())
    return "\n".join([*map(str, notes), plain_facts(error)])


def plain_facts(error: BaseException) -> str:
    """Tell an exception by itself."""
    told = getattr(error, "facts", None)
    if isinstance(told, str):
        return told
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return str(error) or "The requirement is not met."
    # The check tripped over what came back, say None where it wanted a tensor.
    return f"The check cannot use what came back: {type(error).__name__}: {error}"


def picture_of(error: BaseException) -> Picture | None:
    """The picture that the suite attached to a failure, if it did."""
    grid = getattr(error, "picture", None)
    return Picture.drawn(grid) if isinstance(grid, dict) else None


def check_result(check: Check, cases: Sequence[CaseResult], seconds: float) -> CheckResult:
    """The result of a check: it passed if all its cases did, and failed if one did."""
    failed = [case for case in cases if case.verdict is Verdict.FAILED]
    unjudged = [case for case in cases if case.verdict is Verdict.NOT_JUDGED]
    ran = [case for case in failed if not case.nothing_ran]
    shown = next(iter(by_explanation(ran or failed) or unjudged), None)
    if shown is None:
        return CheckResult.of(check, Verdict.PASSED, duration_seconds=seconds)
    message = shown.message[:MAX_TEXT]
    # After a case that exceeds a limit, no other of its check is run.
    left_out = {0: "", 1: " and the last was not run"}.get(
        len(failed) - len(ran), " and the last ones were not run"
    )
    parameters = shown.name.removeprefix(check.name)
    if parameters and not shown.nothing_ran:
        count = f" ({len(ran or unjudged)} of {len(cases)} cases {shown.verdict}{left_out})"
        message = f"Case {parameters}{count if len(cases) > 1 else ''}: {message}"
    return CheckResult.of(
        check,
        shown.verdict,
        message.removeprefix(check.requirement),
        duration_seconds=seconds,
        picture=shown.picture,
        mistakes=tuple(m for m in shown.mistakes if all(m in case.mistakes for case in failed)),
        nothing_ran=all(case.nothing_ran for case in cases),
    )


def by_explanation(failed: Sequence[CaseResult]) -> list[CaseResult]:
    """Failed cases in the order in which they tell most of what is wrong.

    A mistake that explains less than half of them is hardly the one that was made: such cases come
    last. Those come first that the fewest mistakes explain.
    """

    def rank(case: CaseResult) -> tuple[bool, bool, int]:
        alike = sum(not set(case.mistakes).isdisjoint(other.mistakes) for other in failed)
        doubtful = bool(case.mistakes) and 2 * alike < len(failed)
        return doubtful, not case.mistakes, len(case.mistakes)

    return sorted(failed, key=rank)
