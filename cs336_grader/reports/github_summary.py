"""The report as the Markdown of a GitHub Actions step summary.

In a workflow: cat report/summary.md >> "$GITHUB_STEP_SUMMARY"

What a student may have written stands in code blocks whose fences are longer than any in it, and in
code spans, where no mention, link, image or HTML has a meaning. GitHub takes up to 1 MiB of it.
"""

import html
import re
import shlex
from collections.abc import Iterator

from cs336_checks.rubric import Tier
from cs336_grader.records import ProblemResult, Report

from . import summary
from .plain_text import plain, plain_line
from .wording import check_told

MAX_LINE = 300
MAX_BLOCK = 1_500
MOST_GROUPS = 60
MOST_LINES = 100
MARKS = {
    "passed": "✅",
    "partly": "🟡",
    "failed": "❌",
    "not written": "⬜",
    "not judged": "❔",
}
# What has a meaning within a line, emoji (:x:) and formulas ($x$) included.
MEANINGFUL = re.compile(r"([\\`*_\[\]<>|~&#!:$])")
# GitHub looks for mentions after it has rendered the Markdown: escaping alone does not help.
AT = "@\N{WORD JOINER}"
TICKS = re.compile("`+")


def render(report: Report) -> str:
    """The report as Markdown."""
    parts = [
        f"## {span(report.submission.name)}: {text(summary.total_line(report))}",
        *status(report),
        table(report),
        *details(report),
        *findings(report),
        *advice(report),
        *([bullets(list(report.notes), "About the submission")] if report.notes else []),
        provenance(report),
    ]
    return "\n\n".join(parts) + "\n"


def status(report: Report) -> Iterator[str]:
    """Why the score is no score, where it is none."""
    if not summary.is_complete(report):
        yield f"> **Not a grade**, {text(summary.incomplete_line(report))}."
    if reason := summary.common_reason(report):
        yield f"{text(summary.headline(report.checks[0].verdict))}\n\n{block(reason)}"


def table(report: Report) -> str:
    """One row a problem, below one for its track."""
    rows = ["| problem | points | |", "|---|--:|---|"]
    for track, problems in summary.by_track(report):
        if track is not None:
            earned = summary.track_points(track, problems)
            rows.append(f"| **{text(track.title)}** | {earned} | |")
        rows += [
            f"| {text(summary.title(problem))} | {summary.problem_points(problem)} "
            f"| {result(report, problem)} |"
            for problem in problems
        ]
    return "\n".join(rows)


def result(report: Report, problem: ProblemResult) -> str:
    """How a problem stands; all that there is to say of one that nobody has begun."""
    standing = summary.standing(report, problem)
    unfinished = summary.unfinished(summary.unwritten(report, problem))
    return f"{MARKS[standing]} {text(unfinished) or standing}"


def details(report: Report) -> Iterator[str]:
    """What failed in each problem, folded; nothing where one reason explains all."""
    if summary.common_reason(report):
        return
    left = MOST_GROUPS
    for problem in report.problems:
        if summary.unwritten(report, problem):
            continue
        checks = summary.open_checks(report, problem)
        groups = list(summary.grouped(summary.written(checks)))
        notes = filter(None, [summary.carried(report, problem), summary.unfinished(checks)])
        parts = [*map(text, notes), *map(group_told, groups[: max(0, left)])]
        left -= len(groups)
        if parts:
            yield folded(problem, [*parts, *filter(None, [text(summary.read_more(problem))])])
    if left < 0:
        yield f"{-left} more are in the report."


def folded(problem: ProblemResult, parts: list[str]) -> str:
    """What is told of a problem, below a line that opens it."""
    told = f"{summary.title(problem)}: {summary.problem_points(problem)}"
    title = html.escape(plain_line(told, MAX_LINE)).replace("@", AT)
    inside = "\n\n".join(parts)
    return f"<details>\n<summary>{title}</summary>\n\n{inside}\n\n</details>"


def group_told(group: summary.Group) -> str:
    """What checks asked for, and what was found."""
    asked = [
        f"- **{text(check.requirement)}**{' (edge)' if check.tier is Tier.EDGE else ''}"
        for check in group.checks
    ]
    told = block(check_told(group.checks[0]))
    command = span(summary.run_alone(group.checks[0]))
    return "\n".join(asked) + f"\n\n{told}\n\nRun it alone: {command}"


def findings(report: Report) -> Iterator[str]:
    """What the assignment's rules have to say."""
    if report.findings:
        lines = [
            f"- {span(summary.place(finding))} ({text(finding.consequence.value)}): "
            f"{span(finding.message)}"
            for finding in report.findings
        ]
        yield "\n".join(["### Rules of the assignment", "", *cut(lines)])


def advice(report: Report) -> Iterator[str]:
    """What could be better and costs nothing."""
    if lines := summary.advice_told(report):
        yield "\n".join(["### Advice, no points", "", *(f"- {text(line)}" for line in lines)])


def bullets(lines: list[str], title: str) -> str:
    """A list of texts below a title."""
    return "\n".join([f"### {title}", "", *cut([f"- {span(line)}" for line in lines])])


def provenance(report: Report) -> str:
    """What it takes to get the same report again."""
    digest = report.submission.sha256[:12]
    told = [
        f"Seed {report.seed}",
        *([span(shlex.join(report.options))] if report.options else []),
        *([f"sha256 {span(digest)}"] if digest else []),
        f"isolation {text(summary.isolation_line(report.isolation))}",
    ]
    return " · ".join(told)


def cut(lines: list[str]) -> list[str]:
    """As many lines as a page can bear."""
    left_out = len(lines) - MOST_LINES
    return lines if left_out <= 0 else [*lines[:MOST_LINES], f"- {left_out} more in the report"]


def text(content: str) -> str:
    r"""A text in which no character means anything, and that nobody is called by.

    >>> text("a *b* <c>")
    'a \\*b\\* \\<c\\>'
    """
    escaped = MEANINGFUL.sub(r"\\\1", plain_line(content, MAX_LINE))
    return escaped.replace("@", AT)


def span(content: str) -> str:
    """A text in one line, as it is."""
    content = plain_line(content, MAX_LINE) or "(empty)"
    ticks = fence(content, 1)
    # Between the text and a backtick of its own, Markdown wants a space.
    space = " " if "`" in content else ""
    return f"{ticks}{space}{content}{space}{ticks}"


def block(content: str) -> str:
    """A text of several lines, as it is."""
    content = plain(content, MAX_BLOCK)
    ticks = fence(content, 3)
    return f"{ticks}text\n{content}\n{ticks}"


def fence(content: str, least: int) -> str:
    """Backticks, more of them than the text has in a row."""
    longest = max((len(run) for run in TICKS.findall(content)), default=0)
    return "`" * max(least, longest + 1)
