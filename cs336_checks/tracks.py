"""Checks that belong to work that was not begun.

The tracks of an assignment can be done one without the other; the rubric says which check belongs
to which. A grader decides in the same way, except where nothing is filled in: the grader then takes
the first track, and a student's run takes all, because the choice is still open.
"""

import ast
import inspect
import textwrap
from collections.abc import Collection

from .rubric import Rubric, adapters_of_tracks, attempted_tracks


class Tracks:
    """The tracks of an assignment, and what of them a submission has begun.

    Args:
        rubric: names the tracks.
        adapters: the submission's.

    Attributes:
        there: the adapters that the submission has, stubs included.
        begun: those that are filled in; all that are there where none is.
        attempted: the tracks that the submission attempts.
    """

    def __init__(self, rubric: Rubric, adapters: object) -> None:
        self.rubric = rubric
        self.problem_of = rubric.problem_of_checks()
        names = {name for problem in rubric.problems.values() for name in problem.adapters}
        self.there = {name for name in names if hasattr(adapters, name)}
        filled = {name for name in self.there if is_filled_in(getattr(adapters, name))}
        self.begun = filled or self.there
        self.attempted = attempted_tracks(rubric, self.begun, self.there - self.begun)

    def why_left_out(self, check: str, chosen: Collection[str] = ()) -> str:
        """Return why a check is not run, or an empty text where it is run.

        Args:
            check: the name of its function.
            chosen: the tracks that were asked for, whatever is filled in.
        """
        name = self.problem_of.get(check)
        if name is None:
            return ""
        problem = self.rubric.problems[name]
        if problem.track and problem.track not in (chosen or self.attempted):
            why = self.why_not_attempted(problem.track)
            title = self.rubric.tracks[problem.track]
            return f"{title}: {why}; to run it: --track {problem.track}"
        if problem.extra and self.begun.isdisjoint(problem.adapters):
            missing = " or ".join(problem.adapters)
            return f"extra: {missing} is not filled in; to run it: -k {name}"
        return ""

    def why_not_attempted(self, track: str) -> str:
        """Return why a track is not among those that are attempted."""
        names = adapters_of_tracks(self.rubric)[track]
        if filled := names & self.begun:
            return f"filled in is only {', '.join(sorted(filled))}"
        return "no adapter is filled in" if names & self.there else "the adapters lack it"


def is_filled_in(adapter: object) -> bool:
    """Return True for an adapter that is more than the stub that was handed out."""
    try:
        found = ast.parse(textwrap.dedent(inspect.getsource(adapter))).body[0]  # type: ignore[arg-type]  # or it raises
    except (OSError, TypeError, SyntaxError):
        # A stub is a function that has a source.
        return True
    return not (isinstance(found, ast.FunctionDef) and is_stub(found))


def is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True for a function that does nothing but raise NotImplementedError or pass."""
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
