"""Every pair of neighbouring tokens in a set of words: where it stands and how often.

All words lie in one row of cells, one for each byte and an empty one between words. A token is
written into the cells of its first and of its last byte, so that from where one begins it is one
step to either neighbour, and all occurrences of a pair are merged by a few operations on arrays.

A pair comes into being with the younger of its tokens, in all its places at once, and from then on
only loses some. So nothing is kept up to date: the count a pair was born with is never too low, and
its places are looked through again only when it is about to be merged.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cs336_basics.train_bpe import BYTES

Pair = tuple[int, int]
Tokens = npt.NDArray[np.unsignedinteger]
Integers = npt.NDArray[np.int64]

INVERTED_BYTES = bytes(reversed(range(256)))


@dataclass
class Siblings:
    """Pairs that came into being together, those that were most frequent first.

    Attributes:
        keys: what pair_of makes each pair of.
        counts: how often each occurred then.
        starts, ends: where its places begin and end.
        places: the cells where occurrences begin, those of one pair together and in order.
        known: how many of the pairs the heap has been given.
    """

    keys: Tokens
    counts: Integers
    starts: Integers
    ends: Integers
    places: Integers
    pair_of: Callable[[int], Pair]
    known: int = 0

    @property
    def next_count(self) -> int:
        """How frequent the next pairs were; 0 when all are known."""
        return int(self.counts[self.known]) if self.known < len(self.counts) else 0

    def take(self) -> Iterator[tuple[Pair, Integers]]:
        """The next pairs, all that were equally frequent."""
        count = self.next_count
        while count and self.next_count == count:
            places = self.places[self.starts[self.known] : self.ends[self.known]]
            yield self.pair_of(int(self.keys[self.known])), places
            self.known += 1


class PairIndex:
    """The pairs of some words, to be merged one after the other.

    Args:
        word_counts: how often each word occurs.
        num_merges: how many merges there may be.

    Attributes:
        tokens: the bytes of each token; cells and pairs name tokens by their place in it.
    """

    def __init__(self, word_counts: Mapping[bytes, int], num_merges: int) -> None:
        self.tokens = list(BYTES)
        self.sort_keys = [descending(token) for token in self.tokens]
        self.lengths = np.ones(256 + num_merges, dtype=np.int64)
        # Half the memory where ids fit, and NumPy sorts 16 bits in linear time.
        dtype = np.uint16 if 256 + num_merges < 2**16 else np.uint32
        self.empty = int(np.iinfo(dtype).max)
        words = [word for word in word_counts if len(word) > 1]
        sizes = np.array([len(word) for word in words], dtype=np.int64)
        counts = np.array([word_counts[word] for word in words], dtype=np.int64)
        places = np.arange(sizes.sum()) + np.repeat(np.arange(1, len(words) + 1), sizes)
        self.cells = np.full(len(places) + len(words) + 1, self.empty, dtype=dtype)
        self.cells[places] = np.frombuffer(b"".join(words), dtype=np.uint8)
        self.weights = np.zeros(len(self.cells), dtype=np.int64)
        self.weights[places] = np.repeat(counts, sizes)
        self.heap: list[tuple[int, str, str, Pair, Integers]] = []
        self.newborn: list[tuple[int, int, Siblings]] = []
        self.serial = itertools.count()
        places = places[self.cells[places + 1] != self.empty]
        keys = self.cells[places].astype(np.uint16) * 256 + self.cells[places + 1].astype(np.uint16)
        self.add(keys, places, lambda key: divmod(key, 256))

    def add(
        self,
        keys: npt.NDArray[np.unsignedinteger],
        places: Integers,
        pair_of: Callable[[int], Pair],
    ) -> None:
        """Take note of new pairs: a key for the pair that begins at each place."""
        if not len(places):
            return
        order = keys.argsort(kind="stable")
        keys, places = keys[order], places[order]
        starts = np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))
        ends = np.concatenate((starts[1:], [len(keys)]))
        counts = np.add.reduceat(self.weights[places], starts)
        order = (-counts).argsort(kind="stable")
        starts, ends = starts[order], ends[order]
        self.announce(Siblings(keys[starts], counts[order], starts, ends, places, pair_of))

    def announce(self, siblings: Siblings) -> None:
        """Let the next of the siblings be known when their turn may have come."""
        if siblings.next_count:
            heapq.heappush(self.newborn, (-siblings.next_count, next(self.serial), siblings))

    def pop_most_frequent(self) -> tuple[Pair, Integers] | None:
        """Take the pair to merge next and its places, or None where no word has two tokens.

        Counts only fall, so a pair comes up too early, never too late, and is then put right. Of
        equally frequent ones that of the greater bytes comes first.
        """
        while True:
            self.make_known()
            if not self.heap:
                return None
            negative_count, _, _, pair, places = heapq.heappop(self.heap)
            places = self.still_there(pair, places)
            count = int(self.weights[places].sum())
            if count == -negative_count:
                return pair, places
            self.push(count, pair, places)

    def make_known(self) -> None:
        """Give the heap all pairs that may be as frequent as its first one."""
        while self.newborn and (not self.heap or self.newborn[0][0] <= self.heap[0][0]):
            negative_count, _, siblings = heapq.heappop(self.newborn)
            for pair, places in siblings.take():
                self.push(-negative_count, pair, places)
            self.announce(siblings)

    def push(self, count: int, pair: Pair, places: Integers) -> None:
        """Put a pair into the heap, whose smallest entry is to be merged first."""
        if count:
            first, second = pair
            entry = (-count, self.sort_keys[first], self.sort_keys[second], pair, places)
            heapq.heappush(self.heap, entry)

    def still_there(self, pair: Pair, places: Integers) -> Integers:
        """Those of the places where the pair has not been taken apart.

        A cell can only be mistaken for the beginning of a token that lay there before the present
        one. Tokens only grow, so that one is shorter, and no cell tells of it any more.
        """
        first, second = pair
        places = places[self.cells[places] == first]
        still: Integers = places[self.cells[places + len(self.tokens[first])] == second]
        return still

    def merge(self, pair: Pair, places: Integers) -> tuple[bytes, bytes]:
        """Put a new token in all places of a pair and return the bytes of its halves."""
        first, second = (self.tokens[token] for token in pair)
        merged, size = len(self.tokens), len(first) + len(second)
        self.tokens.append(first + second)
        self.sort_keys.append(descending(first + second))
        self.lengths[merged] = size
        if pair[0] == pair[1]:
            places = without_overlaps(places, len(first))
        # The second token is gone from where it began, and the new one may end right there.
        self.cells[places + len(first)] = self.empty
        self.cells[places] = self.cells[places + (size - 1)] = merged
        before = self.cells[places - 1]
        # Of two new tokens side by side, the pair is that of the first and what follows it.
        old = (before != self.empty) & (before != merged)
        self.add(before[old], places[old] - self.lengths[before[old]], lambda key: (key, merged))
        after = self.cells[places + size]
        inside = after != self.empty
        self.add(after[inside], places[inside], lambda key: (merged, key))
        return first, second


def without_overlaps(places: Integers, size: int) -> Integers:
    """Every other place of a run in which each begins where the one before it has its second half.

    >>> without_overlaps(np.array([0, 2, 4, 9, 11]), 2).tolist()
    [0, 4, 9]
    """
    index = np.arange(len(places))
    begins = np.concatenate(([True], np.diff(places) != size))
    run = np.maximum.accumulate(np.where(begins, index, 0))
    kept: Integers = places[(index - run) % 2 == 0]
    return kept


def descending(token: bytes) -> str:
    """A key that sorts tokens from the greatest to the smallest.

    The character at its end is greater than any byte, for a token comes after its continuations.
    """
    return token.translate(INVERTED_BYTES).decode("latin-1") + "\u0100"
