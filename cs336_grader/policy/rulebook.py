"""Looks up what the rubric says of an operator or of a dotted name."""

from collections.abc import Iterator
from functools import cache

from cs336_checks.rubric import Rubric, Rules, holds
from cs336_grader.records import Consequence


class RuleBook:
    """The rules for each problem: those for all, and its own.

    Of the rules that hold a name, the longest decides; of two that are as long, the problem's own.
    """

    def __init__(self, rubric: Rubric) -> None:
        general = list(rulings(rubric.rules))
        self.of_problem = {
            name: general + list(rulings(problem)) for name, problem in rubric.problems.items()
        }
        self.deciding = cache(self._deciding)

    def ruling(self, name: str, problem: str) -> Consequence | None:
        """Return what the use of a name leads to in a problem; None where it is allowed."""
        return self.deciding(name, problem)[1]

    def family(self, name: str, problem: str) -> str:
        """Return a name, or of an operator the rule that holds it and others like it."""
        return self.deciding(name, problem)[0] if "::" in name else name

    def _deciding(self, name: str, problem: str) -> tuple[str, Consequence | None]:
        """Return the rule that decides on a name, with what it leads to."""
        holding = [rule for rule in self.of_problem[problem] if holds(rule[0], name)]
        # Of equals, max returns the first.
        return max(reversed(holding), key=lambda rule: len(rule[0]), default=("", None))


def rulings(rules: Rules) -> Iterator[tuple[str, Consequence | None]]:
    """Yield each rule with what it leads to."""
    yield from ((name, Consequence.HUMAN_LOOK) for name in rules.human_look)
    yield from ((name, Consequence.COSTS_POINTS) for name in rules.forbidden)
    yield from ((name, None) for name in rules.allowed)
