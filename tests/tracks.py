"""Tells which checks belong to work that has only one track of the assignment.

The tracks can be done one without the other; rubric.toml says which check is of which. A grader
reads the same file and decides in the same way.
"""

import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

RUBRIC = Path(__file__).with_name("rubric.toml")
# So many adapters of a track show that it is attempted: one name may be there by chance.
ENOUGH = 2


class Tracks:
    """The tracks of an assignment.

    Args:
        rubric: the file that tells them.

    Attributes:
        titles: what each track is called; empty where the assignment has none.
    """

    def __init__(self, rubric: Path = RUBRIC) -> None:
        table = tomllib.loads(rubric.read_text(encoding="utf-8"))
        self.titles: dict[str, str] = table.get("tracks", {})
        self.problems: list[dict[str, Any]] = list(table["problems"].values())
        self.problem_of = {check: one for one in self.problems for check in checks(one)}

    def has(self, check: str, chosen: Collection[str]) -> bool:
        """Whether a check is of one of these tracks."""
        return check in self.problem_of and self.problem_of[check].get("track") in chosen

    def attempted(self, adapters: object) -> list[str]:
        """The tracks that there are two adapters of, be they stubs; else the likeliest one."""
        own: dict[str, set[str]] = {track: set() for track in self.titles}
        for problem in self.problems:
            if not problem.get("extra"):
                own[problem["track"]].update(problem["adapters"])
        found = {track: sum(hasattr(adapters, name) for name in own[track]) for track in own}
        attempted = [track for track in own if found[track] >= min(ENOUGH, len(own[track]))]
        return attempted or [max(found, key=lambda track: found[track])]

    def why_left_out(self, check: str, adapters: object, chosen: Collection[str]) -> str:
        """Why a check is not to be run, or nothing where it is.

        Args:
            check: the name of its function.
            adapters: the submission's.
            chosen: the tracks that were asked for, whatever adapters there are.
        """
        problem = self.problem_of.get(check, {})
        track = problem.get("track", "")
        if track and track not in (chosen or self.attempted(adapters)):
            return f"{self.titles[track]}: the adapters lack it; to run it: --track {track}"
        names = problem.get("adapters", [])
        if problem.get("extra") and not any(hasattr(adapters, name) for name in names):
            return f"extra: the adapters lack {' or '.join(names)}"
        return ""


def checks(problem: dict[str, Any]) -> Iterator[str]:
    """The checks of a problem, whatever their tier."""
    core = problem["core"]
    yield from core if isinstance(core, list) else (name for part in core.values() for name in part)
    yield from (*problem.get("edge", ()), *problem.get("advice", ()))
