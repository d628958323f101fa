"""Finds the known mistakes that explain a failed comparison, by making them.

A case is run again, in this process, with adapters that hold a mistake, and what they give is held
against what the submission gave. ``cs336_checks.diagnosis`` decides whether that explains it,
and how it is told. How much is tried is limited by counts, so that a report repeats; the limit
in time is far above what any search is known to take.
"""

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Protocol, cast

import pytest

from cs336_checks.catalogue import KnownMistake, Mistake
from cs336_checks.comparison import Comparison, Explanation
from cs336_checks.diagnosis import Suspect, diagnose, matches
from cs336_checks.fingerprints import Fingerprint, fingerprint
from cs336_checks.suite_folder import within_a_sentence
from cs336_grader.budget import Budget
from cs336_grader.scope import Scope

from .local_adapters import LocalAdapters

# A problem is given up on when so many cases in a row were explained by none of its own mistakes.
PATIENCE = 3
# How many mistakes that were diagnosed in other problems are tried together, at most.
MOST_TOGETHER = 3

# Runs a case with other adapters, shows its comparisons to an observer if there is one, which then
# keeps them from failing, and says why the case did not pass.
Observe = Callable[[pytest.Item, Any, Any], str]


class KnownMistakes(Protocol):
    """The module of an assignment's known mistakes."""

    MISTAKES: Sequence[KnownMistake]

    def adapters_with(self, *mistakes: Mistake) -> object:
        """Return the reference's adapters with these mistakes in them."""


class Onlooker:
    """Takes the fingerprint of what is compared at one position of a case.

    Attributes:
        seen: the fingerprint, if the value is wrong and nothing was before.
    """

    def __init__(self, position: int) -> None:
        self.position = position
        self.seen: Fingerprint | None = None

    def observe(self, comparison: Comparison) -> None:
        """Look at a comparison, and end the run when there is no more to see."""
        wrong = comparison.facts(reveal=False) is not None
        if comparison.position == self.position and wrong:
            self.seen = fingerprint(comparison.actual)
        if comparison.position >= self.position or wrong:
            pytest.skip("seen enough")


