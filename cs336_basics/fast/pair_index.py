"""An index of all pairs of neighbouring tokens in a set of words: positions and counts.

All words are stored in one array of cells: one cell for each byte, and an empty cell between words.
A token's id is written into the cells of its first and of its last byte. The neighbours of a token
are therefore found in one step, and a few array operations merge all occurrences of a pair.

A merge creates a token, and with it all pairs that contain this token. Later merges can only remove
occurrences of these pairs. Counts are therefore updated lazily: a stored count is an upper bound,
and the index checks a pair's positions again only when the pair reaches the top of the heap.
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
class PairBatch:
    """Pairs that one merge created, in descending order of their counts.

    Attributes:
        keys: one integer for each pair, which pair_of turns into the pair.
        counts: the number of occurrences of each pair when it was created.
        starts, ends: the slice of positions that belongs to each pair.
        positions: the first cell of each occurrence, grouped by pair and ascending.
        num_taken: the number of pairs that are in the heap already.
    """

    keys: Tokens
    counts: Integers
    starts: Integers
    ends: Integers
    positions: Integers
    pair_of: Callable[[int], Pair]
    num_taken: int = 0

    @property
    def next_count(self) -> int:
        """Return the count of the next pair that is not in the heap, or 0 if there is none."""
        return int(self.counts[self.num_taken]) if self.num_taken < len(self.counts) else 0

    def take(self) -> Iterator[tuple[Pair, Integers]]:
        """Yield the next pairs, as long as they have the same count, with their positions."""
        count = self.next_count
        while count and self.next_count == count:
            positions = self.positions[self.starts[self.num_taken] : self.ends[self.num_taken]]
            yield self.pair_of(int(self.keys[self.num_taken])), positions
            self.num_taken += 1


class PairIndex:
    """The pairs of a set of words, merged one after the other.

    The heap holds pairs with their positions. A batch waits outside of the heap until the count of
    its next pair is at least that of the heap's first pair.

    Args:
        word_counts: the number of occurrences of each word.
        num_merges: the largest number of merges.

    Attributes:
        tokens: the bytes of each token, by token id.
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
        positions = np.arange(sizes.sum()) + np.repeat(np.arange(1, len(words) + 1), sizes)
        self.cells = np.full(len(positions) + len(words) + 1, self.empty, dtype=dtype)
        self.cells[positions] = np.frombuffer(b"".join(words), dtype=np.uint8)
        self.weights = np.zeros(len(self.cells), dtype=np.int64)
        self.weights[positions] = np.repeat(counts, sizes)
        self.heap: list[tuple[int, str, str, Pair, Integers]] = []
        self.batches: list[tuple[int, int, PairBatch]] = []
        self.serial = itertools.count()
        positions = positions[self.cells[positions + 1] != self.empty]
        keys = self.cells[positions].astype(np.uint16) * 256 + self.cells[positions + 1].astype(
            np.uint16
        )
        self.add(keys, positions, lambda key: divmod(key, 256))

    def add(
        self,
        keys: npt.NDArray[np.unsignedinteger],
        positions: Integers,
        pair_of: Callable[[int], Pair],
    ) -> None:
        """Add the pairs that begin at the given positions; equal keys mean equal pairs."""
        if not len(positions):
            return
        order = keys.argsort(kind="stable")
        keys, positions = keys[order], positions[order]
        starts = np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))
        ends = np.concatenate((starts[1:], [len(keys)]))
        counts = np.add.reduceat(self.weights[positions], starts)
        order = (-counts).argsort(kind="stable")
        starts, ends = starts[order], ends[order]
        self.enqueue(PairBatch(keys[starts], counts[order], starts, ends, positions, pair_of))

    def enqueue(self, batch: PairBatch) -> None:
        """Let a batch wait until its next pair may be the most frequent one."""
        if batch.next_count:
            heapq.heappush(self.batches, (-batch.next_count, next(self.serial), batch))

    def pop_most_frequent(self) -> tuple[Pair, Integers] | None:
        """Remove and return the next pair to merge and its positions, or None if there is none.

        Stored counts are upper bounds, so the first pair may be less frequent than its entry says.
        It then goes back into the heap with its present count. Of equally frequent pairs, the one
        with the lexicographically greater bytes comes first.
        """
        while True:
            self.fill_heap()
            if not self.heap:
                return None
            negative_count, _, _, pair, positions = heapq.heappop(self.heap)
            positions = self.present(pair, positions)
            count = int(self.weights[positions].sum())
            if count == -negative_count:
                return pair, positions
            self.push(count, pair, positions)

    def fill_heap(self) -> None:
        """Move all pairs into the heap that may be as frequent as its first pair."""
        while self.batches and (not self.heap or self.batches[0][0] <= self.heap[0][0]):
            negative_count, _, batch = heapq.heappop(self.batches)
            for pair, positions in batch.take():
                self.push(-negative_count, pair, positions)
            self.enqueue(batch)

    def push(self, count: int, pair: Pair, positions: Integers) -> None:
        """Add a pair to the heap, unless it occurs no more. The smallest entry is merged first."""
        if count:
            first, second = pair
            entry = (-count, self.sort_keys[first], self.sort_keys[second], pair, positions)
            heapq.heappush(self.heap, entry)

    def present(self, pair: Pair, positions: Integers) -> Integers:
        """Return the positions at which the pair still occurs.

        A merge overwrites the first cell of both its tokens. Where a cell still holds the first
        token, this token therefore begins there, and the next token begins right after it.
        """
        first, second = pair
        positions = positions[self.cells[positions] == first]
        still: Integers = positions[self.cells[positions + len(self.tokens[first])] == second]
        return still

    def merge(self, pair: Pair, positions: Integers) -> tuple[bytes, bytes]:
        """Merge a pair at the given positions, and return the bytes of its two tokens."""
        first, second = (self.tokens[token] for token in pair)
        merged, size = len(self.tokens), len(first) + len(second)
        self.tokens.append(first + second)
        self.sort_keys.append(descending(first + second))
        self.lengths[merged] = size
        if pair[0] == pair[1]:
            positions = without_overlaps(positions, len(first))
        # In this order: the new token may end in the cell where the second one began.
        self.cells[positions + len(first)] = self.empty
        self.cells[positions] = self.cells[positions + (size - 1)] = merged
        before = self.cells[positions - 1]
        # A pair of two new tokens is added once, with the pairs to the right.
        old = (before != self.empty) & (before != merged)
        self.add(before[old], positions[old] - self.lengths[before[old]], lambda key: (key, merged))
        after = self.cells[positions + size]
        inside = after != self.empty
        self.add(after[inside], positions[inside], lambda key: (merged, key))
        return first, second


def without_overlaps(positions: Integers, size: int) -> Integers:
    """Return every second position of each run of overlapping occurrences of a pair (t, t).

    Args:
        positions: the first cells of all occurrences, ascending.
        size: the length of t.

    >>> without_overlaps(np.array([0, 2, 4, 9, 11]), 2).tolist()
    [0, 4, 9]
    """
    index = np.arange(len(positions))
    begins = np.concatenate(([True], np.diff(positions) != size))
    run = np.maximum.accumulate(np.where(begins, index, 0))
    kept: Integers = positions[(index - run) % 2 == 0]
    return kept


def descending(token: bytes) -> str:
    """Return a key that sorts tokens from the greatest to the smallest.

    The last character is greater than any byte: a token sorts after those that it begins.
    """
    return token.translate(INVERTED_BYTES).decode("latin-1") + "\u0100"
