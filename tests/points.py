"""What the checks that passed are worth, by the rubric beside this file.

A grader counts in the same way; it may add points that are carried, and take those of an answer
that is not allowed.
"""

import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RUBRIC = Path(__file__).with_name("rubric.toml")


@dataclass(frozen=True)
class Problem:
    """A problem of the rubric.

    Attributes:
        core: the checks of each part, which all have to pass for it.
        edge_share: what its edge checks are worth together.
        track: the one it is of, if there are any.
        extra: whether its points come on top of the maximum.
    """

    id: str
    title: str
    points: float
    core: list[list[str]]
    edge: list[str]
    advice: list[str]
    edge_share: float
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
def problems(rubric: Path = RUBRIC) -> dict[str, Problem]:
    """The problems, in order."""
    tables = tomllib.loads(rubric.read_text(encoding="utf-8"))
    edge_share = tables.get("scoring", {}).get("edge_share", 0.2)
    return {
        name: Problem(
            name,
            table["title"],
            table["points"],
            [table["core"]] if isinstance(table["core"], list) else list(table["core"].values()),
            table.get("edge", []),
            table.get("advice", []),
            edge_share,
            table.get("track", ""),
            table.get("extra", False),
        )
        for name, table in tables["problems"].items()
    }
