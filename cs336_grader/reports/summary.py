"""What every format for people says of a report: points, groups, isolation, what is open."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cs336_checks.rubric import Tier
from cs336_grader.records import (
    CheckResult,
    Consequence,
    Finding,
    Isolation,
    ProblemResult,
    Report,
    TrackResult,
    Verdict,
)

# Of the advice, this many lines are shown.
MOST_ADVICE = 3
# By what `standing` says.
MARKS = {"passed": "✓", "partly": "~", "failed": "✗", "not written": "-", "not judged": "?"}
# What a check says of an adapter that nobody has written yet, be it after other sentences; PyTorch
# raises the same of what it has no operation for.
UNFINISHED = re.compile(
    r"(?:^|: )Your (\S+) raised NotImplementedError\b(?!.*'aten::)", re.MULTILINE
)
# The same of an adapter that is not there.
ABSENT = re.compile(
    r"(?:^|: )Your (\S+) raised AttributeError: module \S+ has no .* '\1'", re.MULTILINE
)
UNWRITTEN = (
    (UNFINISHED, "Not written yet: {} ({})."),
    (ABSENT, "Not in the adapters: {} ({}). Was it removed or renamed?"),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Checks of one problem of which the same is said."""

    checks: tuple[CheckResult, ...]
    question: str
    message: str
    verdict: Verdict

    @property
    def details(self) -> str:
        """Numbers and places of the first check."""
        return self.checks[0].details


def grouped(checks: Iterable[CheckResult]) -> Iterator[Group]:
    """Checks of which the same is said, together, in the order of the first of each."""
    groups: dict[tuple[str, str, str, Verdict], list[CheckResult]] = {}
    for check in checks:
        told = (check.problem, check.question, check.message, check.verdict)
        groups.setdefault(told, []).append(check)
    for (_, question, message, verdict), members in groups.items():
        yield Group(tuple(members), question, message, verdict)


def open_checks(report: Report, problem: ProblemResult) -> list[CheckResult]:
    """The checks that count and did not pass, core before edge."""
    return [
        check
        for check in report.checks
        if check.problem == problem.id
        and check.verdict is not Verdict.PASSED
        and check.tier is not Tier.ADVICE
    ]


def unfinished(checks: Iterable[CheckResult]) -> str:
    """Which adapters nobody has written yet, in one line; empty if there are none."""
    messages = [check.message for check in checks]
    told = []
    for pattern, sentence in UNWRITTEN:
        found = [match[1] for message in messages if (match := pattern.search(message))]
        if found:
            told.append(sentence.format(listed(list(dict.fromkeys(found))), checks_told(found)))
    return " ".join(told)


