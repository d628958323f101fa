"""Encoding long texts: the result of tokenizer.py, with new pre-tokens side by side."""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import chain, islice

from cs336_basics.fast.batch_merging import BatchMerger
from cs336_basics.fast.pretokenization import split_in_pieces
from cs336_basics.tokenizer import CACHE_SIZE, CACHED_LENGTH, Tokenizer

# From this number of characters on, encoding all new pre-tokens at once saves time.
LONG_TEXT = 2**17
# The number of pre-tokens that are looked up at once.
TOGETHER = 2**18


class FastTokenizer(Tokenizer):
    """Encodes as Tokenizer does; long texts and long pre-tokens take less time."""

    @cached_property
    def in_order(self) -> bool:
        """True if every merge comes after the merges that make its two tokens.

        This holds for trained vocabularies.
        """
        made: set[bytes] = set()
        for first, second in reversed(self.merges):
            made.add(first + second)
            if first in made or second in made:
                return False
        return True

    @cached_property
    def batch_merger(self) -> BatchMerger | None:
        """A merger of many words at once, or None if a token of a merge has no id.

        It is built for the first long text, and takes as long as encoding half a megabyte.
        """
        try:
            return BatchMerger(self.ranks, self.token_ids) if self.ranks else None
        except KeyError:
            return None

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text.

        Raises:
            ValueError: the vocabulary lacks a byte of the text.
        """
        if len(text) < LONG_TEXT or self.batch_merger is None:
            return super().encode(text)
        parts = [text] if self.special_pattern is None else self.special_pattern.split(text)
        return self.encode_long(parts, self.batch_merger)

    def encode_long(self, parts: Iterable[str], merger: BatchMerger) -> list[int]:
        """Return the ids of texts and special tokens, which alternate."""
        # No pre-token holds a special token, so that both can be looked up in one table.
        pieces = ([[part]] if i % 2 else split_in_pieces(part) for i, part in enumerate(parts))
        pretokens = chain.from_iterable(chain.from_iterable(pieces))
        ids: list[int] = []
        while found := self.encode_together(islice(pretokens, TOGETHER), merger):
            ids += chain.from_iterable(found)
        return ids

    def encode_together(self, pretokens: Iterable[str], merger: BatchMerger) -> list[list[int]]:
        """Return the ids of each pre-token and special token, and encode all new ones at once."""
        # A copy, for threads that share a tokenizer must not see lists that are still empty.
        table = defaultdict(list, self.cache)
        table.update((token, [token_id]) for token, token_id in self.special_ids.items())
        num_known = len(table)
        found = list(map(table.__getitem__, pretokens))
        new = dict(islice(reversed(table.items()), len(table) - num_known))
        short = [pretoken for pretoken in new if len(pretoken) <= CACHED_LENGTH]
        encoded = merger.encode([pretoken.encode("utf-8") for pretoken in short])
        for pretoken, ids in zip(short, encoded, strict=True):
            new[pretoken].extend(ids)
        for pretoken in new.keys() - set(short):
            new[pretoken].extend(self.encode_pretoken(pretoken))
        if len(self.cache) + len(short) > CACHE_SIZE:
            self.cache.clear()
        self.cache.update((pretoken, new[pretoken]) for pretoken in short[:CACHE_SIZE])
        return found

    def merge(self, word: bytes) -> list[bytes]:
        """Merge the pair of lowest rank, the leftmost of several, until no pair has a rank.

        Places are kept by rank, and neighbours linked, so that a word of n bytes takes O(n log n).
        """
        parts = [word[i : i + 1] for i in range(len(word))]
        after = list(range(1, len(parts) + 1))
        before = list(range(-1, len(parts)))
        places: defaultdict[int, list[int]] = defaultdict(list)
        waiting: list[int] = []
        begins: Iterable[int] = range(len(parts) - 1)
        while True:
            for i in begins:
                rank = self.ranks.get((parts[i], parts[after[i]]))
                if rank is not None:
                    if rank not in places:
                        heapq.heappush(waiting, rank)
                    places[rank].append(i)
            if not waiting:
                return [part for part in parts if part]
            rank = heapq.heappop(waiting)
            found = sorted(places.pop(rank))
            if not self.in_order and len(found) > 1:  # a pair that is new may come before the rest
                found, places[rank] = found[:1], found[1:]
                heapq.heappush(waiting, rank)
            begins = merge_at(found, self.merges[rank], parts, after, before)


def merge_at(
    places: Iterable[int],
    pair: tuple[bytes, bytes],
    parts: list[bytes],
    after: list[int],
    before: list[int],
) -> list[int]:
    """Merge a pair where it still stands and return where the pairs of what it makes begin.

    Args:
        places: Where the pair has stood, from left to right.
        pair: Its two halves.
        parts: The word; a part that another has swallowed is empty.
        after: Where the part after each begins, the length of parts where there is none.
        before: Where the part before each begins, -1 where there is none.
    """
    first, second = pair
    both = first + second
    end = len(parts)
    last = -1
    begins: list[int] = []
    for i in places:
        j = after[i]
        if j < end and parts[i] == first and parts[j] == second:
            parts[i], parts[j] = both, b""
            after[i] = after[j]
            before[after[i]] = i
            if before[i] > last:  # otherwise that pair is known by its first half
                begins.append(before[i])
            begins.append(i)
            last = i
    return [i for i in begins if after[i] < end]
