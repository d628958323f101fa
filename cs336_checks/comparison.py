"""Comparisons of a check, the failures that come of them, exceptions that it asks for."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .differences import Tolerance, as_array, difference, distance

T = TypeVar("T")

# What a broken program raises, and none raises on purpose because a value is not allowed.
BROKEN = frozenset(
    {
        "AttributeError",
        "ImportError",
        "IndentationError",
        "MemoryError",
        "ModuleNotFoundError",
        "NameError",
        "NotImplementedError",
        "RecursionError",
        "SyntaxError",
        "SystemError",
        "TypeError",
        "UnboundLocalError",
    }
)
# No check compares as many numbers; what is larger would take gigabytes to compare.
MOST_ELEMENTS = 2**24
# A list that holds so many times as much as is expected, and more than this, is not looked at:
# to find out what is wrong with it would take minutes.
MOST_TIMES, MOST_ITEMS = 10, 10_000


@dataclass(frozen=True)
class Comparison:
    """A value that a check got, and what it is compared with.

    Attributes:
        check: the check's name with its parameters.
        name: tells the values apart where a check compares several; "output" where it is one.
        actual: what the submission returned.
        expected: the value that is explained when none matches, then others just as right.
        tolerance: how far numbers may differ.
        same_dtype: whether the dtype must be the same, not only of the same kind.
        position: how many comparisons of the same case came before.
        meaning: the bytes that each integer of a list stands for, as a token id does.
    """

    check: str
    name: str
    actual: object
    expected: tuple[object, ...]
    tolerance: Tolerance
    same_dtype: bool = False
    position: int = 0
    meaning: Mapping[int, bytes] | None = None

    def facts(self, *, reveal: bool) -> str | None:
        """Return what differs from the first expected value, or None if one of them matches."""
        if self.is_oversized():
            return self.oversize()
        found = [
            difference(
                self.actual,
                value,
                self.tolerance,
                same_dtype=self.same_dtype,
                reveal=reveal,
                meaning=self.meaning,
            )
            for value in self.expected
        ]
        return None if None in found else found[0]

    def is_oversized(self) -> bool:
        """Return True if there is too much of it to be looked at closely."""
        return size(self.actual, self.most()) > self.most()

    def most(self) -> int:
        """How many numbers, or items and characters, are looked at."""
        if not isinstance(self.expected[0], list):
            return MOST_ELEMENTS
        return max(MOST_ITEMS, MOST_TIMES * max(map(size, self.expected)))

    def oversize(self) -> str:
        """Return what is told where there is too much of it."""
        expected = self.expected[0]
        if not isinstance(expected, list):
            return f"More than {self.most():,} numbers are far too many; none was compared."
        if isinstance(self.actual, list | tuple) and len(self.actual) > self.most():
            count = f"{len(expected):,} items are expected; yours has {len(self.actual):,}."
            return f"{count} None was compared."
        return (
            f"More than {self.most():,} items and characters are far too many; none was compared."
        )

    def distance(self) -> float:
        """How far it is from the nearest expected value, as a multiple of what is allowed."""
        if self.is_oversized():
            return np.inf
        return min(
            distance(self.actual, value, self.tolerance, same_dtype=self.same_dtype)
            for value in self.expected
        )


def size(value: object, most: float = math.inf) -> int:
    """How much a value holds: numbers, characters, items with all that they hold.

    Args:
        value: what is counted.
        most: counting ends when there is more.
    """
    total, waiting = 0, [value]
    while waiting and total <= most:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            total += len(item)
            within = item if total <= most else ()
            waiting += [part for part in within if not isinstance(part, int | float)]
        elif isinstance(item, str | bytes):
            total += len(item)
        elif (array := as_array(item)) is not None:
            total += array.size
    return total


@dataclass(frozen=True)
class Explanation:
    """An explanation of a failed comparison.

    Attributes:
        statement: what gives the same output, or what the difference looks like.
        question: leads to the mistake without naming it.
        doubt: what else could give the same, or why known mistakes were not tried.
        mistakes: the ids of the known mistakes that give the same.
        candidates: the ids of all that give the same, too many to be told or too uncertain; None
            where the output could come of any mistake.
    """

    statement: str
    question: str = ""
    doubt: str = ""
    mistakes: tuple[str, ...] = ()
    candidates: tuple[str, ...] | None = ()


class CheckFailedError(AssertionError):
    """A check's requirement was not met.

    Attributes:
        facts: what was found, without the requirement.
        comparison: the comparison that failed, if it was one.
        picture: where its numbers differ, as ``pictures`` draws it; the grader's report shows it.
        explanation: what explains the difference, if that is known.
    """

    def __init__(
        self,
        facts: str,
        requirement: str = "",
        comparison: Comparison | None = None,
        picture: dict[str, object] | None = None,
        explanation: Explanation | None = None,
    ) -> None:
        self.facts = facts
        self.comparison = comparison
        self.picture = picture
        self.explanation = explanation
        told = () if explanation is None else (explanation.question, explanation.statement)
        super().__init__("\n".join(filter(None, (requirement, *told, facts))))


def require(condition: object, sentence: str) -> None:
    """Fail the check with a sentence unless a condition holds.

    Raises:
        CheckFailedError: the condition does not hold.
    """
    if not condition:
        raise CheckFailedError(sentence)


def assert_refuses(call: Callable[[T], object], allowed: T, refused: T, what: str) -> None:
    """Call a function with a value that it takes, then with one that it must refuse.

    A program that is broken or not written raises, too. So the first call must work, and what the
    second one raises must not be what a broken program raises: that is passed on.

    Args:
        call: the function, of the one value.
        allowed: a value that it takes.
        refused: a value that it must refuse with an exception.
        what: names the refused value in the failure, as in "an unknown token id".

    Raises:
        CheckFailedError: the refused value was accepted.
    """
    call(allowed)
    try:
        call(refused)
    except Exception as error:
        # An exception that was raised in another process carries its type's name as text.
        if getattr(error, "type_name", type(error).__name__) in BROKEN:
            raise
        return
    raise CheckFailedError(f"{what} was accepted without an exception.")


def is_finite(value: object) -> bool:
    """Return True if nothing in a tensor, array or number is NaN or infinite.

    What holds no numbers at all is left for a comparison to name.
    """
    array = as_array(value)
    return array is None or bool(np.isfinite(array).all())
