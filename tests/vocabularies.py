"""Vocabularies to tokenize with, and tiktoken built from them as the oracle.

Nothing is downloaded: GPT-2's merges lie in ``fixtures``, and they determine its vocabulary.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import tiktoken

from cs336_checks.draws import Draws

GPT2_MERGES = Path(__file__).parent / "fixtures" / "vocab.bpe"
GPT2_PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # as published
)
# The file writes printable bytes as themselves, in this order, and the others from U+0100 on.
PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
GPT2_BYTES = (*PRINTABLE, *(byte for byte in range(256) if byte not in PRINTABLE))

Merge = tuple[bytes, bytes]


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer is made of.

    Attributes:
        tokens: each id's bytes, special tokens among them.
        merges: the merges in order of creation.
        special_tokens: the texts that are one token each.
    """

    tokens: dict[int, bytes]
    merges: list[Merge]
    special_tokens: tuple[str, ...] = ()

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """Each token's id."""
        return {token: id_ for id_, token in self.tokens.items()}

    @cached_property
    def tiktoken(self) -> tiktoken.Encoding:
        """The tiktoken encoding with the same tokens; its ids are ranks, the order of creation."""
        ranked = [bytes([byte]) for byte in GPT2_BYTES] + [a + b for a, b in self.merges]
        specials = {text: len(ranked) + i for i, text in enumerate(self.special_tokens)}
        ranks = {token: rank for rank, token in enumerate(ranked)}
        return tiktoken.Encoding(
            "check", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens=specials
        )

    def encode(self, text: str, special_tokens: Collection[str] = ()) -> list[int]:
        """The ids tiktoken gives, with these special tokens split out and no others."""
        ranks = self.tiktoken.encode(
            text, allowed_special=set(special_tokens), disallowed_special=()
        )
        return [self.ids[self.tiktoken.decode_single_token_bytes(rank)] for rank in ranks]

    def encode_pieces(self, *pieces: str) -> list[int]:
        """The ids of pieces that are known to be either a special token or ordinary text."""
        return [
            id_
            for piece in pieces
            for id_ in (
                [self.ids[piece.encode()]] if piece in self.special_tokens else self.encode(piece)
            )
        ]

    def shuffled(self, draw: Draws) -> "Vocabulary":
        """The same tokens in the same order, under ids that are in none."""
        order = draw.permutation(len(self.tokens)).tolist()
        tokens = {order[id_]: token for id_, token in self.tokens.items()}
        return Vocabulary(tokens, self.merges, self.special_tokens)


@cache
def gpt2(*special_tokens: str, merge_count: int = 50_000) -> Vocabulary:
    """GPT-2's vocabulary, or the part of it that its first merges make, and special tokens."""
    letters = {chr(byte): byte for byte in PRINTABLE}
    letters |= {chr(0x100 + i): byte for i, byte in enumerate(GPT2_BYTES[len(PRINTABLE) :])}
    lines = GPT2_MERGES.read_text(encoding="utf-8").split("\n")[1 : merge_count + 1]
    merges = []
    for line in lines:
        left, right = (bytes(letters[letter] for letter in half) for half in line.split(" "))
        merges.append((left, right))
    return vocabulary(merges, special_tokens)


@cache
def unambiguous(*special_tokens: str) -> Vocabulary:
    """A vocabulary for checks that are of something else than merges.

    It merges a vowel with a consonant after it, and nothing more. So the order of merges does not
    matter, nor how a text is split into pre-tokens.
    """
    merges = [(bytes([left]), bytes([right])) for left in b"aeiou" for right in b"bcdfghlmnprstvwy"]
    return vocabulary(merges, special_tokens)


def vocabulary(merges: list[Merge], special_tokens: tuple[str, ...] = ()) -> Vocabulary:
    """The vocabulary that consists of all bytes, what the merges make, and special tokens."""
    tokens = [bytes([byte]) for byte in GPT2_BYTES] + [a + b for a, b in merges]
    tokens += [text.encode() for text in special_tokens]
    return Vocabulary(dict(enumerate(tokens)), merges, special_tokens)
