"""What a class looks like from above: what was lost where, by what, and what was not judged."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cs336_checks.rubric import Tier
from cs336_grader.records import CheckResult, Report, Verdict
from cs336_grader.reports import summary

from . import likeness
from .records import Graded, Status

BINS = 10
MEBIBYTE = 2**20
# Of each list of names, the page shows so many.
MOST = 10


@dataclass(frozen=True, slots=True)
class ProblemLoss:
    """What a class has lost in one problem.

    Attributes:
        judged: how many were judged in it.
        full: how many have earned it all.
        nothing: how many have earned nothing.
        mean: of the share that was earned, from 0 to 1.
        lost: points, on average.
    """

    id: str
    title: str
    max_score: float
    judged: int
    full: int
    nothing: int
    mean: float
    lost: float


@dataclass(frozen=True, slots=True)
class MistakeCount:
    """How often a named mistake was found.

    Attributes:
        id: of the mistake, or of those that nothing tells apart.
        said: what was said of it, in the first of the reports.
        names: the submissions it was found in.
        lost: the points of the problems it was found in, on average of those submissions.
    """

    id: str
    said: str
    names: tuple[str, ...]
    lost: float


@dataclass(frozen=True, slots=True)
class Overview:
    """A class.

    Attributes:
        done: all submissions, by their names.
        percents: the score of each graded submission in percent of its own maximum, by its name.
        bins: how many have 0 to 10 percent, 10 to 20 and so on; full marks are in the last.
        problems: those that cost most first.
        mistakes: those that were found most often first.
        unjudged: the submissions without a grade.
        empty: those that have 0 points because nothing of them is written or could be run.
        groups: submissions that are nearly the same.
    """

    done: tuple[Graded, ...]
    percents: dict[str, float]
    bins: tuple[int, ...]
    problems: tuple[ProblemLoss, ...]
    mistakes: tuple[MistakeCount, ...]
    unjudged: tuple[Graded, ...]
    empty: tuple[Graded, ...]
    groups: tuple[likeness.Group, ...]

    @property
    def maxima(self) -> list[tuple[float, int]]:
        """Each maximum that graded submissions have, with the number of these submissions."""
        counted = Counter(
            one.report.max_score for one in self.done if one.record.name in self.percents
        )
        return sorted(counted.items())

    @property
    def median(self) -> float:
        """The middle of the percents."""
        return statistics.median(self.percents.values()) if self.percents else 0.0

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.percents.values()) if self.percents else 0.0

    @property
    def slowest(self) -> list[tuple[str, str]]:
        """Who took how much processor time, the slowest first."""
        records = sorted((one.record for one in self.done), key=lambda one: -one.cpu_seconds)
        return [(one.name, seconds(one.cpu_seconds)) for one in records]

    @property
    def largest(self) -> list[tuple[str, str]]:
        """Who took how much memory, the largest first."""
        records = sorted((one.record for one in self.done), key=lambda one: -one.memory_bytes)
        return [(one.name, megabytes(one.memory_bytes)) for one in records]


def overview(done: Iterable[Graded], handed_out: Container[str] = ()) -> Overview:
    """A class from above.

    Args:
        done: the submissions.
        handed_out: the statements that everyone was given: see ``likeness``.
    """
    everyone = tuple(sorted(done, key=lambda one: one.record.name.casefold()))
    graded = [one for one in everyone if one.record.status is Status.GRADED]
    percents = {one.record.name: round(summary.percent(one.report), 1) for one in graded}
    counts = Counter(min(int(percent // BINS), BINS - 1) for percent in percents.values())
    return Overview(
        done=everyone,
        percents=percents,
        bins=tuple(counts[place] for place in range(BINS)),
        problems=tuple(sorted(losses(graded), key=lambda loss: -loss.lost)),
        mistakes=tuple(mistakes(graded)),
        unjudged=tuple(one for one in everyone if one.record.status is not Status.GRADED),
        empty=tuple(one for one in everyone if one.record.ran_nothing),
        groups=tuple(
            likeness.groups([(one.record.name, one.record.tokens) for one in everyone], handed_out)
        ),
    )


def losses(graded: Sequence[Graded]) -> Iterator[ProblemLoss]:
    """What was lost in each problem that anybody was graded in."""
    found = defaultdict(list)
    for one in graded:
        for problem in one.report.problems:
            if problem.verdict is not Verdict.NOT_JUDGED and not problem.extra:
                found[problem.id].append(problem)
    for results in found.values():
        shares = [one.score / one.max_score if one.max_score else 1.0 for one in results]
        yield ProblemLoss(
            id=results[0].id,
            title=results[0].title,
            max_score=results[0].max_score,
            judged=len(results),
            full=sum(share >= 1 for share in shares),
            nothing=sum(share <= 0 for share in shares),
            mean=statistics.fmean(shares),
            lost=statistics.fmean(one.max_score - one.score for one in results),
        )


def mistakes(graded: Sequence[Graded]) -> list[MistakeCount]:
    """The named mistakes that were found, those in most submissions first."""
    found: dict[str, dict[str, tuple[Report, CheckResult]]] = defaultdict(dict)
    for one in graded:
        for check in one.report.checks:
            own = [m for m in check.mistakes if m.startswith(f"{check.problem}/")]
            if own and check.tier is not Tier.ADVICE:
                found[" or ".join(own)].setdefault(one.record.name, (one.report, check))
    counted = [
        MistakeCount(
            id=name,
            said=first_line(next(iter(by_name.values()))[1].message),
            names=tuple(by_name),
            lost=statistics.fmean(lost_in(report, check) for report, check in by_name.values()),
        )
        for name, by_name in found.items()
    ]
    return sorted(counted, key=lambda mistake: (-len(mistake.names) * mistake.lost, mistake.id))


def lost_in(report: Report, check: CheckResult) -> float:
    """The points that a report lacks in the problem of a check."""
    return sum(p.max_score - p.score for p in report.problems if p.id == check.problem)


def first_line(message: str) -> str:
    """Return the first line of what is said."""
    return message.partition("\n")[0]


def seconds(time: float) -> str:
    """A time in seconds, as people read it."""
    return f"{time:.1f} s"


def megabytes(size: int) -> str:
    """A size in megabytes, as people read it; nothing where it is not known."""
    return f"{size / MEBIBYTE:,.0f} MB" if size else ""
