"""What an audit's parts hand to each other, and the record that all its output is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cs336_checks.rubric import Tier

# Raised when a field goes or changes its meaning, not when one is added.
SCHEMA_VERSION = 1


class Kind(StrEnum):
    """What a suite is tried on."""

    REFERENCE = "reference"
    STUBS = "stubs"
    VARIANT = "variant"
    MISTAKE = "mistake"
    DEGENERATE = "degenerate"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a catalogue says of one of its implementations.

    Attributes:
        id: the catalogue's, or what kind it is.
        sentence: what is special about it, or what goes wrong.
    """

    id: str
    kind: Kind
    problem: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What a suite is tried on.

    Attributes:
        narrow: why a comparison's margin is narrow, by the comparison's id.
        sources: a digest of the source of each check and each mistake, by its name or id.
    """

    entries: tuple[Entry, ...]
    narrow: Mapping[str, str]
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of the work: one problem's checks at one seed.

    Attributes:
        mistakes: whether the mistakes are tried too, or only what is right.
        drawn_only: whether to leave out what is the same at every seed.
    """

    problem: str
    seed: int
    mistakes: bool
    drawn_only: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """One case of a check with one implementation.

    Attributes:
        check: the test function's name.
        failure: what was raised, but for comparisons that do not hold.
        distances: how far each comparison is from what is right, as a multiple of what is allowed;
            infinite where no tolerance would do.
        drawn: whether its inputs derive from the seed; if not, it is the same at every seed.
    """

    implementation: str
    check: str
    failure: str | None
    distances: Mapping[str, float]
    drawn: bool = True

    @property
    def failed(self) -> bool:
        """Whether the case would have failed."""
        return self.failure is not None or any(far > 1 for far in self.distances.values())


@dataclass(frozen=True, slots=True)
class Trials:
    """What came of a job.

    Attributes:
        alike: groups of mistakes that looked the same in every case.
    """

    job: Job
    trials: tuple[Trial, ...]
    alike: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class MistakeResult:
    """What the checks of its problem make of a mistake.

    Attributes:
        sentence: what goes wrong.
        caught_by: the checks that fail at every seed it was tried with.
        sometimes: those that fail at some seeds only.
        clearest: the comparison it is farthest from; empty where a check fails for another reason.
        distance: how far it is there at the seed where it is nearest, in what is allowed; None
            where no tolerance would let it pass.
        survives: whether no check that counts fails at some seed.
    """

    id: str
    problem: str
    sentence: str
    caught_by: tuple[str, ...]
    sometimes: tuple[str, ...]
    clearest: str
    distance: float | None
    survives: bool


@dataclass(frozen=True, slots=True)
class DegenerateResult:
    """The points that one kind of degenerate work earns.

    Attributes:
        sentence: what it answers.
        points: what it earns at the first seed.
        share: the same as a share of the problem's points.
        passes: the checks that count and that it passes.
    """

    id: str
    problem: str
    sentence: str
    points: float
    share: float
    passes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditedCheck:
    """What a check is good for.

    Attributes:
        requirement: its docstring.
        catches: how many mistakes fail it at every seed.
        alone: the mistakes that no other check that counts catches.
    """

    name: str
    problem: str
    tier: Tier
    requirement: str
    catches: int
    alone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """How well a comparison separates right from wrong.

    Attributes:
        id: the case, and the comparison's name where the case makes several.
        noise: the farthest that a right implementation is off at any seed, in what is allowed.
        noisiest: which one that is; empty where all agree to the last bit.
        nearest: how far the nearest mistake is off that no comparison catches more clearly, at the
            seed where it is nearest; None where there is no such mistake.
        nearest_mistake: which one that is.
        reason: why a margin may be narrow; empty where it may not.
    """

    id: str
    check: str
    problem: str
    noise: float
    noisiest: str
    nearest: float | None
    nearest_mistake: str
    reason: str


@dataclass(frozen=True, slots=True)
class SuiteFault:
    """Something that should hold and does not.

    Attributes:
        subject: what it is about: an implementation, a check or a comparison.
        message: what is wrong with it, in a sentence.
    """

    subject: str
    problem: str
    message: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Attributes:
        variants: the right implementations, all of which are to pass.
        twins: groups of mistakes that no check tells apart.
        degenerate: the points that answers without any work earn.
        sources: a digest of the source of each check and each mistake, by its name or id.
        faults: what does not hold; the suite is sound where there is nothing.
    """

    schema_version: int
    assignment: str
    seeds: tuple[int, ...]
    mistake_seeds: tuple[int, ...]
    variants: tuple[str, ...]
    mistakes: tuple[MistakeResult, ...]
    checks: tuple[AuditedCheck, ...]
    comparisons: tuple[ComparisonResult, ...]
    twins: tuple[tuple[str, ...], ...]
    degenerate: tuple[DegenerateResult, ...]
    sources: Mapping[str, str]
    faults: tuple[SuiteFault, ...]
