"""How the cases of a check become one result."""

import pytest

from cs336_checks.comparison import Comparison, Explanation
from cs336_checks.differences import Tolerance
from cs336_checks.rubric import Check, Lead, Tier
from cs336_grader.judging.verdict import CaseResult, case_result, check_result
from cs336_grader.records import Verdict
from cs336_grader.running.faults import NoAdaptersError, SubmissionError

CHECK = Check("test_x", "x", Tier.CORE, "tests/test_x.py", "Is so.")


def failed(name: str, *mistakes: str) -> CaseResult:
    """A case that failed, and what explains it."""
    return CaseResult(f"test_x[{name}]", Verdict.FAILED, f"facts of {name}", mistakes=mistakes)


def unjudged(name: str) -> CaseResult:
    """A case that was not judged."""
    return CaseResult(f"test_x[{name}]", Verdict.NOT_JUDGED, "no room")


def test_the_most_telling_case_is_shown() -> None:
    """Of the cases that failed, the one that fewest mistakes explain; the first of equals."""
    cases = [failed("a"), failed("b", "one", "two"), failed("c", "one"), failed("d", "one")]
    result = check_result(CHECK, cases, 0.1)
    assert (result.message, result.details) == ("facts of c", "Case [c] (4 of 4 cases failed).")
    result = check_result(CHECK, cases[:1], 0.1)
    assert (result.message, result.details) == ("facts of a", "Case [a].")


def test_cases_that_were_not_judged_are_counted_as_such() -> None:
    """The number says what became of them."""
    cases = [CaseResult("test_x[a]", Verdict.PASSED, ""), unjudged("b")]
    result = check_result(CHECK, cases, 0.1)
    assert (result.message, result.details) == ("no room", "Case [b] (1 of 2 cases not judged).")


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "1 of 2 cases failed and the last was not run"),
        (3, "1 of 4 cases failed and the last on"),
    ],
)
def test_cases_that_were_not_run_did_not_fail(count: int, told: str) -> None:
    """They follow one that took too long."""
    skipped = [case_result(f"test_x[{n}]", NoAdaptersError("a limit")) for n in range(count)]
    details = check_result(CHECK, [failed("a"), *skipped], 0.1).details
    assert details.startswith(f"Case [a] ({told}")
    assert check_result(CHECK, skipped, 0.1).message == "There is nothing to check: a limit."


def test_an_explanation_of_few_cases_is_not_shown() -> None:
    """What explains less than half of the failed cases is doubtful."""
    others = [failed("b"), failed("c"), failed("d", "two")]
    assert "facts of b" in check_result(CHECK, [failed("a", "one"), *others], 0.1).message
    assert "facts of a" in check_result(CHECK, [failed("a", "one"), others[0]], 0.1).message


def test_only_what_explains_every_failed_case_is_a_mistake_of_the_check() -> None:
    """A mistake that one case rules out is not the check's."""
    both = [failed("a", "one", "two"), failed("b", "two", "three")]
    assert check_result(CHECK, both, 0.1).mistakes == ("two",)
    assert check_result(CHECK, [*both, failed("c")], 0.1).mistakes == ()


FOUND = Explanation("It is turned.", "Which way?", "It agrees.", ("x/turned",))


@pytest.mark.parametrize(
    ("lead", "question", "message"),
    [
        (Lead.NAME, "Which way?", "It is turned."),
        (Lead.QUESTION, "Which way?", "All differ."),
        (Lead.REQUIREMENT, "", "All differ."),
    ],
)
def test_students_are_led_as_far_as_the_author_wants(
    lead: Lead, question: str, message: str
) -> None:
    """The mistake's id is in the report all the same."""
    comparison = Comparison("test_x", "output", 1.0, (2.0,), Tolerance(0.1, 0.0))
    case = CaseResult("test_x", Verdict.FAILED, "All differ.\nHere.", comparison=comparison)
    told = case.explained(FOUND, lead)
    assert (told.question, told.message, told.mistakes) == (question, message, ("x/turned",))
    assert "Here." in told.details
    assert "It agrees." in told.details
    assert ("It is turned." in told.details) is False


@pytest.mark.parametrize(
    ("error", "nothing_ran"),
    [
        (SubmissionError("Importing", "ValueError", "x", (), None, nothing_ran=True), True),
        (NoAdaptersError("importing them took too long"), True),
        (SubmissionError("Your run_x", "ValueError", "x", (), None), False),
        (AssertionError("Importing your adapters raised nothing."), False),
    ],
)
def test_a_check_that_had_nothing_to_call_says_so(error: Exception, nothing_ran: bool) -> None:
    """Whatever the words are, and after an explanation too; only if no case could call anything."""
    case = case_result("test_x", error).explained(None, Lead.NAME)
    assert check_result(CHECK, [case, case], 0.1).nothing_ran == nothing_ran
    assert not check_result(CHECK, [case, failed("a")], 0.1).nothing_ran
