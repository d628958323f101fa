"""Tells which checks belong to work that has only one track of the assignment.

The tracks can be done one without the other; rubric.toml says which check is of which. A grader
reads the same file and decides in the same way.
"""

from collections.abc import Collection
from pathlib import Path

from .problems import RUBRIC, problem_of_checks, problems, track_titles

# So many adapters of a track show that it is attempted: one name may be there by chance.
ENOUGH = 2


class Tracks:
    """The tracks of an assignment.

    Args:
        rubric: the file that tells them.

    Attributes:
        titles: what each track is called; empty where the assignment has none.
        problem_of: the problem that each check belongs to.
    """

    def __init__(self, rubric: Path = RUBRIC) -> None:
        self.titles = track_titles(rubric)
        self.problem_of = problem_of_checks(rubric)
        self.adapters: dict[str, set[str]] = {track: set() for track in self.titles}
        for problem in problems(rubric).values():
            if problem.track and not problem.extra:
                self.adapters[problem.track].update(problem.adapters)

    def has(self, check: str, chosen: Collection[str]) -> bool:
        """Whether a check is of one of these tracks."""
        return check in self.problem_of and self.problem_of[check].track in chosen

    def attempted(self, adapters: object) -> list[str]:
        """The tracks that there are two adapters of, be they stubs; else the likeliest one."""
        found = {
            track: sum(hasattr(adapters, name) for name in names)
            for track, names in self.adapters.items()
        }
        attempted = [
            track
            for track, names in self.adapters.items()
            if found[track] >= min(ENOUGH, len(names))
        ]
        return attempted or [max(found, key=lambda track: found[track])]

    def why_left_out(self, check: str, adapters: object, chosen: Collection[str]) -> str:
        """Why a check is not to be run, or nothing where it is.

        Args:
            check: the name of its function.
            adapters: the submission's.
            chosen: the tracks that were asked for, whatever adapters there are.
        """
        problem = self.problem_of.get(check)
        if problem is None:
            return ""
        if problem.track and problem.track not in (chosen or self.attempted(adapters)):
            title = self.titles[problem.track]
            return f"{title}: the adapters lack it; to run it: --track {problem.track}"
        if problem.extra and not any(hasattr(adapters, name) for name in problem.adapters):
            return f"extra: the adapters lack {' or '.join(problem.adapters)}"
        return ""
