"""Right ways to write the small assignment."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from cs336_checks.catalogue import Variants, adapters_with

__all__ = ["VARIANTS", "adapters_with"]

VARIANTS = Variants()


@VARIANTS.enter("moving_average", "run_moving_average")
def exact_sums(values: Sequence[float], width: int) -> list[float]:
    """Adds without rounding on the way."""
    return [math.fsum(values[i : i + width]) / width for i in range(len(values) - width + 1)]


@VARIANTS.enter("count_words", "run_count_words")
def one_by_one(text: str) -> dict[str, int]:
    """Counts in a loop."""
    counts: dict[str, int] = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts


@VARIANTS.enter("running_totals", "run_running_totals")
def accumulated(numbers: Iterable[float]) -> Iterator[float]:
    """Uses itertools."""
    return accumulate(numbers)
