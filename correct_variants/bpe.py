"""BPE training: other ways to count, and other orders of the vocabulary."""

import heapq
import os
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import regex

from .catalogue import variant

PATTERN = regex.compile(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
EVERY_BYTE = [bytes([byte]) for byte in range(256)]

Pair = tuple[bytes, bytes]
Result = tuple[dict[int, bytes], list[Pair]]
# Learns at most so many merges from pre-tokens and their counts.
Learn = Callable[[Counter[bytes], int], list[Pair]]


def documents(text: str, special_tokens: Iterable[str]) -> list[str]:
    """The text between special tokens, of which the longest is looked for first."""
    escaped = [regex.escape(token) for token in sorted(special_tokens, key=len, reverse=True)]
    parts: list[str] = regex.split("|".join(escaped), text) if escaped else [text]
    return parts


def pretoken_counts(
    input_path: str | os.PathLike[str], special_tokens: list[str]
) -> Counter[bytes]:
    """How often each pre-token occurs."""
    text = Path(input_path).read_bytes().decode()
    return Counter(
        match.group().encode()
        for document in documents(text, special_tokens)
        for match in PATTERN.finditer(document)
    )


def merge_count(vocab_size: int, special_tokens: list[str]) -> int:
    """How many merges a vocabulary has room for."""
    if vocab_size < 256 + len(special_tokens):
        raise ValueError("vocab_size leaves no room for the bytes and special tokens")
    return vocab_size - 256 - len(special_tokens)


def merged(word: tuple[bytes, ...], pair: Pair) -> tuple[bytes, ...]:
    """A word with each occurrence of a pair joined, from left to right."""
    parts: list[bytes] = []
    i = 0
    while i < len(word):
        joined = word[i : i + 2] == pair
        parts.append(word[i] + word[i + 1] if joined else word[i])
        i += 2 if joined else 1
    return tuple(parts)


def by_recounting(pretokens: Counter[bytes], count: int) -> list[Pair]:
    """Count all pairs anew before each merge."""
    words = {tuple(word[i : i + 1] for i in range(len(word))): n for word, n in pretokens.items()}
    merges: list[Pair] = []
    while len(merges) < count:
        pairs: Counter[Pair] = Counter()
        for word, n in words.items():
            for pair in pairwise(word):
                pairs[pair] += n
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = {merged(word, best): n for word, n in words.items()}
    return merges


class Counts:
    """The counts of all pairs, kept up to date word by word."""

    def __init__(self, pretokens: Counter[bytes]) -> None:
        self.words = [tuple(word[i : i + 1] for i in range(len(word))) for word in pretokens]
        self.times = list(pretokens.values())
        self.pairs: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for i in range(len(self.words)):
            self.add(i, 1)

    def add(self, i: int, sign: int) -> set[Pair]:
        """Count a word's pairs, or take them away; the pairs."""
        pairs = list(pairwise(self.words[i]))
        for pair in pairs:
            self.pairs[pair] += sign * self.times[i]
            self.places[pair].add(i)
        return set(pairs)

    def merge(self, pair: Pair) -> set[Pair]:
        """Join a pair in all words that hold it; the pairs whose counts changed."""
        changed: set[Pair] = set()
        for i in self.places.pop(pair):
            changed |= self.add(i, -1)
            self.words[i] = merged(self.words[i], pair)
            changed |= self.add(i, 1)
        return changed


def by_updating(pretokens: Counter[bytes], count: int) -> list[Pair]:
    """Change the counts of the pairs in the words that hold the merged one."""
    counts = Counts(pretokens)
    merges: list[Pair] = []
    while len(merges) < count:
        best = max(counts.pairs, key=lambda pair: (counts.pairs[pair], pair), default=None)
        if best is None or not counts.pairs[best]:
            break
        merges.append(best)
        counts.merge(best)
    return merges


class Candidate:
    """A pair and its count; the one that is to be merged first is the least."""

    def __init__(self, count: int, pair: Pair) -> None:
        self.key = (count, pair)

    def __lt__(self, other: "Candidate") -> bool:
        return self.key > other.key


def by_heap(pretokens: Counter[bytes], count: int) -> list[Pair]:
    """Take pairs from a heap, and pass over those whose counts have changed."""
    counts = Counts(pretokens)
    heap = [Candidate(n, pair) for pair, n in counts.pairs.items()]
    heapq.heapify(heap)
    merges: list[Pair] = []
    while heap and len(merges) < count:
        n, best = heapq.heappop(heap).key
        if n <= 0 or n != counts.pairs[best]:
            continue
        merges.append(best)
        for pair in counts.merge(best):
            heapq.heappush(heap, Candidate(counts.pairs[pair], pair))
    return merges


def learned(
    learn: Learn, input_path: str | os.PathLike[str], vocab_size: int, special_tokens: list[str]
) -> list[Pair]:
    """The merges."""
    room = merge_count(vocab_size, special_tokens)
    return learn(pretoken_counts(input_path, special_tokens), room)


def joined(merges: list[Pair]) -> Iterator[bytes]:
    """What each merge makes."""
    return (left + right for left, right in merges)


@variant("train_bpe", "run_train_bpe")
def special_tokens_first(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,  # noqa: ARG001 - published parameters
) -> Result:
    """Numbers special tokens first, and counts all pairs anew for each merge."""
    merges = learned(by_recounting, input_path, vocab_size, special_tokens)
    tokens = [*(text.encode() for text in special_tokens), *EVERY_BYTE, *joined(merges)]
    return dict(enumerate(tokens)), merges


@variant("train_bpe", "run_train_bpe")
def special_tokens_after_bytes(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,  # noqa: ARG001 - published parameters
) -> Result:
    """Numbers special tokens after the bytes, and updates its counts."""
    merges = learned(by_updating, input_path, vocab_size, special_tokens)
    tokens = [*EVERY_BYTE, *(text.encode() for text in special_tokens), *joined(merges)]
    return dict(enumerate(tokens)), merges


@variant("train_bpe", "run_train_bpe")
def special_tokens_last(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,  # noqa: ARG001 - published parameters
) -> Result:
    """Numbers special tokens last, and takes pairs from a heap."""
    merges = learned(by_heap, input_path, vocab_size, special_tokens)
    tokens = [*EVERY_BYTE, *joined(merges), *(text.encode() for text in special_tokens)]
    return dict(enumerate(tokens)), merges


@variant("train_bpe", "run_train_bpe")
def any_order(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,  # noqa: ARG001 - published parameters
) -> Result:
    """Orders the vocabulary backwards, in another kind of dictionary."""
    merges = learned(by_heap, input_path, vocab_size, special_tokens)
    tokens = [*joined(merges), *EVERY_BYTE[::-1], *(text.encode() for text in special_tokens)]
    return OrderedDict(reversed(list(enumerate(tokens)))), merges


@variant("train_bpe", "run_train_bpe")
def found_by_hand(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,  # noqa: ARG001 - published parameters
) -> Result:
    """Finds special tokens with str.find, and pre-tokenizes with findall."""
    with Path(input_path).open(encoding="utf-8", newline="") as file:
        text = file.read()
    pretokens: Counter[bytes] = Counter()
    start = 0
    while start <= len(text):
        found = [(text.find(token, start), -len(token)) for token in special_tokens]
        at, length = min((place for place in found if place[0] >= 0), default=(len(text), -1))
        pretokens.update(match.encode() for match in PATTERN.findall(text[start:at]))
        start = at - length
    merges = by_updating(pretokens, merge_count(vocab_size, special_tokens))
    tokens = [*EVERY_BYTE, *joined(merges), *(text.encode() for text in special_tokens)]
    return dict(enumerate(tokens)), merges


@variant("train_bpe", "run_train_bpe")
def chunks_summed(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,  # noqa: ARG001 - published parameters
) -> Result:
    """Reads a large file in chunks that end before a special token or a line, and sums counts."""
    text = Path(input_path).read_bytes().decode()
    border = "|".join(map(regex.escape, special_tokens)) or r"\b\B"
    pretokens: Counter[bytes] = Counter()
    start = 0
    while start < len(text):
        cut = regex.compile(rf"{border}|(?<=\S)(?=\n)").search(text, start + 2**15)
        end = cut.start() if cut else len(text)
        for document in documents(text[start:end], special_tokens):
            pretokens.update(match.encode() for match in PATTERN.findall(document))
        start = end
    merges = by_heap(pretokens, merge_count(vocab_size, special_tokens))
    tokens = [*(text.encode() for text in special_tokens), *EVERY_BYTE, *joined(merges)]
    return dict(enumerate(tokens)), merges


@variant("train_bpe", "run_train_bpe")
def one_row_of_ids(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,  # noqa: ARG001 - published parameters
) -> Result:
    """Keeps all pre-tokens in one row of ids with borders between them, and counts beside it."""
    pretokens = pretoken_counts(input_path, special_tokens)
    row: list[int] = []
    times: list[int] = []
    for word, n in pretokens.items():
        row += [*word, -1]
        times += [n] * (len(word) + 1)
    tokens, merges = list(EVERY_BYTE), []
    for _ in range(merge_count(vocab_size, special_tokens)):
        pairs: Counter[tuple[int, int]] = Counter()
        for pair, n in zip(pairwise(row), times, strict=False):
            if -1 not in pair:
                pairs[pair] += n
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], tokens[pair[0]], tokens[pair[1]]))
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        i = 0
        while i < len(row) - 1:
            if (row[i], row[i + 1]) == best:
                row[i : i + 2] = [len(tokens) - 1]
                del times[i]
            i += 1
    tokens += [text.encode() for text in special_tokens]
    return dict(enumerate(tokens)), merges
