"""What the rubric beside this file says of the problems: names, tracks, checks and points.

A grader reads the same file and counts in the same way; it may add points that are carried, and
take those of an answer that is not allowed.
"""

import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RUBRIC = Path(__file__).with_name("rubric.toml")


@dataclass(frozen=True)
class Problem:
    """A problem of the rubric.

    Attributes:
        core: the checks of each part, which all have to pass for it.
        edge_share: what its edge checks are worth together.
        built_on: other problems that this one uses.
        track: the one it is of, if there are any.
        extra: whether its points come on top of the maximum.
    """

    id: str
    title: str
    points: float
    adapters: list[str]
    core: list[list[str]]
    edge: list[str]
    advice: list[str]
    edge_share: float
    built_on: Collection[str] = ()
    track: str = ""
    extra: bool = False

    @property
    def scored(self) -> list[str]:
        """The checks that earn points."""
        return [*(name for part in self.core for name in part), *self.edge]

    @property
    def checks(self) -> list[str]:
        """All checks."""
        return [*self.scored, *self.advice]

    def earned(self, passed: Collection[str]) -> float:
        """The points for what passed: of the core, and of the edge as far as the core is earned."""
        core = share(all(name in passed for name in part) for part in self.core)
        reserved = self.edge_share if self.edge else 0.0
        edge = share(name in passed for name in self.edge)
        return round(self.points * core * (1 - reserved + reserved * edge), 2)


def share(held: Iterable[bool]) -> float:
    """Which part of these is true; all of them if there are none."""
    counted = list(held)
    return sum(counted) / len(counted) if counted else 1.0


@cache
def tables(rubric: Path) -> dict[str, Any]:
    """All that a rubric holds."""
    return tomllib.loads(rubric.read_text(encoding="utf-8"))


@cache
def problems(rubric: Path = RUBRIC) -> dict[str, Problem]:
    """The problems, in order."""
    edge_share = tables(rubric).get("scoring", {}).get("edge_share", 0.2)
    return {
        name: Problem(
            name,
            table["title"],
            table["points"],
            table["adapters"],
            [table["core"]] if isinstance(table["core"], list) else list(table["core"].values()),
            table.get("edge", []),
            table.get("advice", []),
            edge_share,
            table.get("built_on", {}),
            table.get("track", ""),
            table.get("extra", False),
        )
        for name, table in tables(rubric)["problems"].items()
    }


def problem_of_checks(rubric: Path = RUBRIC) -> dict[str, Problem]:
    """The problem that each check belongs to."""
    return {name: problem for problem in problems(rubric).values() for name in problem.checks}


def track_titles(rubric: Path = RUBRIC) -> dict[str, str]:
    """What each track is called; nothing where the assignment has none."""
    titles: dict[str, str] = tables(rubric).get("tracks", {})
    return titles


def within_a_sentence(problem: str) -> str:
    """A problem's title as it stands within a sentence.

    >>> within_a_sentence("rope"), within_a_sentence("positionwise_feedforward")
    ('rotary position embedding', 'feed-forward network')
    """
    known = problems().get(problem)
    title = (known.title if known else problem).partition(":")[0]
    first = title.partition(" ")[0]
    # "RMSNorm" and "BPE" keep their capitals.
    return title if first[1:] != first[1:].lower() else title[:1].lower() + title[1:]
