"""The rubric of an assignment, read, validated, and tied to the suite's functions.

Nothing of the suite is imported: a check's file and requirement are read from its source.
"""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
)

from .records import Tier

RUBRIC = Path("tests", "rubric.toml")


def parts(core: object) -> object:
    """A plain list of core checks is a single part."""
    return {"core": core} if isinstance(core, list) else core


Names = tuple[Annotated[str, Field(min_length=1)], ...]
DottedName = Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")]
DottedNames = tuple[DottedName, ...]
SomeNames = Annotated[Names, Field(min_length=1)]
Parts = Annotated[dict[str, SomeNames], BeforeValidator(parts), Field(min_length=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Sentence = Annotated[str, Field(min_length=1)]


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


class Rules(Table):
    """What a submission may use. A name stands for all that it holds; the longer one decides.

    Attributes:
        forbidden: what costs a problem's points where its adapters reach it.
        human_look: what is no answer by itself, and somebody should look at.
        allowed: what is neither, though a shorter name is.
    """

    forbidden: DottedNames = ()
    human_look: DottedNames = ()
    allowed: DottedNames = ()


class Problem(Rules):
    """A numbered part of the assignment, with the rules that are its own.

    Attributes:
        core: the checks of each part; the parts share the core points equally.
        built_on: other problems, each with the share of this one's points that is still earned by
            what is right but for a known mistake in the other.
    """

    title: Sentence
    points: Positive
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


class Rubric(Table):
    """All of rubric.toml.

    Attributes:
        package: what the student's package is called unless a student calls it something else.
        known_mistakes: the package beside the suite that holds wrong implementations.
        correct_variants: the one that holds right implementations.
    """

    title: Sentence
    package: Sentence
    known_mistakes: DottedName | None = None
    correct_variants: DottedName | None = None
    limits: Limits = Limits()
    scoring: Scoring = Scoring()
    rules: Rules = Rules()
    problems: Annotated[dict[str, Problem], Field(min_length=1)]

    def below(self, problem: str) -> tuple[str, ...]:
        """What a problem is built on, directly or not, in the rubric's order."""
        found: set[str] = set()
        waiting = [problem]
        while waiting:
            new = set(self.problems[waiting.pop()].built_on) - found
            found |= new
            waiting += new
        return tuple(name for name in self.problems if name in found and name != problem)

    def watched(self) -> dict[str, bool]:
        """The names in rules, each with whether a run is watched for it and all that it holds.

        What is only looked at for all problems is seen well enough in the source.
        """
        own = self.problems.values()
        return {
            **dict.fromkeys((*self.rules.human_look, *self.rules.allowed), False),
            **{name: False for problem in own for name in problem.allowed},
            **{name: True for problem in own for name in problem.human_look},
            **dict.fromkeys(self.rules.forbidden, True),
            **{name: True for problem in own for name in problem.forbidden},
        }


@dataclass(frozen=True, slots=True)
class Check:
    """A test function of the suite and its place in the rubric.

    Attributes:
        file: relative to the assignment's folder, with forward slashes.
        requirement: its docstring, in one line.
    """

    name: str
    problem: str
    tier: Tier
    file: str
    requirement: str

    @property
    def id(self) -> str:
        """As pytest names it: "tests/test_model.py::test_rope"."""
        return f"{self.file}::{self.name}"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A folder that holds a suite and its rubric.

    Attributes:
        checks: every check by its name, in the rubric's order.
    """

    folder: Path
    rubric: Rubric
    checks: dict[str, Check]

    @property
    def adapter_names(self) -> frozenset[str]:
        """The published adapters."""
        return frozenset(
            name for problem in self.rubric.problems.values() for name in problem.adapters
        )


@dataclass(frozen=True, slots=True)
class Function:
    """A test function found in the suite's source."""

    file: str
    requirement: str


def load_assignment(folder: Path) -> Assignment:
    """Read an assignment's rubric and find each of its checks.

    Raises:
        RubricError: the rubric is missing or wrong, or does not fit the suite.
    """
    rubric = read_rubric(folder / RUBRIC)
    found = suite_functions(folder)
    checks = {
        name: check(name, problem_id, tier, found)
        for problem_id, problem in rubric.problems.items()
        for tier, name in problem.checks()
    }
    for name in sorted(found.keys() - checks.keys()):
        raise RubricError(
            f"{RUBRIC.as_posix()}: {name} of {found[name].file} belongs to no problem; "
            "list it under a problem's core, edge or advice"
        )
    return Assignment(folder, rubric, checks)


def read_rubric(path: Path) -> Rubric:
    """Read and validate rubric.toml.

    Raises:
        RubricError: it is missing, no TOML, or does not fit the model.
    """
    where = RUBRIC.as_posix()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RubricError(f"{path}: {reason}; an assignment is a folder with {where}") from error
    except ValueError as error:
        raise RubricError(f"{where}: no valid TOML: {error}") from error
    try:
        rubric = Rubric.model_validate(data)
    except ValidationError as error:
        raise RubricError("\n".join(complaints(error))) from error
    counts = Counter(name for problem in rubric.problems.values() for _, name in problem.checks())
    for name, times in counts.items():
        if times > 1:
            raise RubricError(f"{where}: {name} is listed {times} times; list it once")
    check_rules(rubric)
    check_dependencies(rubric)
    return rubric


def check_rules(rubric: Rubric) -> None:
    """See that rules do not contradict each other.

    Raises:
        RubricError: a name is in two lists, or allowed where nothing forbids it.
    """
    general = rubric.rules
    ruled = {*general.forbidden, *general.human_look}
    tables = {f"problems.{name}": problem for name, problem in rubric.problems.items()}
    for table, rules in {"rules": general, **tables}.items():
        counts = Counter((*rules.forbidden, *rules.human_look, *rules.allowed))
        for name, times in counts.items():
            if times > 1:
                raise RubricError(
                    f"{RUBRIC.as_posix()}: {table}: {name} is listed {times} times; "
                    "keep it in forbidden, human_look or allowed"
                )
        for name in rules.allowed:
            if not any(
                f"{name}.".startswith(f"{rule}.")
                for rule in ruled.union(rules.forbidden, rules.human_look)
            ):
                raise RubricError(
                    f"{RUBRIC.as_posix()}: {table}.allowed: {name} is allowed anyway; correct its "
                    "spelling, or delete it"
                )


def check_dependencies(rubric: Rubric) -> None:
    """See that problems are built on others that exist.

    Raises:
        RubricError: one is built on itself or on none that is known.
    """
    for name, problem in rubric.problems.items():
        for other in problem.built_on:
            if other == name or other not in rubric.problems:
                raise RubricError(
                    f"{RUBRIC.as_posix()}: problems.{name}.built_on: {other} is no other problem; "
                    "correct its spelling or delete it"
                )


def complaints(error: ValidationError) -> Iterator[str]:
    """What pydantic found, one line each: the file, the key, and what to do."""
    for found in error.errors():
        key = ".".join(str(part) for part in found["loc"])
        advice = {
            "extra_forbidden": "there is no such key; correct its spelling or delete it",
            "missing": "this key is needed; add it",
            "too_short": "holds nothing; name at least one",
            "tuple_type": "a list of names is expected",
            "string_type": "a text is expected",
            "string_pattern_mismatch": "a name with dots is expected, as in torch.nn.Linear",
        }.get(found["type"], found["msg"])
        yield f"{RUBRIC.as_posix()}: {key}: {advice}"


def check(name: str, problem: str, tier: Tier, found: dict[str, Function]) -> Check:
    """A check of the rubric, with where its function stands and what it asks for."""
    if name not in found:
        raise RubricError(
            f"{RUBRIC.as_posix()}: problems.{problem}.{tier}: no file tests/test_*.py"
            f" has a function {name}; correct its spelling or write the check"
        )
    return Check(name, problem, tier, found[name].file, found[name].requirement)


def suite_functions(folder: Path) -> dict[str, Function]:
    """The test functions of ``tests/test_*.py``, by name.

    Raises:
        RubricError: a file cannot be parsed, a name is used twice, or a docstring is missing.
    """
    found: dict[str, Function] = {}
    for path in sorted((folder / "tests").glob("test_*.py")):
        file = path.relative_to(folder).as_posix()
        try:
            tree = ast.parse(path.read_bytes(), filename=file)
        except SyntaxError as error:
            raise RubricError(f"{file}: line {error.lineno}: {error.msg}") from error
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            if node.name in found:
                raise RubricError(
                    f"{file}: {node.name} is also in {found[node.name].file}; rename one of them"
                )
            requirement = " ".join((ast.get_docstring(node) or "").split())
            if not requirement:
                raise RubricError(
                    f"{file}: {node.name} has no docstring; say in one sentence what it asks for"
                )
            found[node.name] = Function(file, requirement)
    return found
