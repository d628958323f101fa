"""Wrong ways to write the small assignment."""

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """A wrong way to write an adapter."""

    id: str
    problem: str
    wrong: str
    replaces: dict[str, Callable[..., Any]]


def padded(values: Sequence[float], width: int) -> list[float]:
    """Averages what there is at the end."""
    return [sum(values[i : i + width]) / width for i in range(len(values))]


def truncated(values: Sequence[float], width: int) -> list[float]:
    """Divides without a remainder."""
    return [sum(values[i : i + width]) // width for i in range(len(values) - width + 1)]


def capitals_apart(text: str) -> dict[str, int]:
    """Keeps capitals."""
    return dict(Counter(text.split()))


def counted_once(text: str) -> dict[str, int]:
    """Finds each word once."""
    return dict.fromkeys(text.lower().split(), 1)


def all_at_once(numbers: Iterable[float]) -> Iterator[float]:
    """Takes all numbers before the first total."""
    taken = list(numbers)
    return (sum(taken[: count + 1]) for count in range(len(taken)))


def mistake(problem: str, adapter: str, function: Callable[..., Any]) -> Mistake:
    """An entry of the catalogue."""
    wrong = (function.__doc__ or "").rstrip(".").lower()
    return Mistake(f"{problem}/{function.__name__}", problem, wrong, {adapter: function})


MISTAKES = [
    mistake("moving_average", "run_moving_average", padded),
    mistake("moving_average", "run_moving_average", truncated),
    mistake("count_words", "run_count_words", capitals_apart),
    mistake("count_words", "run_count_words", counted_once),
    mistake("running_totals", "run_running_totals", all_at_once),
]


def adapters_with(*mistakes: Mistake) -> SimpleNamespace:
    """The reference's adapters, some replaced. They can be imported while the suite runs."""
    replaced = {name: function for known in mistakes for name, function in known.replaces.items()}
    return SimpleNamespace(**{**vars(importlib.import_module("adapters")), **replaced})
