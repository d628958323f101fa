"""Training a byte-level BPE vocabulary.

Source: Neural Machine Translation of Rare Words with Subword Units (Sennrich et al.,
arXiv:1508.07909), on bytes as in GPT-2 (Radford et al., 2019).

What one merge changes is little, so pairs are counted once and the counts kept up to date: an
index tells which words hold a pair, a heap which pair is next.
"""

import heapq
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from cs336_basics.pretokenization import count_pretokens_in_file

Pair = tuple[int, int]

BYTE_TOKENS = [bytes([byte]) for byte in range(256)]
INVERTED_BYTES = bytes(reversed(range(256)))


def train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: Sequence[str],
    num_workers: int | None = None,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
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
        ValueError: vocab_size has no room for bytes and special tokens, a special token is empty,
            or the file is not UTF-8.
    """
    specials = list(dict.fromkeys(special_tokens))
    num_merges = vocab_size - 256 - len(specials)
    if num_merges < 0:
        raise ValueError(
            f"vocab_size = {vocab_size} is smaller than its base of 256 bytes and "
            f"{len(specials)} special tokens: it must be at least {256 + len(specials)}"
        )
    pretokens = count_pretokens_in_file(input_path, specials, num_workers)
    merges = merge_pairs({word.encode("utf-8"): n for word, n in pretokens.items()}, num_merges)
    tokens = [
        *(token.encode("utf-8") for token in specials),
        *BYTE_TOKENS,
        *(first + second for first, second in merges),
    ]
    return dict(enumerate(tokens)), merges


def merge_pairs(word_counts: Mapping[bytes, int], num_merges: int) -> list[tuple[bytes, bytes]]:
    """Merge the most frequent pair again and again; of equals, the greater pair of bytes.

    >>> merge_pairs({b"aaab": 2, b"cab": 1}, 2)
    [(b'a', b'a'), (b'a', b'b')]
    """
    merges: list[tuple[bytes, bytes]] = []
    pairs = PairIndex(word_counts)
    while len(merges) < num_merges:
        pair = pairs.pop_most_frequent()
        if pair is None:
            break
        merges.append(pairs.merge(pair))
    return merges


class PairIndex:
    """Every pair of neighbouring tokens: how frequent it is and which words hold it.

    Attributes:
        tokens: the bytes of each token; words and pairs name tokens by their place in it.
    """

    def __init__(self, word_counts: Mapping[bytes, int]) -> None:
        self.tokens = list(BYTE_TOKENS)
        self.words = [list(word) for word in word_counts]
        self.word_counts = list(word_counts.values())
        self.counts: Counter[Pair] = Counter()
        # May name words that hold the pair no more; they are found out when it is merged.
        self.words_with: defaultdict[Pair, set[int]] = defaultdict(set)
        for index, (word, count) in enumerate(zip(self.words, self.word_counts, strict=True)):
            for pair in pairwise(word):
                self.counts[pair] += count
                self.words_with[pair].add(index)
        self.sort_keys = [descending(token) for token in self.tokens]
        self.heap = [self.heap_entry(pair) for pair in self.counts]
        heapq.heapify(self.heap)

    def heap_entry(self, pair: Pair) -> tuple[int, str, str, Pair]:
        """What makes the pair to merge next the smallest entry."""
        first, second = pair
        return -self.counts[pair], self.sort_keys[first], self.sort_keys[second], pair

    def pop_most_frequent(self) -> Pair | None:
        """Take the pair to merge next, or None where no word has two tokens.

        The count of a pair only falls after the merge that created it, so an entry with an old
        count comes up too early, never too late, and is then put right.
        """
        while self.heap:
            negative_count, *_, pair = heapq.heappop(self.heap)
            count = self.counts[pair]
            if count == 0:
                self.forget(pair)
            elif count == -negative_count:
                return pair
            else:
                heapq.heappush(self.heap, self.heap_entry(pair))
        return None

    def forget(self, pair: Pair) -> None:
        """Drop a pair that no word holds."""
        del self.counts[pair]
        self.words_with.pop(pair, None)

    def merge(self, pair: Pair) -> tuple[bytes, bytes]:
        """Put a new token in the place of each occurrence of a pair; the bytes of its halves."""
        first, second = (self.tokens[token] for token in pair)
        merged = len(self.tokens)
        self.tokens.append(first + second)
        self.sort_keys.append(descending(first + second))
        created: set[Pair] = set()
        for index in self.words_with.pop(pair):
            created |= self.merge_in_word(index, pair, merged)
        self.forget(pair)
        for new_pair in created:
            heapq.heappush(self.heap, self.heap_entry(new_pair))
        return first, second

    def merge_in_word(self, index: int, pair: Pair, merged: int) -> set[Pair]:
        """Merge within one word, from left to right, and return the pairs that this creates."""
        first, second = pair
        word, count = self.words[index], self.word_counts[index]
        end = len(word)
        created = set()
        # In place, behind the reader: a new list for each word costs half as much time again.
        read = write = 0
        while read < end:
            token = word[read]
            read += 1
            if token == first and read < end and word[read] == second:
                token = merged
                read += 1
                if write > 0:
                    # In "abab" this takes back the pair that the merge before it created.
                    before = word[write - 1]
                    self.counts[before, first] -= count
                    self.counts[before, merged] += count
                    created.add((before, merged))
                if read < end:
                    after = word[read]
                    self.counts[second, after] -= count
                    self.counts[merged, after] += count
                    created.add((merged, after))
            word[write] = token
            write += 1
        del word[write:]
        for new_pair in created:
            self.words_with[new_pair].add(index)
        return created


def descending(token: bytes) -> str:
    """A key that sorts tokens from the greatest to the smallest.

    The character at its end is greater than any byte, for a token comes after its continuations.
    """
    return token.translate(INVERTED_BYTES).decode("latin-1") + "\u0100"
