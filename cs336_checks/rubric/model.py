"""The contents of tests/rubric.toml, as a model that refuses what does not fit."""

import sys
from collections.abc import Collection, Container, Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt

RUBRIC = Path("tests", "rubric.toml")


def parts(core: object) -> object:
    """A plain list of core checks is a single part."""
    return {"core": core} if isinstance(core, list) else core


Names = tuple[Annotated[str, Field(min_length=1)], ...]
DottedName = Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")]
Rule = Annotated[str, Field(pattern=r"^([^\W\d]\w*(\.[^\W\d]\w*)*|[\w*]+::[\w*]+)$")]
RuleNames = tuple[Rule, ...]
SomeNames = Annotated[Names, Field(min_length=1)]
Parts = Annotated[dict[str, SomeNames], BeforeValidator(parts), Field(min_length=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Sentence = Annotated[str, Field(min_length=1)]


class Tier(StrEnum):
    """How a check counts."""

    CORE = "core"
    EDGE = "edge"
    ADVICE = "advice"


class RubricError(Exception):
    """The assignment cannot be used as it is; the text says where and what to do."""


class Table(BaseModel):
    """A table of the rubric: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(Table):
    """How much a submission may use.

    Attributes:
        check_seconds: how long a check may take.
        import_seconds: how long importing the submission may take.
        submission_seconds: how long all checks together may take.
        cpu_seconds: of the processor, for a check with all its processes, as what follows.
        memory_megabytes: of memory.
        processes: how many, threads included.
        file_megabytes: of one file.
        scratch_megabytes: of all files together.
        scratch_files: how many files.
    """

    check_seconds: Positive = 60
    import_seconds: Positive = 120
    submission_seconds: Positive = 3600
    cpu_seconds: Positive = 300
    memory_megabytes: PositiveInt = 4096
    processes: PositiveInt = 512
    file_megabytes: PositiveInt = 1024
    scratch_megabytes: PositiveInt = 1024
    scratch_files: PositiveInt = 20_000


class Scoring(Table):
    """How a problem's points are divided.

    Attributes:
        edge_share: what its edge checks are worth together.
        carry_forward: whether a mistake that costs one problem is paid for once.
    """

    edge_share: Share = 0.2
    carry_forward: bool = True


class Lead(StrEnum):
    """How far students are led to a mistake that is known."""

    NAME = "name"
    QUESTION = "question"
    REQUIREMENT = "requirement"


class Feedback(Table):
    """Options of what students are told.

    Attributes:
        mistakes: whether a known mistake is named, only asked about, or not told at all.
    """

    mistakes: Lead = Lead.NAME


class Rules(Table):
    """Rules on what a submission may use: operators of torch ("aten::*softmax*"), dotted names.

    A name stands for all that it holds, a star for any characters; the longer rule decides.

    Attributes:
        forbidden: what costs a problem's points where its checks run it.
        human_look: what is no answer by itself, and a person should look at.
        allowed: what is neither, though a shorter rule is.
    """

    forbidden: RuleNames = ()
    human_look: RuleNames = ()
    allowed: RuleNames = ()


class Problem(Rules):
    """A numbered part of the assignment, with the rules that are its own.

    Attributes:
        core: the checks of each part; the parts share the core points equally.
        built_on: other problems, each with the share of this one's points that is still earned by
            what is right but for a known mistake in the other.
        track: the one it is part of, where the assignment has tracks.
        extra: whether it is graded only where a submission has an adapter of it, and its points
            come on top of the maximum.
    """

    title: Sentence
    points: Positive
    track: str = ""
    extra: bool = False
    adapters: SomeNames
    core: Parts
    edge: Names = ()
    advice: Names = ()
    built_on: dict[str, Share] = {}

    def checks(self) -> Iterator[tuple[Tier, str]]:
        """Each check with its tier, core first."""
        yield from ((Tier.CORE, name) for part in self.core.values() for name in part)
        yield from ((Tier.EDGE, name) for name in self.edge)
        yield from ((Tier.ADVICE, name) for name in self.advice)

    def scored(self) -> list[str]:
        """Return the checks that earn points."""
        return [name for tier, name in self.checks() if tier is not Tier.ADVICE]

    def earned(self, passed: Container[str], edge_share: float) -> float:
        """Return the points for the checks that passed.

        Every part of the core counts alike and is earned when all its checks passed. The edge
        counts as far as the core was earned, each check alike.
        """
        core = share(all(name in passed for name in part) for part in self.core.values())
        edge = share(name in passed for name in self.edge)
        reserved = edge_share if self.edge else 0.0
        return self.points * core * (1 - reserved + reserved * edge)


class Rubric(Table):
    """All of rubric.toml.

    Attributes:
        package: what the student's package is called unless a student calls it something else.
        known_mistakes: the package beside the suite that holds wrong implementations.
        correct_variants: the one that holds right implementations.
        degenerate_work: the one that holds answers without any work.
        tracks: the parts of the assignment that can be done one without the other, with their
            titles.
    """

    title: Sentence
    package: Sentence
    known_mistakes: DottedName | None = None
    correct_variants: DottedName | None = None
    degenerate_work: DottedName | None = None
    limits: Limits = Limits()
    scoring: Scoring = Scoring()
    feedback: Feedback = Feedback()
    rules: Rules = Rules()
    tracks: dict[str, Sentence] = {}
    problems: Annotated[dict[str, Problem], Field(min_length=1)]

    def problem_of_checks(self) -> dict[str, str]:
        """Return the problem that each check belongs to, by its id, in the rubric's order."""
        return {
            check: name for name, problem in self.problems.items() for _, check in problem.checks()
        }

    def full_marks(self, tracks: Collection[str] = ()) -> float:
        """Return the points of these tracks, of all if none is named, without extra points."""
        return sum(
            problem.points
            for problem in self.problems.values()
            if not problem.extra and (not tracks or problem.track in tracks)
        )

    def below(self, problem: str) -> tuple[str, ...]:
        """Return what a problem is built on, directly or not, in the rubric's order."""
        found: set[str] = set()
        waiting = [problem]
        while waiting:
            new = set(self.problems[waiting.pop()].built_on) - found
            found |= new
            waiting += new
        return tuple(name for name in self.problems if name in found and name != problem)

    def watched(self) -> dict[str, bool]:
        """Return the rules, each with whether a run is watched for what it holds."""
        tables = (self.rules, *self.problems.values())
        return {
            **{rule: False for table in tables for rule in table.allowed},
            **{rule: True for table in tables for rule in (*table.human_look, *table.forbidden)},
        }

    def packages(self) -> list[str]:
        """Return the installed packages that no problem may use; a worker is without them."""
        return [
            name
            for name in self.rules.forbidden
            if name.isidentifier() and name not in sys.stdlib_module_names
        ]


def share(held: Iterable[bool]) -> float:
    """Return the share of these that are true, and 1 if there are none."""
    counted = list(held)
    return sum(counted) / len(counted) if counted else 1.0


def holds(rule: str, name: str) -> bool:
    """Return True for the name that a rule is about, and for all that it holds."""
    return fnmatchcase(name, rule) or name.startswith(f"{rule}.")
