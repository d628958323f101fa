"""The report as one HTML page that stands alone: no script, no font, no image from elsewhere.

Its policy lets a browser load nothing and apply only the style that the page carries. Everything
that is put into it is escaped, and first made plain: see ``plain_text``.
"""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cs336_grader.records import CheckResult, Finding, ProblemResult, Report, Tier, Verdict

from . import drawing, summary
from .plain_text import plain

MAX_TEXT = 10_000
# Of the groups of checks that failed in one problem, this many are open from the start.
MOST_OPEN = 3
MARKS = {"passed": "✓", "partly": "~", "failed": "✗", "not judged": "?"}


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


def render(report: Report) -> str:
    """The page."""
    style = resources.files(__package__).joinpath("templates", "report.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    reason = summary.common_reason(report)
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            report=report,
            style=Markup(style),  # noqa: S704 (a file of this package, and no part of a report)
            style_digest=digest,
            reason=reason,
            sections=[] if reason else list(sections(report)),
            advice=[] if reason else list(advice(report)),
        )
    )


@cache
def environment() -> Environment:
    """Where the page's template finds what it needs."""
    found = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=made_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals.update(
        summary=summary, drawing=drawing, marks=MARKS, verdicts=Verdict, tiers=Tier
    )
    return found


def made_plain(value: object) -> object:
    """What an expression of the template gives, if it is text without the characters that hide."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value, MAX_TEXT)
    return value


def sections(report: Report) -> Iterator[Section]:
    """Each problem that was not fully earned.

    Corners are told from the start only where nothing else is: they mostly fail for one reason.
    """
    for problem in report.problems:
        checks = summary.open_checks(report, problem)
        findings = summary.costly(report, problem)
        if not checks and not findings:
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


def advice(report: Report) -> Iterator[tuple[ProblemResult, list[summary.Group]]]:
    """What could be better in each problem."""
    for problem in report.problems:
        groups = list(summary.grouped(summary.advice(report, problem)))
        if groups:
            yield problem, groups
