"""The report as text for a terminal: an overview, what failed, advice, the total.

Lines are wrapped here, not by the terminal, so that the same report gives the same text.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.text import Text

from cs336_grader.records import CheckResult, ProblemResult, Report, Tier, Verdict

# Of what is said about one check, this many lines are shown.
MAX_LINES = 12
MAX_NOTES = 12
# Of the groups of checks that failed in one problem, this many are told in full.
MAX_TOLD = 3
# An index or another short list stays on one line.
SHORT_LIST = re.compile(r"\[[^\[\]]{1,40}\]")
NO_BREAK = "\N{NO-BREAK SPACE}"
MIN_WIDTH, MAX_WIDTH = 50, 110
NAME_WIDTH = 30

STYLES = {"passed": "green", "partly": "yellow", "failed": "red", "not judged": "magenta"}
MARKS = {"passed": "✓", "partly": "~", "failed": "✗", "not judged": "?"}
ASCII_MARKS = {"passed": "+", "partly": "~", "failed": "x", "not judged": "?"}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the text says beside the report.

    Attributes:
        width: how many columns there are.
        ascii_only: whether marks must be ASCII.
        repeat: the command that gives the same report again.
        saved: where the report was written.
    """

    width: int
    ascii_only: bool
    repeat: str
    saved: str


@dataclass(frozen=True, slots=True)
class Group:
    """Checks of one problem of which the same is said."""

    checks: tuple[CheckResult, ...]
    message: str
    verdict: Verdict


class Writer:
    """Puts a text together line by line."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.width = min(max(surroundings.width, MIN_WIDTH), MAX_WIDTH)
        self.marks = ASCII_MARKS if surroundings.ascii_only else MARKS
        self.lines: list[Text] = []

    def line(self, text: str = "", style: str = "") -> None:
        """Add a line as it is."""
        self.lines.append(Text(text, style))

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
        own = len(text) - len(text.lstrip(" "))
        pad = " " * min(indent + own, self.width // 2)
        unbroken = SHORT_LIST.sub(lambda found: found[0].replace(" ", NO_BREAK), text.strip())
        lines = textwrap.wrap(unbroken, self.width, initial_indent=pad, subsequent_indent=pad)
        return [line.replace(NO_BREAK, " ") for line in lines]

    def text(self) -> Text:
        """All lines."""
        return Text("\n").join(self.lines)


def render(report: Report, surroundings: Surroundings) -> Text:
    """The report as text with styles."""
    writer = Writer(surroundings)
    write_overview(report, writer)
    reason = common_reason(report)
    if reason:
        writer.line()
        standing = report.checks[0].verdict.value
        writer.marked(standing, 0, headline(report.checks[0].verdict))
        writer.paragraph(reason, 2, MAX_LINES)
    elif any(check.verdict is not Verdict.PASSED for check in report.checks):
        write_legend(report, writer)
        write_failures(report, writer)
        write_advice(report, writer)
    write_notes(report, writer)
    write_total(report, surroundings, writer)
    return writer.text()


def write_overview(report: Report, writer: Writer) -> None:
    """One line a problem: its points and its mark."""
    for problem in report.problems:
        writer.lines.append(problem_line(problem, writer))


def write_legend(report: Report, writer: Writer) -> None:
    """What the marks mean, and the one word that needs a meaning."""
    legend = zip(writer.marks.values(), ("all", "some", "none", "not judged"), strict=True)
    marks = "   ".join(f"{mark} {meaning}" for mark, meaning in legend)
    writer.line()
    writer.line(f"points: {marks}", "dim")
    if any(
        check.tier is Tier.EDGE and check.verdict is not Verdict.PASSED for check in report.checks
    ):
        explanation = "edge: a corner of the problem, worth a small share of its points"
        writer.paragraph(explanation, 0, MAX_LINES, "dim")


def problem_line(problem: ProblemResult, writer: Writer) -> Text:
    """A problem's name, points and mark, in columns."""
    name = textwrap.shorten(problem.id, NAME_WIDTH - 1, placeholder="...")
    line = Text(name.ljust(NAME_WIDTH))
    line.append(f"{points(problem.score):>5} / {points_whole(problem.max_score):<4} ")
    return line.append(writer.marks[standing_of(problem)], STYLES[standing_of(problem)])


