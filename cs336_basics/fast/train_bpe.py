"""Training a byte-level BPE vocabulary on large texts: the result of train_bpe.py, by arrays."""

import os
from collections.abc import Mapping, Sequence

from cs336_basics.fast.pair_index import PairIndex
from cs336_basics.fast.pretokenization import split
from cs336_basics.pretokenization import count_pretokens_in_file, without_repeats
from cs336_basics.train_bpe import Pair, room_for_merges, vocabulary


def train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: Sequence[str],
    num_workers: int | None = None,
) -> tuple[dict[int, bytes], list[Pair]]:
    """Learn what ``cs336_basics.train_bpe.train_bpe`` learns, with the same arguments."""
    specials = without_repeats(special_tokens)
    num_merges = room_for_merges(vocab_size, specials)
    pretokens = count_pretokens_in_file(input_path, specials, num_workers, split=split)
    merges = merge_pairs({word.encode("utf-8"): n for word, n in pretokens.items()}, num_merges)
    return vocabulary(specials, merges), merges


def merge_pairs(word_counts: Mapping[bytes, int], num_merges: int) -> list[Pair]:
    """Merge the most frequent pair again and again; of equals, the greater pair of bytes.

    >>> merge_pairs({b"aaab": 2, b"cab": 1}, 2)
    [(b'a', b'a'), (b'a', b'b')]
    """
    merges: list[Pair] = []
    pairs = PairIndex(word_counts, num_merges)
    while len(merges) < num_merges:
        found = pairs.pop_most_frequent()
        if found is None:
            break
        merges.append(pairs.merge(*found))
    return merges
