"""Training a byte-level BPE vocabulary.

Source: Neural Machine Translation of Rare Words with Subword Units (Sennrich et al.,
arXiv:1508.07909), on bytes as in GPT-2 (Radford et al., 2019).

The text is cut into pre-tokens, here called words, and equal words are counted once. Again and
again, the most frequent pair of neighbouring tokens becomes a new token. Only the words that hold
the pair change, so an index says which these are, and only their pairs are counted again.
"""

import heapq
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cs336_basics.pretokenization import count_pretokens_in_file, without_repeats

Pair = tuple[bytes, bytes]

BYTES = [bytes([byte]) for byte in range(256)]


def train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: Sequence[str],
    num_workers: int | None = None,
) -> tuple[dict[int, bytes], list[Pair]]:
    """Learn a vocabulary and its merges from a UTF-8 text file.

    Args:
        input_path: The text. An empty one gives the base vocabulary and no merges.
        vocab_size: Size of the vocabulary with special tokens and the 256 bytes. It stays smaller
            where the text has no pair left to merge.
        special_tokens: Kept whole: hard borders in the text, and not counted. Repeated ones count
            once.
        num_workers: Processes that read the text; all CPUs by default. The result is the same.
            They import the calling script, so it must train under ``if __name__ == "__main__"``.

    Returns:
        The vocabulary (special tokens in the order given, then the 256 bytes, then one token for
        each merge) and the merges in order of creation.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: the special tokens are a single string.
        ValueError: vocab_size has no room for bytes and special tokens, a special token is empty,
            or the file is not UTF-8.
    """
    specials = without_repeats(special_tokens)
    num_merges = room_for_merges(vocab_size, specials)
    pretokens = count_pretokens_in_file(input_path, specials, num_workers)
    merges = merge_pairs({word.encode("utf-8"): n for word, n in pretokens.items()}, num_merges)
    return vocabulary(specials, merges), merges


def room_for_merges(vocab_size: int, special_tokens: Sequence[str]) -> int:
    """Return how many merges there is room for.

    Raises:
        ValueError: there is no room for the bytes and the special tokens.
    """
    base = 256 + len(special_tokens)
    if vocab_size < base:
        raise ValueError(
            f"vocab_size = {vocab_size} is smaller than its base of 256 bytes and "
            f"{len(special_tokens)} special tokens: it must be at least {base}"
        )
    return vocab_size - base


def vocabulary(special_tokens: Sequence[str], merges: Sequence[Pair]) -> dict[int, bytes]:
    """Return the tokens by their ids: special tokens, bytes, then one token for each merge."""
    specials = [token.encode("utf-8") for token in special_tokens]
    return dict(enumerate([*specials, *BYTES, *(first + second for first, second in merges)]))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair with its count at the time when it was put into the heap."""

    count: int
    pair: Pair

    def __lt__(self, other: "Candidate") -> bool:
        """Come first with the greater count, and of equal counts with the greater pair."""
        return (self.count, self.pair) > (other.count, other.pair)


def merge_pairs(word_counts: Mapping[bytes, int], num_merges: int) -> list[Pair]:
    """Merge the most frequent pair again and again; of equals, the greater pair of bytes.

    ``aaab`` twice and ``cab`` once have the pairs ``aa`` 4 times, ``ab`` 3 times and ``ca`` once.
    ``aa`` is merged: ``aa a b`` has the pairs ``(aa, a)`` and ``(a, b)``. Now ``ab`` is the most
    frequent, with 3:

    >>> merge_pairs({b"aaab": 2, b"cab": 1}, 2)
    [(b'a', b'a'), (b'a', b'b')]

    Args:
        word_counts: How often each word occurs.
        num_merges: How many merges there are at most; fewer where no pair is left.
    """
    words = [[word[i : i + 1] for i in range(len(word))] for word in word_counts]
    counts = list(word_counts.values())
    pair_counts: Counter[Pair] = Counter()
    words_with: defaultdict[Pair, set[int]] = defaultdict(set)
    for index, word in enumerate(words):
        for pair in pairwise(word):
            pair_counts[pair] += counts[index]
            words_with[pair].add(index)
    heap = [Candidate(count, pair) for pair, count in pair_counts.items()]
    heapq.heapify(heap)

    merges: list[Pair] = []
    while heap and len(merges) < num_merges:
        best = heapq.heappop(heap)
        # A count that has changed since has put the pair into the heap again.
        if best.count != pair_counts[best.pair]:
            continue
        merges.append(best.pair)
        changed: set[Pair] = set()
        for index in words_with.pop(best.pair):
            before, after = words[index], merge(words[index], best.pair)
            words[index] = after
            for pair in pairwise(before):
                pair_counts[pair] -= counts[index]
            for pair in pairwise(after):
                pair_counts[pair] += counts[index]
                words_with[pair].add(index)
            changed.update(pairwise(before), pairwise(after))
        for pair in changed - {best.pair}:
            if pair_counts[pair]:
                heapq.heappush(heap, Candidate(pair_counts[pair], pair))
    return merges


def merge(word: Sequence[bytes], pair: Pair) -> list[bytes]:
    """Return a word with each occurrence of a pair joined, from left to right.

    >>> merge([b"a", b"a", b"a", b"b"], (b"a", b"a"))
    [b'aa', b'a', b'b']
    """
    first, second = pair
    merged: list[bytes] = []
    i = 0
    while i < len(word):
        if word[i] == first and i + 1 < len(word) and word[i + 1] == second:
            merged.append(first + second)
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return merged
