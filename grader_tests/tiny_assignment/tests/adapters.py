"""The only way a check reaches a submission."""

from collections.abc import Iterable, Iterator

from statistics_basics.averages import moving_average
from statistics_basics.counting import count_words
from statistics_basics.totals import running_totals


def run_moving_average(values: list[float], width: int) -> list[float]:
    """Return the mean of each run of `width` neighbours."""
    return moving_average(values, width)


def run_count_words(text: str) -> dict[str, int]:
    """Return how often each word of the text occurs."""
    return count_words(text)


def run_running_totals(numbers: Iterable[float]) -> Iterator[float]:
    """Return the total so far after each number."""
    return running_totals(numbers)
