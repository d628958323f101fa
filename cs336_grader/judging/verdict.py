"""Turns an exception in a check into a verdict, and tells its facts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from cs336_checks.comparison import Comparison, Explanation
from cs336_checks.rubric import Check, Lead
from cs336_grader.records import CheckResult, Picture, Verdict

from .expected import NoExpectedValueError

MAX_TEXT = 2000
ELSEWHERE = "With --worker-python it is graded by a Python that has what it needs."


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case of a check.

    Attributes:
        name: the test function with its parameters.
        message: what was found; empty where it passed.
        question: leads to the mistake without naming it.
        details: numbers and places, and what else could explain them.
        picture: of a comparison of numbers that failed.
        comparison: the comparison that failed, if it was one.
        asserted: whether the check itself found it wrong, and nothing was raised.
        explanation: what the check says of the difference.
        mistakes: the ids of the known mistakes that each explain it.
        nothing_ran: whether there was nothing to call.
    """

    name: str
    verdict: Verdict
    message: str
    question: str = ""
    details: str = ""
    picture: Picture | None = None
    comparison: Comparison | None = None
    asserted: bool = False
    explanation: Explanation | None = None
    mistakes: tuple[str, ...] = ()
    nothing_ran: bool = False

    def explained(self, diagnosis: Explanation | None, lead: Lead) -> "CaseResult":
        """Return the same with what explains it; nothing else of the comparison is kept."""
        found = diagnosis or self.explanation
        bare = replace(self, comparison=None, explanation=None)
        if found is None and self.comparison is None:
            return bare
        first, _, rest = self.message.partition("\n")
        if found is None:
            return replace(bare, message=first, details=rest)
        hidden = bool(found.mistakes) and lead is not Lead.NAME
        told = bool(found.statement) and not hidden
        details = self.message if told else rest
        return replace(
            bare,
            message=found.statement if told else first,
            question="" if lead is Lead.REQUIREMENT else found.question,
            details="\n".join(filter(None, (details, found.doubt))),
            mistakes=found.mistakes,
        )

    def unexplained(self, reason: str) -> Explanation:
        """Return the explanation of a case for which known mistakes could not be tried."""
        seen = self.explanation or Explanation("")
        return replace(seen, doubt=f"Known mistakes could not be tried: {reason}.")


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
        picture=picture_of(error),
        comparison=getattr(error, "comparison", None),
        asserted=isinstance(error, AssertionError),
        explanation=getattr(error, "explanation", None),
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
    said = f"{type(error).__name__}: {error}"
    return f"The check cannot use what came back. Are its type and shape right? {said}"


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
    details = shown.details
    # After a case that exceeds a limit, no other of its check is run.
    left_out = {0: "", 1: " and the last was not run"}.get(
        len(failed) - len(ran), " and the last ones were not run"
    )
    parameters = shown.name.removeprefix(check.name)
    if parameters and not shown.nothing_ran:
        count = f" ({len(ran or unjudged)} of {len(cases)} cases {shown.verdict}{left_out})"
        case = f"Case {parameters}{count if len(cases) > 1 else ''}."
        details = "\n".join(filter(None, (case, details)))
    return CheckResult.of(
        check,
        shown.verdict,
        shown.message[:MAX_TEXT].removeprefix(check.requirement),
        question=shown.question,
        details=details[:MAX_TEXT],
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
