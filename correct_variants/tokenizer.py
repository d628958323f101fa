"""Tokenizers: other ways to apply merges, to split out special tokens, and to read a stream."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

import regex

from .bpe import PATTERN, Pair
from .catalogue import variant

# From how many pre-tokens before its end a text may be split otherwise when it goes on: after
# ' and r, an e makes one of both.
UNCERTAIN = 2

Vocabulary = dict[int, bytes]


class Tokenizer:
    """A tokenizer that is told how to merge a pre-token's bytes."""

    def __init__(
        self,
        vocab: Vocabulary,
        merges: list[Pair],
        special_tokens: list[str] | None,
        merge: Callable[[dict[Pair, int], bytes], list[bytes]],
    ) -> None:
        self.vocab = dict(vocab)
        for text in special_tokens or ():
            if text.encode() not in self.vocab.values():
                self.vocab[max(self.vocab, default=-1) + 1] = text.encode()
        self.ids = {token: number for number, token in self.vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.special_tokens = sorted(special_tokens or (), key=len, reverse=True)
        self.borders = regex.compile("|".join(map(regex.escape, self.special_tokens)))
        self.merge = merge

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return list(self.encode_iterable([text]))

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        """The ids of a stream of texts."""
        rest = ""
        for text in iterable:
            ids, rest = self.encode_certain(rest + text, self.undecided(rest + text))
            yield from ids
        yield from self.encode_certain(rest, len(rest), uncertain=0)[0]

    def undecided(self, text: str) -> int:
        """Where the text may be in the midst of a special token; its length if nowhere."""
        longest = max(map(len, self.special_tokens), default=1)
        for start in range(max(0, len(text) - longest + 1), len(text)):
            if any(token.startswith(text[start:]) for token in self.special_tokens):
                return start
        return len(text)

    def encode_certain(
        self, text: str, end: int, uncertain: int = UNCERTAIN
    ) -> tuple[list[int], str]:
        """The ids of what stays as it is however the text goes on, and the rest of it."""
        ids: list[int] = []
        start = 0
        for match in self.borders.finditer(text) if self.special_tokens else ():
            if match.start() >= end:
                break
            ids += self.encode_ordinary(PATTERN.findall(text[start : match.start()]))
            ids.append(self.ids[match.group().encode()])
            start = match.end()
        pretokens = PATTERN.findall(text[start : max(start, end)])
        certain = pretokens[: max(0, len(pretokens) - uncertain)]
        ids += self.encode_ordinary(certain)
        return ids, text[start + sum(map(len, certain)) :]

    def encode_ordinary(self, pretokens: list[str]) -> Iterator[int]:
        """The ids of pre-tokens."""
        for pretoken in pretokens:
            for token in self.merge(self.ranks, pretoken.encode()):
                yield self.ids[token]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids stand for."""
        return b"".join(self.vocab[number] for number in ids).decode(errors="replace")


def lowest_rank_first(ranks: dict[Pair, int], word: bytes) -> list[bytes]:
    """Join the leftmost pair of lowest rank until there is none."""
    parts = [word[i : i + 1] for i in range(len(word))]
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not found:
            return parts
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def all_of_a_pair(ranks: dict[Pair, int], word: bytes) -> list[bytes]:
    """Join all occurrences of the pair of lowest rank at once, until there is none."""
    parts = [bytes([byte]) for byte in word]
    while len(parts) > 1:
        pairs = set(pairwise(parts))
        best = min(pairs, key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        new: list[bytes] = []
        for part in parts:
            # A part just joined is longer than the pair's first half, so it is not joined again.
            if new and part == best[1] and new[-1] == best[0]:
                new[-1] += part
            else:
                new.append(part)
        parts = new
    return parts


def with_heap(ranks: dict[Pair, int], word: bytes) -> list[bytes]:
    """Take places from a heap; joined parts leave an empty place."""
    parts = [bytes([byte]) for byte in word]
    before, after = list(range(-1, len(parts) - 1)), list(range(1, len(parts) + 1))
    heap: list[tuple[int, int, Pair]] = []

    def push(i: int) -> None:
        if i >= 0 and after[i] < len(parts):
            pair = (parts[i], parts[after[i]])
            if pair in ranks:
                heapq.heappush(heap, (ranks[pair], i, pair))

    for i in range(len(parts)):
        push(i)
    while heap:
        _, i, pair = heapq.heappop(heap)
        j = after[i]
        if j >= len(parts) or (parts[i], parts[j]) != pair:
            continue
        parts[i], parts[j] = parts[i] + parts[j], b""
        after[i] = after[j]
        if after[i] < len(parts):
            before[after[i]] = i
        push(before[i])
        push(i)
    return [part for part in parts if part]


def every_merge_in_turn(ranks: dict[Pair, int], word: bytes) -> list[bytes]:
    """Go through all merges in order of creation, and join each wherever it fits."""
    parts = [word[i : i + 1] for i in range(len(word))]
    for left, right in ranks:
        i = 0
        while left in parts[i:-1]:
            i = parts.index(left, i)
            if parts[i + 1] == right:
                parts[i : i + 2] = [left + right]
            i += 1
    return parts


@variant("tokenizer", "get_tokenizer")
def leftmost_pair_of_lowest_rank(
    vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    """Joins one pair at a time, the leftmost of lowest rank."""
    return Tokenizer(vocab, merges, special_tokens, lowest_rank_first)


@variant("tokenizer", "get_tokenizer")
def whole_passes(
    vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    """Joins all occurrences of a pair in one pass."""
    return Tokenizer(vocab, merges, special_tokens, all_of_a_pair)


@variant("tokenizer", "get_tokenizer")
def heap_of_places(
    vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    """Keeps the places that can be joined in a heap."""
    return Tokenizer(vocab, merges, special_tokens, with_heap)


@variant("tokenizer", "get_tokenizer")
def remembered_words(
    vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    """Remembers the words it has seen."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}

    @lru_cache(maxsize=10_000)
    def merge(word: bytes) -> list[bytes]:
        return with_heap(ranks, word)

    return Tokenizer(vocab, merges, special_tokens, lambda _, word: merge(word))


class Ids:
    """An iterator of a class of its own."""

    def __init__(self, ids: Iterator[int]) -> None:
        self.ids = ids

    def __iter__(self) -> "Ids":
        return self

    def __next__(self) -> int:
        return next(self.ids)


@variant("tokenizer", "get_tokenizer")
def iterator_of_its_own(
    vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    """Gives encode_iterable's ids with an iterator that is no generator."""

    class WithIterator(Tokenizer):
        def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
            return Ids(super().encode_iterable(iterable))

    return WithIterator(vocab, merges, special_tokens, all_of_a_pair)


@variant("tokenizer", "get_tokenizer")
def merges_in_turn(
    vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    """Looks at every merge for every word that it has not seen before."""
    known: dict[bytes, list[bytes]] = {}

    def merge(ranks: dict[Pair, int], word: bytes) -> list[bytes]:
        if word not in known:
            known[word] = every_merge_in_turn(ranks, word)
        return known[word]

    return Tokenizer(vocab, merges, special_tokens, merge)


@variant("tokenizer", "get_tokenizer")
def each_item_by_itself(
    vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    """Encodes each item of a stream by itself."""

    class ByItem(Tokenizer):
        def encode(self, text: str) -> list[int]:
            return list(super().encode_iterable([text]))

        def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
            for text in iterable:
                yield from self.encode(text)

    return ByItem(vocab, merges, special_tokens, lowest_rank_first)