def standing_of(problem: ProblemResult) -> str:
    """Passed, partly, failed or not judged."""
    if problem.verdict is Verdict.FAILED and problem.score > 0:
        return "partly"
    return problem.verdict.value


def write_failures(report: Report, writer: Writer) -> None:
    """Under each problem that was not fully earned, what failed, core before edge."""
    for problem in report.problems:
        checks = [
            check
            for check in report.checks
            if check.problem == problem.id
            and check.verdict is not Verdict.PASSED
            and check.tier is not Tier.ADVICE
        ]
        if checks:
            writer.line()
            writer.lines.append(problem_line(problem, writer))
            write_groups(list(grouped(checks)), writer)


def write_advice(report: Report, writer: Writer) -> None:
    """What is good practice and was not followed; it costs nothing."""
    checks = [
        check
        for check in report.checks
        if check.tier is Tier.ADVICE and check.verdict is not Verdict.PASSED
    ]
    if checks:
        writer.line()
        writer.line("Advice (no points)", "bold")
        for problem in dict.fromkeys(check.problem for check in checks):
            of_problem = grouped(check for check in checks if check.problem == problem)
            writer.line(f"  {problem}")
            write_groups(list(of_problem), writer)


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
    writer.paragraph(prefix + group.message, 4, MAX_LINES)
    alone = "Run it alone:" if len(group.checks) == 1 else "Run the first alone:"
    command = f"uv run pytest {group.checks[0].id}"
    fits = len(f"    {alone} {command}") <= writer.width
    for line in [f"{alone} {command}"] if fits else [alone, command]:
        writer.line(f"    {line}", "dim")


def grouped(checks: Iterable[CheckResult]) -> Iterator[Group]:
    """Checks of which the same is said, together, in the order of the first of each."""
    groups: dict[tuple[str, str, Verdict], list[CheckResult]] = {}
    for check in checks:
        groups.setdefault((check.problem, check.message, check.verdict), []).append(check)
    for (_, message, verdict), members in groups.items():
        yield Group(tuple(members), message, verdict)


def common_reason(report: Report) -> str:
    """What is said of every check alike, if one thing is."""
    said = {(check.verdict, check.message) for check in report.checks}
    if len(said) != 1 or len(report.problems) < 2:
        return ""
    verdict, message = said.pop()
    return "" if verdict is Verdict.PASSED else message


def headline(verdict: Verdict) -> str:
    """What one reason did to the whole submission."""
    if verdict is Verdict.NOT_JUDGED:
        return "Could not judge this submission, and that is not known to be its fault."
    return "No check passed, all for one reason."


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
    counts = [check for check in report.checks if check.tier is not Tier.ADVICE]
    open_checks = sum(check.verdict is Verdict.NOT_JUDGED for check in counts)
    writer.line()
    writer.line(f"Total       {total_line(report)}", "bold")
    if open_checks:
        writer.line(
            f"            incomplete: {open_checks} of {len(counts)} checks were not judged",
            STYLES["not judged"],
        )
    for name, value in (
        ("Submission", f"{report.submission.name} (sha256 {report.submission.sha256[:12]})"),
        ("Seed", str(report.seed)),
        ("Repeat", surroundings.repeat),
        ("Isolation", report.isolation.level),
        ("Report", surroundings.saved),
        ("Time", f"{report.duration_seconds:.1f} s"),
    ):
        writer.line(f"{name:<12}{value}")


def total_line(report: Report) -> str:
    """The total with its percentage."""
    whole = report.max_score
    percent = 100 * report.score / whole if whole else 0.0
    return f"{points(report.score)} / {points_whole(whole)} ({percent:.1f} %)"


def points(value: float) -> str:
    """Points that were earned: one decimal, or two where they are needed.

    >>> points(2), points(0.33)
    ('2.0', '0.33')
    """
    return f"{value:.1f}" if round(value, 1) == value else f"{value:.2f}"


def points_whole(value: float) -> str:
    """Points that could be earned, as short as they can be written.

    >>> points_whole(15.0), points_whole(2.5)
    ('15', '2.5')
    """
    return f"{value:g}"