def written(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """The checks that did not only find that nobody has written the adapter yet."""
    return [
        check
        for check in checks
        if not any(pattern.search(check.message) for pattern, _ in UNWRITTEN)
    ]


def unwritten(report: Report, problem: ProblemResult) -> list[CheckResult]:
    """The checks that count, where all that they found is that nobody has begun; else none."""
    checks = open_checks(report, problem)
    begun = problem.score > 0 or problem.verdict is not Verdict.FAILED or written(checks)
    return [] if begun else checks


def unwritten_told(checks: Sequence[CheckResult]) -> str:
    """How many checks found that nobody has begun, and whether there is no adapter to begin."""
    absent = any(ABSENT.search(check.message) for check in checks)
    return f"{checks_told(checks)}{', no such adapter' if absent else ''}"


def checks_told(checks: Sequence[object]) -> str:
    """A number of checks."""
    return f"{len(checks)} check{'' if len(checks) == 1 else 's'}"


def advice(report: Report) -> list[str]:
    """Good practice that was not followed, a line each, in the rubric's order.

    A check that fails only for a mistake in another problem gives no advice.
    """
    if common_reason(report):
        return []
    failed = (
        check
        for check in written(report.checks)
        if check.tier is Tier.ADVICE and check.verdict is Verdict.FAILED
    )
    return [
        f"{check.problem}: {check.requirement}"
        for check in failed
        if not check.mistakes or any(m.startswith(f"{check.problem}/") for m in check.mistakes)
    ]


def advice_told(report: Report) -> list[str]:
    """The first lines of the advice, and how many more there are, as few lines are read."""
    lines = advice(report)
    more = len(lines) - MOST_ADVICE
    return [*lines[:MOST_ADVICE], *([f"and {more} more"] if more > 0 else [])]


def lossy(report: Report, check: CheckResult) -> bool:
    """Whether a check that fails loses points: advice never does, nor does an extra problem."""
    extra = {problem.id for problem in report.problems if problem.extra}
    return check.tier is not Tier.ADVICE and check.problem not in extra


def subtotals(report: Report) -> tuple[TrackResult, ...]:
    """The points of each track, where there are several; of a single one the total says it all."""
    return report.tracks if len(report.tracks) > 1 else ()


def track_points(track: TrackResult, problems: Iterable[ProblemResult]) -> str:
    """A track's points and what it is worth; a question mark where not all of it was judged."""
    earned = points(track.score) if all_judged(problems) else "?"
    return f"{earned} / {points_whole(track.max_score)}"


def by_track(report: Report) -> list[tuple[TrackResult | None, list[ProblemResult]]]:
    """The problems of each track; all of them, and no track, where there are not several."""
    tracks = subtotals(report)
    if not tracks:
        return [(None, list(report.problems))]
    return [(track, [one for one in report.problems if one.track == track.id]) for track in tracks]


def title(problem: ProblemResult) -> str:
    """A problem's title, and whether it is extra."""
    return f"{problem.title} (extra)" if problem.extra else problem.title


def costly(report: Report, problem: ProblemResult) -> list[Finding]:
    """What cost a problem its points by the assignment's rules."""
    return [
        finding
        for finding in report.findings
        if finding.problem == problem.id and finding.consequence is Consequence.COSTS_POINTS
    ]


def standing(report: Report, problem: ProblemResult) -> str:
    """Passed, partly, failed, not written or not judged."""
    if problem.verdict is Verdict.FAILED and problem.score > 0:
        return "partly"
    if problem.verdict is Verdict.PASSED and problem.score == 0:
        # Its checks passed, and what the rules forbid cost its points.
        return "failed"
    return "not written" if unwritten(report, problem) else problem.verdict.value


def carried(report: Report, problem: ProblemResult) -> str:
    """Which points a problem has although it failed, and why; empty where it has none."""
    if not problem.carried_from:
        return ""
    titles = {other.id: within_a_sentence(other.title) for other in report.problems}
    others = listed([titles[other] for other in problem.carried_from])
    return f"Right, given your {others}: {points(problem.carried)} of these points are carried."


def read_more(problem: ProblemResult) -> str:
    """Return which chapter is about a problem; empty where there is none."""
    return f"Read more: {problem.chapter}" if problem.chapter else ""


def is_complete(report: Report) -> bool:
    """Whether the score is one: every problem was judged."""
    return all_judged(report.problems)


def all_judged(problems: Iterable[ProblemResult]) -> bool:
    """Whether each of these problems was judged."""
    return all(problem.verdict is not Verdict.NOT_JUDGED for problem in problems)


def incomplete_line(report: Report) -> str:
    """How much of an incomplete report is open."""
    opened, every = len(unjudged(report)), len(counted(report))
    return f"incomplete: {opened} of {every} checks {'was' if opened == 1 else 'were'} not judged"


def counted(report: Report) -> list[CheckResult]:
    """The checks that count."""
    return [check for check in report.checks if check.tier is not Tier.ADVICE]


def unjudged(report: Report) -> list[CheckResult]:
    """Those of them that were not judged."""
    return [check for check in counted(report) if check.verdict is Verdict.NOT_JUDGED]


def common_reason(report: Report) -> str:
    """What is said of every check alike, if one thing is."""
    said = {(check.verdict, check.message) for check in report.checks}
    if len(said) != 1 or len(report.problems) < 2:
        return ""
    verdict, message = said.pop()
    return "" if verdict is Verdict.PASSED else message


def first_reason(report: Report) -> str:
    """What is said of the first check that was not judged; empty if all were."""
    return next((check.message for check in unjudged(report)), "")


def headline(verdict: Verdict) -> str:
    """What one reason did to the whole submission."""
    if verdict is Verdict.NOT_JUDGED:
        return "Could not judge this submission, and that is not known to be its fault."
    return "No check passed, all for one reason."


def run_alone(check: CheckResult) -> str:
    """The command that runs a check alone, in the student's repository."""
    return f"uv run pytest {check.id}"


def repeat(report: Report) -> str:
    """The command that grades the submission again in the same way, wherever it lies."""
    words = shlex.join(["--seed", str(report.seed), *report.options])
    return f"uv run cs336 grade path/to/submission {words}"


def submission_line(report: Report) -> str:
    """Which submission it is, and the digest of what was taken of it if anything was."""
    name, digest = report.submission.name, report.submission.sha256[:12]
    return f"{name} (sha256 {digest})" if digest else name


def place(finding: Finding) -> str:
    """Where a finding is: file and line."""
    return f"{finding.file}:{finding.line}" if finding.line else finding.file


def isolation_line(isolation: Isolation) -> str:
    """What was closed to the student's code and what was open, in one line."""
    closed = [barrier.resource for barrier in isolation.barriers if barrier.closed]
    left_open = [barrier.resource for barrier in isolation.barriers if not barrier.closed]
    told = "; ".join(
        f"{listed(resources)} {state}"
        for resources, state in ((closed, "closed"), (left_open, "open"))
        if resources
    )
    return f"{isolation.level}: {told}" if told else isolation.level


def within_a_sentence(title: str) -> str:
    """A problem's title as it stands within a sentence.

    >>> within_a_sentence("Rotary position embedding"), within_a_sentence("RMSNorm")
    ('rotary position embedding', 'RMSNorm')
    """
    title = title.partition(":")[0]
    first = title.partition(" ")[0]
    return title if first[1:] != first[1:].lower() else title[:1].lower() + title[1:]


def listed(words: Sequence[str]) -> str:
    """Words as people list them.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def started(report: Report) -> str:
    """When grading began, as people write it; empty where it is not known."""
    if not report.started_at:
        return ""
    return datetime.fromtimestamp(report.started_at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def ran_nothing(report: Report) -> bool:
    """Whether no check passed because there was nothing that could have been run."""
    return bool(report.checks) and all(check.nothing_ran for check in report.checks)


def percent(report: Report) -> float:
    """The score's share of the maximum."""
    return 100 * report.score / report.max_score if report.max_score else 0.0


def percent_told(report: Report) -> str:
    """The same in words; empty where there is no maximum, as of an extra problem alone."""
    return f"{percent(report):.1f} %" if report.max_score else ""


def total_line(report: Report) -> str:
    """The total with its percentage; where it is none, what there is instead."""
    total = f"{points(report.score)} / {points_whole(report.max_score)}"
    if is_complete(report):
        share = f" ({told})" if (told := percent_told(report)) else ""
        return f"{total}{share}{extra_told(report)}"
    opened, every = len(unjudged(report)), len(counted(report))
    told = f"not judged ({opened} of {every} checks)"
    return told if opened == every else f"{total} so far, {told}"


def extra_told(report: Report) -> str:
    """How much of the total comes on top of the maximum, after the total; empty if nothing does."""
    extra = round(sum(problem.score for problem in report.problems if problem.extra), 2)
    return f", {points(extra)} of them extra" if extra else ""


def problem_points(problem: ProblemResult) -> str:
    """A problem's points and what it is worth; a question mark where it was not judged."""
    earned = "?" if problem.verdict is Verdict.NOT_JUDGED else points(problem.score)
    return f"{earned} / {points_whole(problem.max_score)}"


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
