"""Says of every known mistake whether a run that holds it names it: the confusion table.

    python -m grader_tests.confusion [--seed N] [PROBLEM …]

At seed 0 it is named by the saved fingerprints, as in a student's run; at any other by what the
problem's mistakes give at that seed, as in the grader.
"""

# ruff: noqa: T201 (a table is all it prints)

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import pytest

from cs336_checks.catalogue import KnownMistake
from cs336_checks.comparison import Explanation
from cs336_checks.diagnosis import Suspect, diagnose, recognise
from cs336_checks.fingerprints import FingerprintFolder, fingerprint
from cs336_checks.suite_folder import SuiteFolder
from cs336_grader.audit.trials import kept
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.judging.suite import SuiteRun
from grader_tests.assignments import ASSIGNMENT, ROOT, checks_of, suite_of
from known_mistakes import MISTAKES, adapters_with

SUITE = SuiteFolder(ROOT / "tests")
FINGERPRINTS = SUITE.fingerprints


@dataclass
class Row:
    """What became of one mistake in the checks of its own problem.

    Attributes:
        named: the cases that name it, alone or with up to two others.
        misnamed: what other cases name instead.
        silent: the cases in which it fails a comparison and nothing is said.
    """

    named: list[str] = field(default_factory=list)
    misnamed: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)

    @property
    def compared(self) -> bool:
        """Whether it changes anything that is compared."""
        return bool(self.named or self.misnamed or self.silent)


class FirstWrong:
    """Keeps the first comparison of a case that is wrong."""

    def __init__(self) -> None:
        self.seen: Any = None

    def observe(self, comparison: Any) -> None:
        """Look at a comparison."""
        if self.seen is None and comparison.facts(reveal=False) is not None:
            expected = tuple(kept(value) for value in comparison.expected)
            self.seen = replace(comparison, actual=kept(comparison.actual), expected=expected)


class Diagnosed(SuiteRun):
    """Runs each case of one problem with each of the problem's mistakes, and diagnoses it."""

    def __init__(self, problem: str, seed: int) -> None:
        super().__init__(suite_of(checks_of(problem), seed), RecordedValues())
        self.problem = problem
        self.own = [mistake for mistake in MISTAKES if mistake.problem == problem]
        self.rows = {mistake.id: Row() for mistake in self.own}

    def case(self, item: pytest.Item) -> None:
        """Diagnose a case with each mistake."""
        if "snapshot" not in getattr(item, "fixturenames", ()):
            return
        self.record(item)
        wrong = {}
        for mistake in self.own:
            observer = FirstWrong()
            self.run_with(item, LocalAdapters(partial(adapters_with, mistake)), observer)
            if observer.seen is not None:
                wrong[mistake.id] = mistake, observer.seen
        for name, (_, comparison) in wrong.items():
            found = self.diagnosis(comparison, wrong.values())
            row = self.rows[name]
            if not found.statement:
                row.silent.append(item.name)
            elif name in found.mistakes:
                row.named.append(item.name)
            else:
                row.misnamed.append((item.name, found.mistakes))

    def diagnosis(self, comparison: Any, wrong: Iterable[tuple[KnownMistake, Any]]) -> Explanation:
        """What is said of one mistake's output."""
        if self.suite.seed == 0:
            return recognise(comparison, saved(), SUITE.title)
        suspects = [
            Suspect((mistake,), print_)
            for mistake, other in wrong
            if other.position == comparison.position
            and (print_ := fingerprint(other.actual)) is not None
        ]
        return diagnose(comparison, suspects, self.problem, SUITE.title)


@cache
def saved() -> FingerprintFolder:
    """The saved fingerprints, each file of which is read once."""
    return FingerprintFolder(FINGERPRINTS)


def confusion(problem: str, seed: int) -> dict[str, Row]:
    """The rows of one problem's mistakes, by their ids."""
    runner = Diagnosed(problem, seed)
    runner.run()
    return runner.rows


def summary(problem: str, rows: dict[str, Row]) -> tuple[int, int, int]:
    """Print what became of a problem's mistakes; how many are compared, named and misnamed."""
    compared = {name: row for name, row in rows.items() if row.compared}
    named = sum(bool(row.named) for row in compared.values())
    misnamed = sum(bool(row.misnamed) for row in compared.values())
    print(f"{problem:30}{len(rows):5}{len(compared):10}{named:7}{misnamed:10}", flush=True)
    for name, row in compared.items():
        if not row.named or row.misnamed:
            print(f"    {name}: silent in {len(row.silent)}, misnamed {row.misnamed[:2]}")
    return len(compared), named, misnamed


def main() -> int:
    """Print the table; fail where fewer than 95 in 100 are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("problems", nargs="*", default=list(ASSIGNMENT.rubric.problems))
    options = parser.parse_args()
    print(f"{'seed ' + str(options.seed):30}known  compared  named  misnamed")
    counts = [summary(name, confusion(name, options.seed)) for name in options.problems]
    compared, named, misnamed = (sum(column) for column in zip(*counts, strict=True))
    print(f"{'all':30}     {compared:10}{named:7}{misnamed:10}{named / compared:10.1%}")
    return int(named < 0.95 * compared)


if __name__ == "__main__":
    sys.exit(main())
