"""What an exception in a check means for the verdict, and how its facts are told."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from cs336_grader.records import Outcome, Picture, Verdict

from .expected import NoExpectedValueError

MAX_TEXT = 2000


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case of a check.

    Attributes:
        name: the test function with its parameters.
        message: the facts; empty where it passed.
        picture: of a comparison of numbers that failed.
    """

    name: str
    verdict: Verdict
    message: str
    picture: Picture | None = None


def case_result(name: str, error: BaseException) -> CaseResult:
    """The result of a case that ended with an exception."""
    if isinstance(error, pytest.skip.Exception):
        return CaseResult(name, Verdict.NOT_JUDGED, f"The check was skipped: {error}.")
    if (missing := getattr(error, "missing", None)) is not None:
        text = f"It needs {missing}, which the grading environment does not have."
        return CaseResult(name, Verdict.NOT_JUDGED, text)
    if isinstance(error, NoExpectedValueError | OSError | MemoryError):
        text = f"The check could not be carried out: {str(error) or type(error).__name__}."
        return CaseResult(name, Verdict.NOT_JUDGED, text)
    return CaseResult(name, Verdict.FAILED, facts(error), picture_of(error))


def facts(error: BaseException) -> str:
    """What an exception that is the submission's doing says."""
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


def outcome(check: str, cases: Sequence[CaseResult], seconds: float) -> Outcome:
    """The outcome of a check: it passed if all its cases did, and failed if one did."""
    failed = [case for case in cases if case.verdict is Verdict.FAILED]
    unjudged = [case for case in cases if case.verdict is Verdict.NOT_JUDGED]
    shown = next(iter(failed or unjudged), None)
    if shown is None:
        return Outcome(check, Verdict.PASSED, "", seconds)
    message = shown.message[:MAX_TEXT]
    parameters = shown.name.removeprefix(check)
    if parameters:
        count = f"{len(failed or unjudged)} of {len(cases)} cases"
        message = f"Case {parameters} ({count}): {message}"
    return Outcome(check, shown.verdict, message, seconds, shown.picture)
