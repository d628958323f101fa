"""Running totals."""

from collections.abc import Iterable, Iterator


def running_totals(numbers: Iterable[float]) -> Iterator[float]:
    """The total so far after each number, taking one number at a time."""
    total = 0.0
    for number in numbers:
        total += number
        yield total
