"""An assignment: its rubric, read, and tied to the functions of its suite.

Nothing of the suite is imported: a check's file and requirement are read from its source.
"""

import ast
import tomllib
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from .chapters import chapter_of_problems
from .consistency import check_consistency
from .model import RUBRIC, Rubric, RubricError, Tier


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
        whole: the rubric with all problems, where the other two are limited to some.
        chapters: the chapter of the course text about each problem that has one.
    """

    folder: Path
    rubric: Rubric
    checks: dict[str, Check]
    whole: Rubric
    chapters: dict[str, str]

    @property
    def adapter_names(self) -> frozenset[str]:
        """The published adapters."""
        return frozenset(
            name for problem in self.rubric.problems.values() for name in problem.adapters
        )

    def limited_to(self, problems: Container[str]) -> "Assignment":
        """Return the assignment as if it had only these problems."""
        kept = {
            name: problem.model_copy(
                update={
                    "built_on": {
                        other: part for other, part in problem.built_on.items() if other in problems
                    }
                }
            )
            for name, problem in self.rubric.problems.items()
            if name in problems
        }
        checks = {name: check for name, check in self.checks.items() if check.problem in problems}
        return replace(
            self, rubric=self.rubric.model_copy(update={"problems": kept}), checks=checks
        )

    def within(self, seconds: float) -> "Assignment":
        """The same, where all checks of a submission together may take no longer than this."""
        limits = self.rubric.limits
        shorter = {"submission_seconds": min(seconds, limits.submission_seconds)}
        changed = {"limits": limits.model_copy(update=shorter)}
        return replace(self, rubric=self.rubric.model_copy(update=changed))


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
    return Assignment(folder, rubric, checks, rubric, known_chapters(folder, rubric))


def known_chapters(folder: Path, rubric: Rubric) -> dict[str, str]:
    """Return the chapter of each problem that has one.

    Raises:
        RubricError: a chapter is about a problem that the rubric does not have.
    """
    found = chapter_of_problems(folder)
    for name, chapter in found.items():
        if name not in rubric.problems:
            raise RubricError(f"{chapter}: {name} is no problem of the rubric; correct its name")
    return found


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
    check_consistency(rubric)
    return rubric


def complaints(error: ValidationError) -> Iterator[str]:
    """Yield what pydantic found, one line each: the file, the key, and what to do."""
    for found in error.errors():
        key = ".".join(str(part) for part in found["loc"])
        advice = {
            "extra_forbidden": "there is no such key; correct its spelling or delete it",
            "missing": "this key is needed; add it",
            "too_short": "holds nothing; name at least one",
            "tuple_type": "a list of names is expected",
            "string_type": "a text is expected",
            "string_pattern_mismatch": "a name with dots is expected, as in torch.nn.Linear, "
            "or an operator, as in aten::*softmax*",
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