class Diagnostician:
    """Explains the failed comparisons of one run, and remembers what it has found.

    Attributes:
        found: for each problem, its mistakes that explained a case, each set of equals once.
        unexplained: problems with a failed case of which nothing is known.
    """

    def __init__(self, scope: Scope, observe: Observe) -> None:
        self.scope = scope
        self.observe = observe
        self.budget = Budget(scope.seconds, scope.problems)
        self.found: dict[str, list[tuple[Mistake, ...]]] = {}
        self.in_vain: dict[str, int] = {}
        self.unexplained: set[str] = set()
        self.looked_below: set[str] = set()
        self.known_to_pass: dict[tuple[str, ...], bool] = {}
        self.passed: dict[tuple[str, object], dict[str, pytest.Item]] = {}

    @cached_property
    def known(self) -> KnownMistakes:
        """The catalogue, imported when something has failed: it is long."""
        return cast(KnownMistakes, importlib.import_module(self.scope.catalogue))

    def note_passed(self, item: pytest.Item, problem: str, check: str) -> None:
        """Keep the first case of each check that the submission passed, if it compares anything."""
        if "snapshot" in getattr(item, "fixturenames", ()):
            self.passed.setdefault((problem, item.parent), {}).setdefault(check, item)

    def explain(
        self, item: pytest.Item, problem: str, comparison: Comparison
    ) -> Explanation | None:
        """Explain a comparison that the submission failed in a case, or say nothing."""
        below = self.scope.built_on.get(problem, ())
        for candidates in self.stages(problem, below):
            suspects = [
                suspect
                for mistakes in candidates
                if (suspect := self.suspect(item, comparison, mistakes)) is not None
            ]
            matching = [match.suspect for match in matches(comparison, suspects)]
            possible = self.possible(item, problem, matching)
            told = diagnose(comparison, possible, problem, self.title)
            if told.statement:
                self.remember(problem, told.mistakes)
                return told
            if matching:
                # It is one of them, if not known which: nothing further is to blame.
                break
        self.in_vain[problem] = self.in_vain.get(problem, 0) + 1
        self.unexplained.add(problem)
        return None

    def explain_message(self, item: pytest.Item, problem: str, message: str) -> Explanation | None:
        """Explain what a check found without a comparison, by mistakes found in parts below.

        A message says too little to accuse the problem itself; nor is a mistake its cause where the
        same comes of none.
        """
        for mistakes in itertools.chain(*self.found_below(problem)):
            if (
                self.observe(item, self.with_mistakes(mistakes), None) == message
                and self.observe(item, self.with_mistakes(()), None) != message
            ):
                clauses = ", and ".join(mistake.wrong for mistake in mistakes)
                return Explanation(
                    f"This comes of what was found in another problem: {clauses}.",
                    mistakes=tuple(mistake.id for mistake in mistakes),
                )
        self.unexplained.add(problem)
        return None

    def title(self, problem: str) -> str:
        """Return a problem's title within a sentence."""
        return within_a_sentence(self.scope.titles.get(problem, problem))

    def found_in(self, problem: str) -> list[Mistake]:
        """One of each set of equal mistakes that are found in a problem."""
        return list({equals[0].id: equals[0] for equals in self.found.get(problem, [])}.values())

    def found_below(self, problem: str) -> Iterator[list[tuple[Mistake, ...]]]:
        """The mistakes found in what a problem is built on: each alone, each two, and so on.

        Alone, equals are tried as well: here they may give something else.
        """
        below = self.scope.built_on.get(problem, ())
        alone = [one for other in below for equals in self.found.get(other, []) for one in equals]
        if alone:
            yield [(one,) for one in {one.id: one for one in alone}.values()]
        given = [one for other in below for one in self.found_in(other)]
        for count in range(2, min(len(given), MOST_TOGETHER) + 1):
            yield list(itertools.combinations(given, count))

    def stages(self, problem: str, below: Sequence[str]) -> Iterator[list[tuple[Mistake, ...]]]:
        """Yield what is tried, each stage only where the one before explained nothing.

        First what is known of this submission: the mistakes found in what the problem is built on,
        and those found in the problem itself. Then the problem's own mistakes, alone and together
        with the former, and beside them those of parts that fail and nothing explains; and once for
        each problem, all those it is built on.
        """
        yield from self.found_below(problem)
        given = [mistake for other in below for mistake in self.found_in(other)]
        together = [(), tuple(given)] if given else [()]
        found = {own.id: own for equals in self.found.get(problem, []) for own in equals}
        yield [(own, *others) for own in found.values() for others in together]
        if self.in_vain.get(problem, 0) >= PATIENCE:
            return
        tried = [known for known in self.known.MISTAKES if known.problem == problem]
        wrong_parts = self.unexplained.intersection(below)
        parts = [(known,) for known in self.known.MISTAKES if known.problem in wrong_parts]
        yield [*((known, *others) for known in tried for others in together), *parts]
        if problem not in self.looked_below:
            self.looked_below.add(problem)
            yield [(known,) for known in self.known.MISTAKES if known.problem in below]

    def suspect(self, item: pytest.Item, comparison: Any, mistakes: tuple[Mistake, ...]) -> Any:
        """Return what these mistakes give for a comparison, or None if it is right."""
        onlooker = Onlooker(comparison.position)
        self.observe(item, self.with_mistakes(mistakes), onlooker)
        return None if onlooker.seen is None else Suspect(mistakes, onlooker.seen)

    def possible(self, item: pytest.Item, problem: str, matching: list[Suspect]) -> list[Suspect]:
        """Those that would have passed what the submission passed."""
        passed = self.passed.get((problem, item.parent), {})
        return [
            suspect
            for suspect in matching
            if all(self.passes(case, suspect.mistakes) for case in passed.values())
        ]

    def passes(self, item: pytest.Item, mistakes: tuple[Mistake, ...]) -> bool:
        """Return True for a case that passes with mistakes; each is run once."""
        key = (item.nodeid, *(mistake.id for mistake in mistakes))
        if key not in self.known_to_pass:
            self.known_to_pass[key] = not self.observe(item, self.with_mistakes(mistakes), None)
        return self.known_to_pass[key]

    def with_mistakes(self, mistakes: Sequence[Mistake]) -> LocalAdapters:
        """Adapters that hold mistakes."""
        return LocalAdapters(partial(self.known.adapters_with, *mistakes))

    def remember(self, problem: str, ids: Sequence[str]) -> None:
        """Note which mistakes the submission holds: of equals in one problem, one of them."""
        self.in_vain[problem] = 0
        for name in {known.problem for known in self.known.MISTAKES if known.id in ids}:
            equals = tuple(m for m in self.known.MISTAKES if m.id in ids and m.problem == name)
            if equals not in self.found.setdefault(name, []):
                self.found[name].append(equals)
