"""Checks of the word counts."""

from typing import Any

from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

WORDS = ["red", "green", "blue", "grey"]


def test_count_words(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Counts how often each word occurs."""
    text = " ".join(draw.choices(WORDS, 30))
    counts = adapters.run_count_words(text)
    assert isinstance(counts, dict), "The counts are a dictionary."
    snapshot.assert_match(sorted(counts.items()))


def test_count_words_in_any_case(adapters: Any) -> None:
    """Takes words that differ in case alone for the same word."""
    assert adapters.run_count_words("Red red RED") == {"red": 3}, "One word was taken for several."


def test_count_words_of_nothing(adapters: Any) -> None:
    """Finds no word in an empty text."""
    assert adapters.run_count_words("") == {}, "A word was found."
