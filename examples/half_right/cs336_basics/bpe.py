"""Training a byte-level BPE vocabulary."""

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import regex

PRETOKEN = regex.compile(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def count_words(text: str, special_tokens: list[str]) -> Counter:
    """Count pre-tokens between the special tokens."""
    pieces = [text]
    if special_tokens:
        longest_first = sorted(special_tokens, key=len, reverse=True)
        pieces = regex.split("|".join(map(regex.escape, longest_first)), text)
    words = Counter()
    for piece in pieces:
        words.update(m.group() for m in PRETOKEN.finditer(piece))
    return words


def merge_word(word: tuple, pair: tuple) -> tuple:
    """Join the pair wherever it is, from the left."""
    out, i = [], 0
    while i < len(word):
        if word[i : i + 2] == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def train_bpe(path, vocab_size: int, special_tokens: list[str]) -> tuple[dict, list]:
    """Return the vocabulary (id -> bytes) and the merges."""
    if vocab_size < 256 + len(special_tokens):
        raise ValueError(f"{vocab_size} is not enough for the bytes and the special tokens")
    # bytes, because reading as text turns \r\n into \n
    counts = count_words(Path(path).read_bytes().decode("utf-8"), special_tokens)
    words = [tuple(bytes([b]) for b in word.encode("utf-8")) for word in counts]
    times = list(counts.values())

    pairs = Counter()
    where = defaultdict(set)
    for i, word in enumerate(words):
        for pair in pairwise(word):
            pairs[pair] += times[i]
            where[pair].add(i)

    merges = []
    while len(merges) < vocab_size - 256 - len(special_tokens) and pairs:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for i in where.pop(best):
            # take the whole word out of the counts and put it in again
            for pair in pairwise(words[i]):
                pairs[pair] -= times[i]
                if pairs[pair] <= 0:
                    del pairs[pair]
            words[i] = merge_word(words[i], best)
            for pair in pairwise(words[i]):
                pairs[pair] += times[i]
                where[pair].add(i)

    tokens = [t.encode("utf-8") for t in special_tokens]
    tokens += [bytes([b]) for b in range(256)] + [a + b for a, b in merges]
    return dict(enumerate(tokens)), merges
