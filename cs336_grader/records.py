"""What the stages hand to each other: plain records that cannot be changed."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from cs336_checks.rubric import Check, Tier

# Of the report: raised when a field goes or changes its meaning, not when one is added.
SCHEMA_VERSION = 1


class Verdict(StrEnum):
    """What became of a check or of a problem."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_JUDGED = "not judged"


class CouldNotJudgeError(Exception):
    """Nothing can be said about the submission, and that is not known to be its fault."""


class LostJudgeError(CouldNotJudgeError):
    """The process that judges ended before it had said all."""


class WrongRequestError(Exception):
    """What was asked for is not there: who asked has to ask for something else."""


@dataclass(frozen=True, slots=True)
class Staged:
    """What was taken of a submission.

    Attributes:
        name: the submission's folder or archive, without its ending.
        sha256: of the paths and contents taken, the same in whatever the work is packed.
        root: the private folder they were copied to.
        module: how the adapters are imported, as in "tests.adapters".
        search_paths: the folders, relative to the root, that imports start from, in order.
        notes: what was chosen, left out or refused, one sentence each.
        adapters: the names in its adapters that are filled in, published or not, as far as its
            source tells.
        stubs: those that it has as they were handed out.
        unmet: the versions that it asks for and that are not installed, in words, by the name
            that imports use or "Python".
        trees: the syntax trees of source that was read, by that source.
    """

    name: str
    sha256: str
    root: Path
    module: str
    search_paths: tuple[str, ...]
    notes: tuple[str, ...]
    adapters: frozenset[str]
    stubs: frozenset[str] = frozenset()
    unmet: Mapping[str, str] = field(default_factory=dict)
    trees: Mapping[bytes, ast.Module] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """A check has begun."""

    check: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Where a result differs from what is expected, and how much, but never from which number.

    Attributes:
        shape: of the result.
        rows: what the rows of the picture are, in words.
        columns: what its columns are.
        levels: a text for each row, a digit for each cell. 0 is within the tolerance, 1 up to
            three times the tolerance, 2 up to ten times, and so on by half powers of ten to 9.
    """

    shape: tuple[int, ...]
    rows: str
    columns: str
    levels: tuple[str, ...]

    @classmethod
    def drawn(cls, grid: Mapping[str, Any]) -> Self:
        """The picture that a suite or another process hands over as plain lists and texts."""
        levels = tuple(map(str, grid["levels"]))
        return cls(tuple(map(int, grid["shape"])), str(grid["rows"]), str(grid["columns"]), levels)


# In place of a check: the submission was being imported.
NO_CHECK = ""


@dataclass(frozen=True, slots=True)
class ForbiddenCall:
    """Something that the assignment's rules are about and that a check's run entered.

    It is told by the process that runs the submission: it can accuse, and never excuses.

    Attributes:
        check: the check that ran, or ``NO_CHECK``.
        file: the place in the submission that led there, with forward slashes.
        name: what was entered, as in "torch.nn.functional.softmax".
    """

    check: str
    file: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What became of a check: the judge's result, as the report has it.

    Attributes:
        id: its file and function, as in "tests/test_model.py::test_rope".
        requirement: what is asked, in one sentence.
        message: what was found, or why nothing was.
        question: leads to the mistake without naming it.
        details: numbers and places, and what else could explain them.
        picture: of a comparison of numbers that failed.
        mistakes: the ids of the known mistakes any of which explains all that failed, each the
            problem it belongs to and its name: "rope/half_split_pairs".
        nothing_ran: whether it failed because the submission has nothing that could be run.
    """

    id: str
    problem: str
    tier: Tier
    verdict: Verdict
    requirement: str
    message: str
    duration_seconds: float
    picture: Picture | None = None
    mistakes: tuple[str, ...] = ()
    nothing_ran: bool = False
    question: str = ""
    details: str = ""

    @classmethod
    def of(
        cls,
        check: Check,
        verdict: Verdict,
        message: str = "",
        *,
        question: str = "",
        details: str = "",
        duration_seconds: float = 0.0,
        picture: Picture | None = None,
        mistakes: tuple[str, ...] = (),
        nothing_ran: bool = False,
    ) -> Self:
        """Return the result of a check of the rubric."""
        return cls(
            check.id,
            check.problem,
            check.tier,
            verdict,
            check.requirement,
            message,
            duration_seconds,
            picture,
            mistakes,
            nothing_ran,
            question,
            details,
        )

    @property
    def name(self) -> str:
        """The check's function."""
        return self.id.rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class ProblemResult:
    """One problem in the report.

    Attributes:
        score: the points, with those carried forward.
        carried: the points for what is right but for a mistake that costs another problem.
        carried_from: those other problems.
        track: the one it is part of; empty where the assignment has no tracks.
        extra: whether its points come on top, and are in no sum of maximum points.
        chapter: the file of the course text about it; empty where there is none.
    """

    id: str
    title: str
    score: float
    max_score: float
    verdict: Verdict
    carried: float = 0.0
    carried_from: tuple[str, ...] = ()
    track: str = ""
    extra: bool = False
    chapter: str = ""


