"""Word counts."""

from collections import Counter


def count_words(text: str) -> dict[str, int]:
    """How often each word occurs, in lower case."""
    return dict(Counter(text.lower().split()))
