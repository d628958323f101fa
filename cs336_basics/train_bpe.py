"""Training a byte-level BPE vocabulary.

Source: Neural Machine Translation of Rare Words with Subword Units (Sennrich et al.,
arXiv:1508.07909), on bytes as in GPT-2 (Radford et al., 2019).
"""

import os
from collections.abc import Mapping, Sequence

from cs336_basics.pair_index import BYTE_TOKENS, PairIndex
from cs336_basics.pretokenization import count_pretokens_in_file


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
    pairs = PairIndex(word_counts, num_merges)
    while len(merges) < num_merges:
        found = pairs.pop_most_frequent()
        if found is None:
            break
        merges.append(pairs.merge(*found))
    return merges
