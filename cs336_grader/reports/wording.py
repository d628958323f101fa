"""What is told of a problem or a check as plain text, for formats that show text and no more."""

from collections.abc import Iterator
from functools import lru_cache

from cs336_checks.rubric import Tier
from cs336_grader.records import CheckResult, Finding, ProblemResult, Report, Verdict

from . import summary
from .plain_text import plain, plain_line

MAX_TEXT = 8_000
MARKS = {Verdict.PASSED: "✓", Verdict.FAILED: "✗", Verdict.NOT_JUDGED: "?"}


def problem_told(report: Report, problem: ProblemResult) -> str:
    """What was asked for and what was found instead, for each check of a problem that counts."""
    parts = [*map(finding_told, summary.costly(report, problem))]
    parts += filter(None, [summary.carried(report, problem)])
    checks = summary.open_checks(report, problem)
    if unfinished := summary.unfinished(checks):
        parts.append(f"{summary.MARKS['not written']} {unfinished}")
    parts += groups_told(tuple(summary.written(checks)))
    parts += filter(None, [summary.read_more(problem) if checks else ""])
    return plain("\n\n".join(parts), 4 * MAX_TEXT) or "Every check passed."


@lru_cache(maxsize=10_000)
def groups_told(checks: tuple[CheckResult, ...]) -> tuple[str, ...]:
    """Each group of checks of which the same is said: the requirements, then the facts."""
    return tuple("\n".join(group_lines(group)) for group in summary.grouped(checks))


def group_lines(group: summary.Group) -> Iterator[str]:
    """The lines about one group."""
    for check in group.checks:
        corner = " (edge)" if check.tier is Tier.EDGE else ""
        yield f"{MARKS[group.verdict]} {plain_line(check.requirement, MAX_TEXT)}{corner}"
    yield from (f"  {line}" for line in check_told(group.checks[0]).split("\n"))
    yield f"  Run it alone: {plain_line(summary.run_alone(group.checks[0]), MAX_TEXT)}"


def check_told(check: CheckResult) -> str:
    """Return what is told of one check: the question, what was found, numbers and places."""
    prefix = "Not judged: " if check.verdict is Verdict.NOT_JUDGED else ""
    told = filter(None, (check.question, prefix + check.message, check.details))
    return plain("\n".join(told), MAX_TEXT)


def finding_told(finding: Finding) -> str:
    """What the assignment's rules have to say about one place."""
    return plain_line(f"✗ {summary.place(finding)}: {finding.message}", MAX_TEXT)
