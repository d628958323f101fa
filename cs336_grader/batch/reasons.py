"""Why a submission has no grade, or none that says anything of it: in a sentence or two."""

from cs336_grader.records import Report, Verdict
from cs336_grader.reports import summary
from cs336_grader.reports.plain_text import plain_line

MAX_REASON = 500
NOTHING_RAN = "Nothing in it could be run, so it has 0 points. Is that the submission? "

NOTHING_WRITTEN = "No adapter in it is written yet, so it has 0 points. Is that the submission?"


def why_not_judged(report: Report) -> str:
    """Why a check that counts has no verdict, in one line; empty if all have."""
    reasons = dict.fromkeys(
        check.message
        for check in report.checks
        if check.verdict is Verdict.NOT_JUDGED and summary.lossy(report, check)
    )
    first = plain_line(next(iter(reasons), ""), MAX_REASON)
    others = len(reasons) - 1
    more = f" (and {others} other reason{'s' if others > 1 else ''})" if others > 0 else ""
    return f"{first}{more}"


def why_nothing_ran(report: Report) -> str:
    """Why no check could call anything of a submission, in one line; empty if one could.

    Stubs as they were handed out are nothing that could be called.
    """
    if report.problems and all(summary.unwritten(report, problem) for problem in report.problems):
        return NOTHING_WRITTEN
    if not summary.ran_nothing(report):
        return ""
    said = report.checks[0].message.removeprefix("Nothing could be run. ")
    return NOTHING_RAN + plain_line(said, MAX_REASON)