@dataclass(frozen=True, slots=True)
class TrackResult:
    """One track in the report, with the points of its problems."""

    id: str
    title: str
    score: float
    max_score: float


@dataclass(frozen=True, slots=True)
class SubmissionRecord:
    """Which submission the report is about."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Barrier:
    """Whether something was closed to the student's code.

    Attributes:
        resource: "file system", "network", "processes", "signals", "memory" or "judge", which is
            closed if nothing reaches it and it can do nothing outside either.
        by: what closed it; where it was open, what is missing.
    """

    resource: str
    closed: bool
    by: str


@dataclass(frozen=True, slots=True)
class Isolation:
    """How the student's code was kept apart, as measured.

    Attributes:
        level: "strict" where file system, network, processes and judge were closed, "none" where
            nothing was, "not measured" where no process was started to run it, otherwise "partial".
    """

    level: str
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a worker found closed before any submission was there.

    Attributes:
        missing: for each layer of isolation, why it is not in force; empty for one that is.
        mend: one line that would close more; empty where nothing is missing.
    """

    isolation: Isolation
    missing: dict[str, str]
    mend: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What the run of a submission took, as far as the system counts it.

    Attributes:
        cpu_seconds: of all its processes.
        memory_bytes: the most that one of them held.
    """

    cpu_seconds: float
    memory_bytes: int


class Consequence(StrEnum):
    """What a finding leads to."""

    COSTS_POINTS = "costs points"
    HUMAN_LOOK = "human look"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in the submission that the assignment's rules are about.

    Attributes:
        problem: the problem it touches; empty where it touches the submission as a whole.
        file: relative to the submission, with forward slashes.
        line: the first is 1; 0 where none is known.
        name: what was used, as in "torch.nn.functional.softmax".
        message: what it is and why it is told, in one sentence.
    """

    problem: str
    file: str
    line: int
    name: str
    consequence: Consequence
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """The one record of a graded submission; every format is rendered from it.

    Attributes:
        notes: what was chosen, left out or refused of the submission.
        findings: what the assignment's rules have to say about its source and its run.
        duration_seconds: from the start to now.
        started_at: seconds since the beginning of 1970, UTC; 0 where it is not known.
        tracks: those that were graded; none where the assignment has no tracks.
        options: those of `cs336 grade` that chose what is graded, each followed by its value.
    """

    schema_version: int
    submission: SubmissionRecord
    seed: int
    isolation: Isolation
    score: float
    max_score: float
    problems: tuple[ProblemResult, ...]
    checks: tuple[CheckResult, ...]
    notes: tuple[str, ...]
    duration_seconds: float
    findings: tuple[Finding, ...] = ()
    started_at: int = 0
    tracks: tuple[TrackResult, ...] = ()
    options: tuple[str, ...] = ()
