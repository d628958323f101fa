"""The files that are written for students: what to do, how to run it, and what it needs."""

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from cs336_checks.rubric import Assignment, Problem, Tier, chapters
from cs336_grader.project import project_tables

from .outline import Outline
from .sources import ADAPTERS, Source

# Each with its template.
WRITTEN = {
    "README.md": "README.md.jinja",
    "Makefile": "Makefile.jinja",
    "pyproject.toml": "pyproject.toml.jinja",
    ".github/workflows/grade.yml": "grade.yml.jinja",
    ".gitignore": "gitignore.jinja",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A problem as the README tells it.

    Attributes:
        parts: what is to be written, each with its file and what its docstring says.
        adapters: the adapters with their parameters, each with what its docstring says.
        asked: what the checks ask for, by tier.
        chapter: the file of the course text that is about it, if there is one.
    """

    id: str
    problem: Problem
    parts: list[tuple[str, str, str]]
    adapters: dict[str, str]
    asked: dict[Tier, list[str]]
    chapter: str


@dataclass(frozen=True, slots=True)
class Track:
    """A part of the assignment that can be done without the others; one without a name is all.

    Attributes:
        points: what there is to earn in it, without extra points.
        tasks: its problems, in order.
    """

    id: str
    title: str
    points: float
    tasks: list[Task]


def write(name: str, assignment: Assignment, outline: Outline, tracks: tuple[str, ...]) -> str:
    """One of the files."""
    project, uv = project_tables(assignment.folder)
    every = list(tasks(assignment, outline))
    return (
        environment()
        .get_template(WRITTEN[name])
        .render(
            rubric=assignment.rubric,
            tasks=every,
            beneath=[described(outline, *place) for place in outline.beneath],
            parts=list(parts(assignment, every)),
            points=assignment.rubric.full_marks(),
            project=project,
            uv=uv,
            tracks=tracks,
            chapters=list(chapters(assignment.folder)),
            slug=re.sub(r"[^a-z0-9]+", "-", assignment.rubric.title.lower()).strip("-"),
            tiers=Tier,
        )
    )


def tasks(assignment: Assignment, outline: Outline) -> Iterator[Task]:
    """The problems in order."""
    source = outline.sources[ADAPTERS.as_posix()]
    said = docstrings(source)
    for name, problem in assignment.rubric.problems.items():
        asked: dict[Tier, list[str]] = {tier: [] for tier in Tier}
        for tier, check in problem.checks():
            asked[tier].append(assignment.checks[check].requirement)
        parts = [described(outline, *place) for place in outline.tasks.get(name, ())]
        adapters = {call(source, one): said.get(one, "") for one in problem.adapters}
        yield Task(name, problem, parts, adapters, asked, assignment.chapters.get(name, ""))


def call(source: Source, name: str) -> str:
    """Return a function's name with those of its parameters."""
    node = source.definitions.get(name)
    if not isinstance(node, ast.FunctionDef):
        return name
    return f"{name}({', '.join(one.arg for one in node.args.args)})"


def described(outline: Outline, file: str, name: str) -> tuple[str, str, str]:
    """A part that is to be written: its name, its file and its docstring."""
    return name, file, docstrings(outline.sources[file]).get(name, "")


def parts(assignment: Assignment, every: list[Task]) -> Iterator[Track]:
    """The tracks that there are problems of, in order."""
    rubric = assignment.rubric
    for name, title in (rubric.tracks or {"": ""}).items():
        own = [task for task in every if task.problem.track == name]
        if own:
            yield Track(name, title, rubric.full_marks((name,)), own)


def docstrings(source: Source) -> dict[str, str]:
    """What each function and class of a module says of itself."""
    return {
        name: ast.get_docstring(node) or ""
        for name, node in source.definitions.items()
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def as_markdown(docstring: str) -> str:
    """A docstring as Markdown: what is indented keeps its columns."""
    return re.sub(
        r"(?:^ +\S.*\n?)+",
        lambda found: f"\n```text\n{textwrap.dedent(found[0]).rstrip()}\n```\n",
        docstring,
        flags=re.MULTILINE,
    ).strip()


@cache
def environment() -> Environment:
    """Where the templates find what they need. What they make is no HTML."""
    found = Environment(  # noqa: S701
        loader=PackageLoader(__package__),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["toml"] = lambda value: json.dumps(value, ensure_ascii=False)
    found.filters["codemark"] = lambda value: f"`{value}`"
    found.filters["indented"] = as_markdown
    found.filters["number"] = lambda value: f"{value:g}"
    return found
