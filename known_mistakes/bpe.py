"""A right but simple BPE trainer in pieces, of which each mistake replaces one."""

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import regex

from cs336_checks.catalogue import Kind

from .catalogue import mistake

PATTERN = regex.compile(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
EVERY_BYTE = [bytes([byte]) for byte in range(256)]

Pair = tuple[bytes, bytes]
Word = tuple[bytes, ...]
F = TypeVar("F", bound=Callable[..., Any])


def read(path: Path) -> str:
    """The text of a file as it is."""
    return path.read_bytes().decode("utf-8")


def longest_first(special_tokens: Sequence[str]) -> list[str]:
    """Special tokens in the order in which a pattern must try them."""
    return sorted(special_tokens, key=len, reverse=True)


def documents(text: str, special_tokens: Sequence[str]) -> list[str]:
    """The text between special tokens."""
    parts: list[str] = [text]
    if special_tokens:
        parts = regex.split("|".join(map(regex.escape, longest_first(special_tokens))), text)
    return parts


def pretokens(document: str) -> Iterable[str]:
    """What merges do not cross."""
    return PATTERN.findall(document)


def count(trainer: "Trainer", path: Path, special_tokens: Sequence[str]) -> Counter[str]:
    """How often each pre-token occurs in a file."""
    found: Counter[str] = Counter()
    for document in trainer.documents(trainer.read(path), special_tokens):
        found.update(trainer.pretokens(document))
    return found


def split(pretoken: str) -> Word:
    """The tokens a pre-token consists of at first."""
    return tuple(EVERY_BYTE[byte] for byte in pretoken.encode("utf-8"))


def pairs_of(word: Word) -> Counter[Pair]:
    """How often each pair occurs in a word."""
    return Counter(pairwise(word))


def tie(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    """One of the most frequent pairs; ``made`` numbers all tokens in order of creation."""
    return max(tied)


def choose(trainer: "Trainer", pairs: Mapping[Pair, int], made: Mapping[bytes, int]) -> Pair | None:
    """The pair to merge next, or None where there is none."""
    most = max(pairs.values(), default=0)
    if most < 1:
        return None
    return trainer.tie([pair for pair, n in pairs.items() if n == most], made)


def merge(word: Word, pair: Pair) -> Word:
    """A word with each occurrence of a pair joined, from left to right."""
    parts: list[bytes] = []
    i = 0
    while i < len(word):
        joined = word[i : i + 2] == pair
        parts.append(pair[0] + pair[1] if joined else word[i])
        i += 2 if joined else 1
    return tuple(parts)


def update(
    trainer: "Trainer", pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    """Bring the counts up to date once a word that occurs so many times has been merged."""
    for other, n in trainer.pairs_of(old).items():
        pairs[other] -= n * times
    for other, n in trainer.pairs_of(new).items():
        pairs[other] += n * times


def room(vocab_size: int, special_tokens: Sequence[str]) -> int:
    """How many merges the vocabulary has room for."""
    return vocab_size - 256 - len(special_tokens)


def number(special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]) -> Any:
    """The vocabulary."""
    specials = [token.encode("utf-8") for token in special_tokens]
    return dict(enumerate([*specials, *EVERY_BYTE, *(a + b for a, b in merges)]))


def returned(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    """What training returns."""
    return vocab, merges


@dataclasses.dataclass(frozen=True)
class Trainer:
    """The pieces of which training consists: the functions above."""

    read: Callable[[Path], str] = read
    documents: Callable[[str, Sequence[str]], list[str]] = documents
    pretokens: Callable[[str], Iterable[str]] = pretokens
    count: Callable[..., Counter[str]] = count
    split: Callable[[str], Word] = split
    pairs_of: Callable[[Word], Counter[Pair]] = pairs_of
    tie: Callable[[list[Pair], Mapping[bytes, int]], Pair] = tie
    choose: Callable[..., Pair | None] = choose
    merge: Callable[[Word, Pair], Word] = merge
    update: Callable[..., None] = update
    room: Callable[[int, Sequence[str]], int] = room
    number: Callable[..., Any] = number
    returned: Callable[..., Any] = returned

    def train(
        self, input_path: str | os.PathLike[str], vocab_size: int, special_tokens: Sequence[str]
    ) -> Any:
        """Learn a vocabulary and its merges."""
        counts = self.count(self, Path(input_path), special_tokens)
        words, times = [self.split(pretoken) for pretoken in counts], list(counts.values())
        merges = self.learn(list(words), times, self.room(vocab_size, special_tokens))
        return self.returned(self.number(special_tokens, merges, words), merges)

    def learn(self, words: list[Word], times: list[int], most: int) -> list[Pair]:
        """Merge until there are so many merges or no pair is left."""
        pairs: Counter[Pair] = Counter()
        for word, n in zip(words, times, strict=True):
            for pair, occurrences in self.pairs_of(word).items():
                pairs[pair] += occurrences * n
        made = {token: i for i, token in enumerate(EVERY_BYTE)}
        merges: list[Pair] = []
        while len(merges) < most:
            best = self.choose(self, pairs, made)
            if best is None:
                break
            merges.append(best)
            made.setdefault(best[0] + best[1], len(made))
            for i, word in enumerate(words):
                if best[0] in word and best[1] in word:
                    words[i] = self.merge(word, best)
                    self.update(self, pairs, word, words[i], best, times[i])
            del pairs[best]
        return merges


def trainer_mistake(piece: str, *, kind: Kind, wrong: str, hint: str) -> Callable[[F], F]:
    """Enter a trainer in which the function below takes the place of one piece."""

    def enter(function: F) -> F:
        trainer = dataclasses.replace(Trainer(), **{piece: function})

        def adapter(
            input_path: str | os.PathLike[str],
            vocab_size: int,
            special_tokens: list[str],
            **kwargs: Any,
        ) -> Any:
            return trainer.train(input_path, vocab_size, special_tokens)

        adapter.__name__ = function.__name__
        mistake("train_bpe", "run_train_bpe", kind=kind, wrong=wrong, hint=hint)(adapter)
        return function

    return enter
