"""Checks of the word counts."""

import random
from typing import Any

WORDS = ["red", "green", "blue", "grey"]


def test_count_words(adapters: Any, snapshot: Any, draw: random.Random) -> None:
    """Counts how often each word occurs."""
    text = " ".join(draw.choice(WORDS) for _ in range(30))
    snapshot.assert_match(adapters.run_count_words(text))


def test_count_words_in_any_case(adapters: Any) -> None:
    """Takes words that differ in case alone for the same word."""
    assert adapters.run_count_words("Red red RED") == {"red": 3}, "One word was taken for several."


def test_count_words_of_nothing(adapters: Any) -> None:
    """Finds no word in an empty text."""
    assert adapters.run_count_words("") == {}, "A word was found."
