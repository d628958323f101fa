"""Wrong ways to write the small assignment."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cs336_checks.catalogue import Mistakes, adapters_with

__all__ = ["MISTAKES", "adapters_with"]

MISTAKES = Mistakes()


@MISTAKES.enter(
    "moving_average",
    "run_moving_average",
    wrong="the end is averaged over what there is",
    hint="How many values has the last run?",
)
def padded(values: Sequence[float], width: int) -> list[float]:
    return [sum(values[i : i + width]) / width for i in range(len(values))]


@MISTAKES.enter(
    "moving_average",
    "run_moving_average",
    wrong="the sum is divided without a remainder",
    hint="Which division gives a fraction?",
)
def truncated(values: Sequence[float], width: int) -> list[float]:
    return [sum(values[i : i + width]) // width for i in range(len(values) - width + 1)]


@MISTAKES.enter(
    "count_words",
    "run_count_words",
    wrong="capitals make another word",
    hint="Is a word at the beginning of a sentence another one?",
    kind="edge",
)
def capitals_apart(text: str) -> dict[str, int]:
    return dict(Counter(text.split()))


@MISTAKES.enter(
    "count_words",
    "run_count_words",
    wrong="each word is counted once",
    hint="What happens to a word that comes again?",
)
def counted_once(text: str) -> dict[str, int]:
    return dict.fromkeys(text.lower().split(), 1)


@MISTAKES.enter(
    "running_totals",
    "run_running_totals",
    wrong="all numbers are taken before the first total",
    hint="Which number does the first total need?",
    kind="laziness",
)
def all_at_once(numbers: Iterable[float]) -> Iterator[float]:
    taken = list(numbers)
    return (sum(taken[: count + 1]) for count in range(len(taken)))
