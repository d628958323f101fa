"""The assignments that the grader is tried on: that of this repository, and a tiny one."""

from collections.abc import Iterable
from pathlib import Path

from cs336_checks.rubric import Check, load_assignment
from cs336_grader.judging.suite import Suite
from cs336_grader.scope import Scope, scope

ROOT = Path(__file__).parents[1]
TINY = ROOT / "grader_tests" / "tiny_assignment"
ASSIGNMENT = load_assignment(ROOT)
# What failed comparisons of the repository's own assignment are explained with.
SCOPE = scope(ASSIGNMENT, ASSIGNMENT.checks) or Scope("", {}, {}, {}, 0.0)


def checks_of(*problems: str) -> list[Check]:
    """The checks of some problems of the repository's own assignment."""
    return [check for check in ASSIGNMENT.checks.values() if check.problem in problems]


def suite_of(checks: Iterable[Check], seed: int = 0) -> Suite:
    """Some checks of that assignment, in this order."""
    return Suite(ROOT, seed, {check.name: check for check in checks})
