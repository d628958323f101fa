"""The report as one HTML page that stands alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cs336_checks.rubric import Tier
from cs336_grader.records import CheckResult, Finding, ProblemResult, Report, Verdict

from . import drawing, summary
from .html_page import page, stylesheet

# Of the groups of checks that failed in one problem, this many are open from the start.
MOST_OPEN = 3
STYLE = stylesheet(__package__, "report.css")


@dataclass(frozen=True, slots=True)
class Section:
    """A problem as the page shows it.

    Attributes:
        unfinished: which adapters nobody has written yet.
        open_groups: what failed, told from the start.
        folded_groups: what failed, told when it is asked for.
        passed: the checks that passed.
    """

    problem: ProblemResult
    findings: list[Finding]
    unfinished: str
    open_groups: list[summary.Group]
    folded_groups: list[summary.Group]
    passed: list[CheckResult]


def render(report: Report, decided: Sequence[str] = ()) -> str:
    """Return the page.

    Args:
        report: what was graded.
        decided: sentences about the grade that came of it, told first.
    """
    reason = summary.common_reason(report)
    return page(
        __package__,
        "report.html.jinja",
        STYLE,
        report=report,
        decided=decided,
        reason=reason,
        sections=[] if reason else list(sections(report)),
        advice=summary.advice(report),
        summary=summary,
        drawing=drawing,
        verdicts=Verdict,
        tiers=Tier,
    )


def sections(report: Report) -> Iterator[Section]:
    """Each problem that was begun and not fully earned.

    Corners are told from the start only where nothing else is: they mostly fail for one reason.
    """
    for problem in report.problems:
        checks = summary.open_checks(report, problem)
        findings = summary.costly(report, problem)
        begun = checks and not summary.unwritten(report, problem)
        if not begun and not findings:
            continue
        groups = list(summary.grouped(summary.written(checks)))
        told = [group for group in groups if group.checks[0].tier is groups[0].checks[0].tier]
        told = told[:MOST_OPEN]
        passed = [
            check
            for check in report.checks
            if check.problem == problem.id and check.verdict is Verdict.PASSED
        ]
        unfinished = summary.unfinished(checks)
        yield Section(problem, findings, unfinished, told, groups[len(told) :], passed)
