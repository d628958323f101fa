"""The report as text for a terminal: an overview, what failed, advice, the total.

Lines are wrapped here, not by the terminal, so that the same report gives the same text.
"""

import re
import textwrap
from dataclasses import dataclass

from rich.text import Text

from cs336_checks.rubric import Tier
from cs336_grader.records import CheckResult, Consequence, ProblemResult, Report, Verdict

from . import summary
from .plain_text import plain, plain_line
from .summary import Group

# Of what is said about one check, this many lines are shown.
MAX_LINES = 12
MAX_TEXT = 10_000
MAX_WORD = 200
MAX_NOTES = 12
MAX_FINDINGS = 12
# Of the groups of checks that failed in one problem, this many are told in full.
MAX_TOLD = 3
# An index or another short list stays on one line.
SHORT_LIST = re.compile(r"\[[^\[\]]{1,40}\]")
NO_BREAK = "\N{NO-BREAK SPACE}"
MIN_WIDTH, MAX_WIDTH = 50, 110
NAME_WIDTH = 30
LABEL_WIDTH = 12

STYLES = {
    "passed": "green",
    "partly": "yellow",
    "failed": "red",
    "not written": "yellow",
    "not judged": "magenta",
}
ASCII_MARKS = {"passed": "+", "partly": "~", "failed": "x", "not written": "-", "not judged": "?"}
# What each mark says of a problem's points.
LEGEND = {
    "passed": "all",
    "partly": "some",
    "failed": "none",
    "not written": "not written yet",
    "not judged": "not judged",
}

