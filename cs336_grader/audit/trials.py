"""Runs the checks of one problem on all that is written for it, in this process.

A case of a check is run with one implementation after the other and its comparisons only watched.
Where all hold and nothing was raised, the case would have passed, so one run tells both whether a
check fails and how far it is from doing otherwise.
"""

import contextlib
import copy
import random
import signal
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import pytest

from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.suite import Suite, SuiteRun, check_name

from .catalogues import Implementation
from .records import Job, Kind, Trial, Trials

# What a failure says is kept up to this length: enough to tell two of them apart.
MAX_FAILURE = 300
# The name that the suite gives to a comparison where a check makes only one.
ONLY = "output"
# The suite's one source of what derives from the seed.
DRAWING_FIXTURE = "draw"


class Comparison(Protocol):
    """What an audit needs to know of a comparison of the suite."""

    @property
    def name(self) -> str:
        """Tells it apart from others of its case."""

    @property
    def actual(self) -> Any:
        """The value that is compared."""

    def distance(self) -> float:
        """How far it is from what is right, as a multiple of what is allowed."""


@dataclass
class Sight:
    """What is seen of a case with one implementation.

    Attributes:
        failure: what was raised first.
        distances: of each comparison, the largest if there are several of the name.
        kept: the comparisons, with values that do not change any more.
    """

    implementation: Implementation
    failure: str | None = None
    distances: dict[str, float] = field(default_factory=dict)
    kept: list[Comparison] = field(default_factory=list)

    def observe(self, comparison: Comparison) -> None:
        """Measure a comparison."""
        distance = comparison.distance()
        self.distances[comparison.name] = max(distance, self.distances.get(comparison.name, 0.0))
        kind = self.implementation.entry.kind
        if kind is Kind.DEGENERATE and distance > 1:
            # The check has failed; the rest of the case would only take time.
            raise AssertionError(comparison.name)
        if kind is Kind.MISTAKE:
            self.kept.append(replace(comparison, actual=kept(comparison.actual)))  # type: ignore[type-var]  # the suite's record is a dataclass

    def looks_like(self, other: Self) -> bool:
        """Whether no check could tell the two apart by this case."""
        return (
            self.failure == other.failure
            and len(self.kept) == len(other.kept)
            and all(map(alike, self.kept, other.kept))
        )


def kept(value: Any) -> Any:
    """A copy of what an adapter returned; of what cannot be copied, its text."""
    if hasattr(value, "detach"):
        return value.detach().clone()
    try:
        return copy.deepcopy(value)
    except Exception:
        return repr(value)


def alike(one: Comparison, other: Comparison) -> bool:
    """Whether two values would pass for each other in one comparison."""
    if one.name != other.name:
        return False
    try:
        crossed: Comparison = replace(one, expected=(other.actual,))  # type: ignore[type-var]  # as above
        return crossed.distance() <= 1
    except TypeError:
        # Nothing that a check could expect.
        return repr(one.actual) == repr(other.actual)


class Watcher(SuiteRun):
    """The pytest plugin that runs each case with all implementations."""

    def __init__(
        self,
        suite: Suite,
        implementations: tuple[Implementation, ...],
        seconds: float,
        *,
        drawn_only: bool,
    ) -> None:
        super().__init__(suite, RecordedValues())
        self.implementations = implementations
        self.seconds = seconds
        self.drawn_only = drawn_only
        self.trials: list[Trial] = []
        # Mistakes that look the same in all cases so far.
        mistakes = [known.entry.id for known in implementations if known.entry.kind is Kind.MISTAKE]
        self.groups: list[list[str]] = [mistakes]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is to be run."""
        super().pytest_collection_modifyitems(items)
        if self.drawn_only:
            items[:] = filter(drawn, items)

    def case(self, item: pytest.Item) -> None:
        """Watch a case with all implementations."""
        self.record(item)
        sights = [self.watch(item, known) for known in self.implementations]
        self.trials += [trial(item, sight) for sight in sights]
        seen = {sight.implementation.entry.id: sight for sight in sights}
        self.groups = [part for group in self.groups for part in divided(group, seen)]

    def watch(self, item: pytest.Item, implementation: Implementation) -> Sight:
        """What is seen of a case with one implementation."""
        sight = Sight(implementation)
        seed_generators()
        error = self.run_with(item, implementation.adapters, sight)
        if error is not None:
            sight.failure = f"{type(error).__name__}: {error}"[:MAX_FAILURE]
        return sight

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Stop a case that takes too long, as if it had raised something."""
        with time_limit(self.seconds):
            return (yield)


def tried(
    job: Job, suite: Suite, implementations: tuple[Implementation, ...], seconds: float
) -> Trials:
    """Run a problem's checks at one seed.

    Args:
        job: says which.
        suite: the problem's checks.
        implementations: what to run them on.
        seconds: how long a case may take on the processor.

    Raises:
        SuiteError: the suite cannot be run.
    """
    watcher = Watcher(suite, implementations, seconds, drawn_only=job.drawn_only)
    watcher.run()
    return Trials(
        job,
        tuple(watcher.trials),
        tuple(tuple(group) for group in watcher.groups if len(group) > 1),
    )


def trial(item: pytest.Item, sight: Sight) -> Trial:
    """What is told of a case with one implementation."""
    names = {name: item.name if name == ONLY else f"{item.name} {name}" for name in sight.distances}
    return Trial(
        implementation=sight.implementation.entry.id,
        check=check_name(item),
        failure=sight.failure,
        distances={names[name]: distance for name, distance in sight.distances.items()},
        drawn=drawn(item),
    )


def drawn(item: pytest.Item) -> bool:
    """Whether a case's inputs derive from the seed: all that do come from one fixture."""
    return DRAWING_FIXTURE in getattr(item, "fixturenames", ())


def divided(group: list[str], seen: dict[str, Sight]) -> Iterator[list[str]]:
    """A group's parts that look the same in a case, without those of a single one."""
    parts: list[list[str]] = []
    for name in group:
        home = next((part for part in parts if seen[part[0]].looks_like(seen[name])), None)
        if home is None:
            parts.append([name])
        else:
            home.append(name)
    return (part for part in parts if len(part) > 1)


def seed_generators() -> None:
    """Let nothing depend on what ran before: give every global generator there is its start."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        # Not torch.manual_seed, which looks for every kind of accelerator.
        sys.modules["torch"].default_generator.manual_seed(0)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so long on the processor, where the system can do that."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
