"""How well every comparison separates right from wrong.

Distances count in what a comparison allows: at 1 a value just passes. A comparison separates well
when all that is right is within a tenth, and all that it is there to catch ten times beyond.

It is there to catch the mistakes that no other comparison catches more clearly: what is far off
elsewhere costs points however near it is here. So each mistake is held against the one comparison
in which it is farthest off, at the seed where it is nearest; a mistake that fails a check for
another reason than a number is held against none.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from cs336_checks.rubric import Check

from .records import ComparisonResult, MistakeResult, SuiteFault, Trial

FACTOR = 10.0


@dataclass(frozen=True, slots=True)
class Clearest:
    """Where a mistake is seen best.

    Attributes:
        place: the comparison, or the check that fails for another reason than a comparison.
        distance: how far off it is there; infinite where no tolerance would let it pass.
    """

    place: str
    distance: float


def clearest(seeds: Sequence[Iterable[Trial]]) -> Clearest:
    """Where a mistake is seen best, given what was seen of it at each seed."""
    found = [farthest(trials) for trials in seeds]
    places = sorted({place for seen in found for place in seen})
    nearest = {place: min(seen.get(place, 0.0) for seen in found) for place in places}
    best = max(places, key=lambda place: nearest[place], default="")
    return Clearest(best, nearest.get(best, 0.0))


def farthest(trials: Iterable[Trial]) -> dict[str, float]:
    """How far off an implementation is in each comparison, and in each check that it breaks."""
    found: dict[str, float] = defaultdict(float)
    for trial in trials:
        if trial.failure is not None:
            found[trial.check] = inf
        for comparison, distance in trial.distances.items():
            found[comparison] = max(found[comparison], distance)
    return found


def noise(trials: Iterable[Trial]) -> dict[str, tuple[float, str]]:
    """The farthest that right implementations are off in each comparison, and which one is.

    One that fails a check says nothing of its tolerance: it is a fault, or takes no advice.
    """
    found: dict[str, tuple[float, str]] = {}
    for trial in trials:
        for comparison, distance in trial.distances.items():
            found.setdefault(comparison, (0.0, ""))
            if not trial.failed and distance > found[comparison][0]:
                found[comparison] = (distance, trial.implementation)
    return found


def compared(
    problem: str,
    right: Sequence[Trial],
    mistakes: Sequence[MistakeResult],
    narrow: Mapping[str, str],
) -> Iterator[ComparisonResult]:
    """Each comparison of a problem with both its margins.

    Args:
        problem: the problem's name.
        right: what was seen of right implementations.
        mistakes: what became of its mistakes; one that survives is a fault of its own.
        narrow: why a margin may be narrow, by the comparison's id.
    """
    checks = {comparison: trial.check for trial in right for comparison in trial.distances}
    for comparison, (distance, noisiest) in noise(right).items():
        held = [
            (mistake.distance, mistake.id)
            for mistake in mistakes
            if mistake.clearest == comparison
            and mistake.distance is not None
            and not mistake.survives
        ]
        nearest, which = min(held, default=(None, ""))
        yield ComparisonResult(
            id=comparison,
            check=checks[comparison],
            problem=problem,
            noise=distance,
            noisiest=noisiest,
            nearest=nearest,
            nearest_mistake=which,
            reason=narrow.get(comparison, ""),
        )


def width(comparison: ComparisonResult) -> float:
    """The narrower one of a comparison's margins."""
    beyond = inf if comparison.nearest is None else comparison.nearest
    return min(beyond, inf if comparison.noise == 0 else 1 / comparison.noise)


def faults(comparison: ComparisonResult) -> Iterator[SuiteFault]:
    """What is wrong with a comparison's margins."""
    narrow = width(comparison) < FACTOR
    if narrow and not comparison.reason:
        if comparison.noise * FACTOR > 1:
            yield SuiteFault(
                comparison.id,
                comparison.problem,
                f"{comparison.noisiest} is right and off by {comparison.noise:.2g} of what is "
                "allowed, more than a tenth",
            )
        if comparison.nearest is not None and comparison.nearest < FACTOR:
            yield SuiteFault(
                comparison.id,
                comparison.problem,
                f"{comparison.nearest_mistake} is wrong and off by {comparison.nearest:.2g} times "
                "what is allowed, less than ten times, and is seen no better elsewhere",
            )
    if comparison.reason and not narrow:
        yield SuiteFault(
            comparison.id,
            comparison.problem,
            "its margins are wide: delete its reason for a narrow one",
        )


def outdated(
    comparisons: Iterable[ComparisonResult], checks: Iterable[Check], narrow: Iterable[str]
) -> Iterator[SuiteFault]:
    """Reasons for comparisons that these checks do not make."""
    problems = {check.name: check.problem for check in checks}
    known = {each.id for each in comparisons}
    for comparison in narrow:
        check = comparison.partition("[")[0].partition(" ")[0]
        if check in problems and comparison not in known:
            message = "is no comparison: delete its reason for a narrow margin"
            yield SuiteFault(comparison, problems[check], message)