FINDINGS = (
    (Consequence.COSTS_POINTS, "Not allowed (costs the problem's points)"),
    (Consequence.HUMAN_LOOK, "To be looked at by a person (costs nothing)"),
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the text says beside the report.

    Attributes:
        width: how many columns there are.
        ascii_only: whether marks must be ASCII.
        repeat: the command that gives the same report again.
        saved: the files that the report was written to.
        look_closer: the command that runs a check on this submission where it lies; empty where
            none does.
    """

    width: int
    ascii_only: bool
    repeat: str
    saved: tuple[str, ...]
    look_closer: str = ""


class Writer:
    """Puts a text together line by line."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.width = min(max(surroundings.width, MIN_WIDTH), MAX_WIDTH)
        self.marks = ASCII_MARKS if surroundings.ascii_only else summary.MARKS
        self.lines: list[Text] = []

    def line(self, text: str = "", style: str = "") -> None:
        """Add a line as it is."""
        self.lines.append(Text(plain(text, MAX_TEXT), style))

    def marked(self, standing: str, indent: int, text: str, style: str = "") -> None:
        """Add a paragraph that begins with a coloured mark."""
        mark = self.marks[standing]
        first, *rest = self.wrapped(text, indent + len(mark) + 1) or [""]
        line = Text(" " * indent)
        line.append(mark, STYLES[standing])
        self.lines.append(line.append(" " + first.lstrip(), style))
        self.lines += (Text(more, style) for more in rest)

    def paragraph(self, text: str, indent: int, most: int, style: str = "") -> None:
        """Add text of several lines, as many as are allowed."""
        lines = [line for part in text.split("\n") for line in self.wrapped(part, indent)]
        for line in lines[:most]:
            self.line(line, style)
        if len(lines) > most:
            left_out = len(lines) - most
            plural = "s" if left_out > 1 else ""
            self.line(f"{' ' * indent}({left_out} more line{plural} in the report)", "dim")

    def wrapped(self, text: str, indent: int) -> list[str]:
        """A line cut to the width; what continues it keeps its own indentation."""
        text = plain(text, MAX_TEXT)
        own = len(text) - len(text.lstrip(" "))
        pad = " " * min(indent + own, self.width // 2)
        unbroken = SHORT_LIST.sub(lambda found: found[0].replace(" ", NO_BREAK), text.strip())
        lines = textwrap.wrap(
            unbroken,
            self.width,
            initial_indent=pad,
            subsequent_indent=pad,
            # A path stays whole, so that it can be copied.
            break_long_words=max(map(len, unbroken.split()), default=0) > MAX_WORD,
            break_on_hyphens=False,
        )
        return [line.replace(NO_BREAK, " ") for line in lines]

    def text(self) -> Text:
        """All lines."""
        return Text("\n").join(self.lines)


def render(report: Report, surroundings: Surroundings) -> Text:
    """The report as text with styles."""
    writer = Writer(surroundings)
    write_overview(report, writer)
    reason = summary.common_reason(report)
    if reason:
        writer.line()
        standing = report.checks[0].verdict.value
        writer.marked(standing, 0, summary.headline(report.checks[0].verdict))
        writer.paragraph(reason, 2, MAX_LINES)
    elif report.findings or any(check.verdict is not Verdict.PASSED for check in report.checks):
        write_legend(report, writer)
        write_failures(report, writer)
        write_advice(report, writer)
    write_findings(report, writer)
    write_notes(report, writer)
    write_total(report, surroundings, writer)
    return writer.text()


def write_overview(report: Report, writer: Writer) -> None:
    """One line a problem: its points and its mark; above those of a track, the track's points."""
    for track, problems in summary.by_track(report):
        if track is not None:
            if writer.lines:
                writer.line()
            writer.line(
                columns(track.title, summary.track_points(track, problems)).rstrip(), "bold"
            )
        for problem in problems:
            line = problem_line(report, problem, writer)
            unwritten = summary.unwritten(report, problem)
            count = f" ({summary.unwritten_told(unwritten)})" if unwritten else ""
            writer.lines.append(line.append(count, "dim"))


def write_legend(report: Report, writer: Writer) -> None:
    """What the marks mean, and the words that need a meaning."""
    found = {summary.standing(report, problem) for problem in report.problems}
    marks = "   ".join(
        f"{writer.marks[standing]} {meaning}"
        for standing, meaning in LEGEND.items()
        if standing != "not written" or standing in found
    )
    writer.line()
    writer.line(f"points: {marks}", "dim")
    if any(
        check.tier is Tier.EDGE and check.verdict is not Verdict.PASSED
        for check in summary.written(report.checks)
    ):
        explanation = "edge: a corner of the problem, worth a small share of its points"
        writer.paragraph(explanation, 0, MAX_LINES, "dim")
    if any(problem.extra for problem in report.problems):
        explanation = "extra: a problem whose points come on top of the maximum"
        writer.paragraph(explanation, 0, MAX_LINES, "dim")


def problem_line(report: Report, problem: ProblemResult, writer: Writer) -> Text:
    """A problem's name, points and mark, in columns."""
    line = Text(columns(problem.id, summary.problem_points(problem)))
    standing = summary.standing(report, problem)
    line.append(writer.marks[standing], STYLES[standing])
    return line.append(" extra", "dim") if problem.extra else line


def columns(name: str, points: str) -> str:
    """A name with its points, in columns."""
    name = textwrap.shorten(plain_line(name, MAX_TEXT), NAME_WIDTH - 1, placeholder="...")
    earned, slash, whole = points.partition(" / ")
    return f"{name:<{NAME_WIDTH}}{earned:>5}{slash}{whole:<4} "


def write_failures(report: Report, writer: Writer) -> None:
    """Under each problem that was begun and not fully earned, what failed, core before edge."""
    for problem in report.problems:
        checks = summary.open_checks(report, problem)
        if checks and not summary.unwritten(report, problem):
            writer.line()
            writer.lines.append(problem_line(report, problem, writer))
            writer.paragraph(summary.carried(report, problem), 2, MAX_LINES)
            write_checks(checks, writer)
            writer.paragraph(summary.read_more(problem), 2, MAX_LINES)


def write_advice(report: Report, writer: Writer) -> None:
    """What is good practice and was not followed; it costs nothing."""
    if lines := summary.advice_told(report):
        writer.line()
        writer.line("Advice (no points)", "bold")
        for line in lines:
            writer.paragraph(line, 2, MAX_LINES)


def write_checks(checks: list[CheckResult], writer: Writer) -> None:
    """What failed in one problem: in one line what was never written, then the rest."""
    if unfinished := summary.unfinished(checks):
        writer.marked("not written", 2, unfinished)
    if rest := summary.written(checks):
        write_groups(list(summary.grouped(rest)), writer)


def write_groups(groups: list[Group], writer: Writer) -> None:
    """What failed in one problem: the first of it in full, then the requirements alone.

    Corners are told in full only where nothing else is: they mostly fail for the same reason.
    """
    told = [group for group in groups if group.checks[0].tier is groups[0].checks[0].tier]
    told = told[:MAX_TOLD]
    for group in told:
        write_requirements(group, writer, "bold")
        write_facts(group, writer)
    for group in groups[len(told) :]:
        write_requirements(group, writer)
    if len(groups) > len(told):
        writer.line("    (what was found here is in the report)", "dim")


def write_requirements(group: Group, writer: Writer, style: str = "") -> None:
    """What each check of a group asks for."""
    for check in group.checks:
        corner = " (edge)" if check.tier is Tier.EDGE else ""
        writer.marked(group.verdict.value, 2, check.requirement + corner, style)


def write_facts(group: Group, writer: Writer) -> None:
    """What was found, and how to run one of the checks alone."""
    prefix = "Not judged: " if group.verdict is Verdict.NOT_JUDGED else ""
    told = filter(None, (group.question, prefix + group.message, group.details))
    writer.paragraph("\n".join(told), 4, MAX_LINES)
    if mistakes := group.checks[0].mistakes:
        writer.paragraph(f"Known as {' or '.join(mistakes)}.", 4, MAX_LINES, "dim")
    alone = "Run it alone:" if len(group.checks) == 1 else "Run the first alone:"
    command = summary.run_alone(group.checks[0])
    fits = len(f"    {alone} {command}") <= writer.width
    for line in [f"{alone} {command}"] if fits else [alone, command]:
        writer.line(f"    {line}", "dim")


def write_findings(report: Report, writer: Writer) -> None:
    """What the assignment's rules have to say: first what costs points, then what to look at."""
    for consequence, title in FINDINGS:
        found = [one for one in report.findings if one.consequence is consequence]
        if not found:
            continue
        writer.line()
        writer.line(title, "bold")
        for finding in found[:MAX_FINDINGS]:
            place = f"{finding.problem} {summary.place(finding)}".strip()
            writer.paragraph(place, 2, MAX_LINES)
            writer.paragraph(finding.message, 4, MAX_LINES)
        if len(found) > MAX_FINDINGS:
            writer.line(f"  ({len(found) - MAX_FINDINGS} more in the report)", "dim")


def write_notes(report: Report, writer: Writer) -> None:
    """What was chosen, left out or refused of the submission."""
    if report.notes:
        writer.line()
        writer.line("About the submission", "bold")
        for note in report.notes[:MAX_NOTES]:
            writer.paragraph(note, 2, MAX_LINES)
        if len(report.notes) > MAX_NOTES:
            writer.line(f"  ({len(report.notes) - MAX_NOTES} more notes in the report)", "dim")


def write_total(report: Report, surroundings: Surroundings, writer: Writer) -> None:
    """The total, and how it came about."""
    writer.line()
    style = "bold" if summary.is_complete(report) else f"bold {STYLES['not judged']}"
    writer.line(f"{'Total':<{LABEL_WIDTH}}{summary.total_line(report)}", style)
    for name, value in (
        ("Submission", summary.submission_line(report)),
        ("Seed", str(report.seed)),
        ("Repeat", surroundings.repeat),
        ("Look closer", surroundings.look_closer if lost(report) else ""),
        ("Isolation", isolation(report, writer)),
        ("Report", f"\n{' ' * LABEL_WIDTH}".join(surroundings.saved)),
        ("Time", f"{report.duration_seconds:.1f} s"),
    ):
        if value:
            writer.line(f"{name:<{LABEL_WIDTH}}{value}")


def isolation(report: Report, writer: Writer) -> str:
    """What was closed to the student's code, in as many lines as it takes."""
    pad = " " * LABEL_WIDTH
    told = textwrap.wrap(summary.isolation_line(report.isolation), writer.width - LABEL_WIDTH)
    return f"\n{pad}".join(told)


def lost(report: Report) -> bool:
    """Whether a check failed, so that there is something to look at."""
    return any(check.verdict is Verdict.FAILED for check in report.checks)
