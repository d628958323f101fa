"""Training a tokenizer on small corpora that checks write themselves.

In a corpus of one word a line, each word is a pre-token of its own and each line end another, of
one byte. So the words alone decide which pairs there are, and a short calculation gives the merges.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .texts import END_OF_TEXT
from .vocabularies import Merge

Train = Callable[..., tuple[dict[int, bytes], list[Merge]]]

# Documents that are joined without it have the same pre-tokens.
BETWEEN_DOCUMENTS = f"\n{END_OF_TEXT}\n"
# Pairs that are left over where a check has compared its merges, and less frequent than those.
MORE_WORDS = "\nqx\njk\nvz"


def trainer(adapters: Any, folder: Path) -> Train:
    """A function that trains on a text.

    Args:
        adapters: the submission's.
        folder: where the corpora are written.
    """
    count = 0

    def run(
        text: str, merge_count: int, special_tokens: tuple[str, ...] = (END_OF_TEXT,)
    ) -> tuple[dict[int, bytes], list[Merge]]:
        """The vocabulary and the merges, of which there are at most so many."""
        nonlocal count
        count += 1
        path = folder / f"corpus{count}.txt"
        path.write_bytes(text.encode())
        result = adapters.run_train_bpe(
            input_path=path,
            vocab_size=256 + len(special_tokens) + merge_count,
            special_tokens=list(special_tokens),
        )
        assert isinstance(result, tuple | list), "Training returns the vocabulary and the merges."
        assert len(result) == 2, "Training returns two things: the vocabulary and the merges."
        vocab, merges = result
        assert isinstance(vocab, dict), "The vocabulary is a dict from ids to bytes."
        assert isinstance(merges, list | tuple), "The merges are a list of pairs of bytes."
        return vocab, list(merges)

    return run


def first_merges(
    train: Train, corpus: str, count: int, special_tokens: tuple[str, ...] = (END_OF_TEXT,)
) -> list[Merge]:
    """The first merges, with room for more: how many there are is for other checks."""
    return train(corpus + MORE_WORDS, count + 2, special_tokens)[1][:count]


def lines(**counts: int) -> str:
    """A corpus of one word a line, each as often as said."""
    return "\n".join(word for word, count in counts.items() for _ in range(count))


def pairs(text: str) -> list[Merge]:
    """Merges written as ``a+b ab+c``, with ``_`` for a space."""
    halves = [merge.replace("_", " ").split("+") for merge in text.split()]
    return [(left.encode(), right.encode()) for left, right in halves]
