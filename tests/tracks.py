"""Tells which checks belong to work that has only one track of the assignment.

The tracks can be done one without the other; rubric.toml says which check is of which. A grader
reads the same file and decides in the same way, but where nothing is filled in: the grader then
takes the first track, and here all are run, because the choice is still open.
"""

import ast
import inspect
import textwrap
from collections.abc import Collection
from pathlib import Path

from .problems import RUBRIC, problem_of_checks, problems, track_titles

# Adapters that have fewer functions of a track, stubs included, may have them by chance.
ENOUGH = 2


class Tracks:
    """The tracks of an assignment.

    Args:
        rubric: the file that tells them.
        adapters: the submission's.

    Attributes:
        titles: what each track is called; empty where the assignment has none.
        problem_of: the problem that each check belongs to.
        parts: the adapters of all that the problems of each track are built on.
        there: the adapters that the submission has, stubs included.
        begun: those that are filled in; all that are there where none is.
    """

    def __init__(self, rubric: Path = RUBRIC, adapters: object = None) -> None:
        self.titles = track_titles(rubric)
        self.problem_of = problem_of_checks(rubric)
        self.adapters: dict[str, set[str]] = {track: set() for track in self.titles}
        self.parts: dict[str, set[str]] = {track: set() for track in self.titles}
        for problem in problems(rubric).values():
            if problem.track:
                self.parts[problem.track].update(parts(rubric, problem.id))
            if problem.track and not problem.extra:
                self.adapters[problem.track].update(problem.adapters)
        names = (name for problem in problems(rubric).values() for name in problem.adapters)
        self.there = {name for name in names if hasattr(adapters, name)}
        filled = {name for name in self.there if is_filled_in(getattr(adapters, name))}
        self.begun = filled or self.there

    def has(self, check: str, chosen: Collection[str]) -> bool:
        """Whether a check is of one of these tracks."""
        return check in self.problem_of and self.problem_of[check].track in chosen

    def attempted(self) -> list[str]:
        """The tracks of which an adapter is filled in that counts; else the likeliest one.

        A single function may have the name of an adapter by chance. What problems of another track
        are built on is written for these.
        """
        begun = {
            track: names & self.begun
            for track, names in self.adapters.items()
            if len(names & self.there) >= min(ENOUGH, len(names))
        }
        attempted = [
            track
            for track, names in begun.items()
            if names.difference(
                *(self.parts[other] for other in begun if other != track and begun[other])
            )
        ]

        def likelihood(track: str) -> tuple[int, bool]:
            names = self.adapters[track]
            return len(names & self.begun), bool(names & self.there)

        return attempted or [max(self.adapters, key=likelihood)]

    def why_left_out(self, check: str, chosen: Collection[str] = ()) -> str:
        """Why a check is not to be run, or nothing where it is.

        Args:
            check: the name of its function.
            chosen: the tracks that were asked for, whatever is filled in.
        """
        problem = self.problem_of.get(check)
        if problem is None:
            return ""
        if problem.track and problem.track not in (chosen or self.attempted()):
            why = self.why_not_attempted(problem.track)
            return f"{self.titles[problem.track]}: {why}; to run it: --track {problem.track}"
        if problem.extra and self.begun.isdisjoint(problem.adapters):
            missing = " or ".join(problem.adapters)
            return f"extra: {missing} is not filled in; to run it: -k {problem.id}"
        return ""

    def why_not_attempted(self, track: str) -> str:
        """Why a track is not among those that are attempted."""
        names = self.adapters[track]
        if filled := names & self.begun:
            return f"filled in is only {', '.join(sorted(filled))}"
        return "no adapter is filled in" if names & self.there else "the adapters lack it"


def parts(rubric: Path, problem: str) -> set[str]:
    """The adapters of all that a problem is built on, directly or not."""
    known, found, waiting = problems(rubric), set[str](), [problem]
    while waiting:
        new = set(known[waiting.pop()].built_on) - found
        found |= new
        waiting += new
    return {adapter for part in found for adapter in known[part].adapters}


def is_filled_in(adapter: object) -> bool:
    """Whether an adapter is more than the stub that was handed out."""
    try:
        found = ast.parse(textwrap.dedent(inspect.getsource(adapter))).body[0]  # type: ignore[arg-type]  # or it raises
    except (OSError, TypeError, SyntaxError):
        # A stub is a function that has a source.
        return True
    return not (isinstance(found, ast.FunctionDef) and is_stub(found))


def is_stub(function: ast.FunctionDef) -> bool:
    """Whether a function does nothing but raise NotImplementedError or pass."""
    for node in function.body:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                continue
            case ast.Raise(exc=ast.Name(id="NotImplementedError")):
                return True
            case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
                return True
            case _:
                return False
    return True
