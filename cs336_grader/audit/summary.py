"""What an audit says, problem by problem, and how both renderers put it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cs336_checks.rubric import Tier

from . import margins
from .records import (
    Audit,
    AuditedCheck,
    ComparisonResult,
    DegenerateResult,
    MistakeResult,
    SuiteFault,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A problem with all that is said of it.

    Attributes:
        checks: its checks; the page numbers them.
        comparisons: in the order of their margins.
    """

    problem: str
    checks: list[AuditedCheck]
    mistakes: list[MistakeResult]
    comparisons: list[ComparisonResult]
    faults: list[SuiteFault]
    twins: list[tuple[str, ...]]

    @property
    def caught(self) -> int:
        """How many mistakes cost points."""
        return sum(not mistake.survives for mistake in self.mistakes)

    @property
    def noise(self) -> float:
        """The farthest that anything right is off in a comparison."""
        return max((each.noise for each in self.comparisons), default=0.0)

    @property
    def nearest(self) -> float | None:
        """How far the nearest mistake is off where it is seen best."""
        return min((c.nearest for c in self.comparisons if c.nearest is not None), default=None)


def sections(audit: Audit) -> Iterator[Section]:
    """Each problem with what belongs to it."""
    for problem in dict.fromkeys(check.problem for check in audit.checks):
        mistakes = [mistake for mistake in audit.mistakes if mistake.problem == problem]
        names = {mistake.id for mistake in mistakes}
        yield Section(
            problem,
            [check for check in audit.checks if check.problem == problem],
            mistakes,
            narrowest(c for c in audit.comparisons if c.problem == problem),
            [fault for fault in audit.faults if fault.problem == problem],
            [group for group in audit.twins if names.issuperset(group)],
        )


def idle(audit: Audit) -> list[AuditedCheck]:
    """The checks that count and catch mistakes, each of which others catch as well."""
    return [
        check
        for check in audit.checks
        if check.catches and not check.alone and check.tier is not Tier.ADVICE
    ]


def best_paid(audit: Audit) -> list[DegenerateResult]:
    """The degenerate work that earns any points, with the largest share first."""
    paid = (each for each in audit.degenerate if each.share)
    return sorted(paid, key=lambda each: (-each.share, each.id))


def narrowest(comparisons: Iterable[ComparisonResult]) -> list[ComparisonResult]:
    """Comparisons in the order of their margins, the narrowest first."""
    return sorted(comparisons, key=lambda each: (margins.width(each), each.id))


def multiple(distance: float | None) -> str:
    """A distance in what is allowed: "0.012", "340", "10,000+"; a dash where there is none."""
    if distance is None:
        return "-"
    if distance >= 1e4:
        return "10,000+"
    if 0 < distance < 1e-3:
        return "<0.001"
    return f"{distance:.2g}" if distance < 100 else f"{distance:.0f}"


def counted(count: int, noun: str) -> str:
    """How many there are, in words: "1 check", "3 checks"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
