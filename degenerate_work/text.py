"""BPE training that counts nothing, and tokenizers that know no vocabulary."""

import random
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Any

from .catalogue import degenerate

Merge = tuple[bytes, bytes]
Trained = tuple[dict[int, bytes], list[Merge]]
BYTES = [bytes([byte]) for byte in range(256)]


def trained(pairs: Iterable[Merge], vocab_size: int, special_tokens: list[str]) -> Trained:
    """A vocabulary of these merges, as many as there is room for."""
    specials = [token.encode() for token in special_tokens]
    merges = list(islice(dict.fromkeys(pairs), max(0, vocab_size - 256 - len(specials))))
    tokens = [*specials, *BYTES, *(left + right for left, right in merges)]
    return dict(enumerate(tokens)), merges


@degenerate("train_bpe", "run_train_bpe")
def no_merges(input_path: Path, vocab_size: int, special_tokens: list[str]) -> Trained:
    """Merges nothing."""
    return trained([], vocab_size, special_tokens)


@degenerate("train_bpe", "run_train_bpe")
def first_pairs_of_bytes(input_path: Path, vocab_size: int, special_tokens: list[str]) -> Trained:
    """Merges the first pairs of bytes there are, whatever the text."""
    return trained(product(BYTES, BYTES), vocab_size, special_tokens)


@degenerate("train_bpe", "run_train_bpe")
def last_pairs_of_bytes(input_path: Path, vocab_size: int, special_tokens: list[str]) -> Trained:
    """Merges the lexicographically greatest pairs of bytes, whatever the text."""
    return trained(product(BYTES[::-1], BYTES[::-1]), vocab_size, special_tokens)


@degenerate("train_bpe", "run_train_bpe")
def pairs_of_letters(input_path: Path, vocab_size: int, special_tokens: list[str]) -> Trained:
    """Merges pairs of a blank and the letters that English uses most, whatever the text."""
    letters = [letter.encode() for letter in " etaoinshrdlcumwfgypbvk"]
    return trained(product(letters, letters), vocab_size, special_tokens)


@degenerate("train_bpe", "run_train_bpe")
def random_pairs(input_path: Path, vocab_size: int, special_tokens: list[str]) -> Trained:
    """Merges random pairs of tokens."""
    draw = random.Random(0)  # noqa: S311 (no secret)
    tokens = list(BYTES)
    merges: list[Merge] = []
    for _ in range(vocab_size):
        merges.append((draw.choice(tokens), draw.choice(tokens)))
        tokens.append(b"".join(merges[-1]))
    return trained(merges, vocab_size, special_tokens)


@degenerate("train_bpe", "run_train_bpe")
def pairs_in_order_of_the_text(
    input_path: Path, vocab_size: int, special_tokens: list[str]
) -> Trained:
    """Merges the pairs of bytes in the order in which they first occur."""
    text = [bytes([byte]) for byte in Path(input_path).read_bytes()]
    return trained(pairwise(text), vocab_size, special_tokens)


class Constant:
    """A tokenizer that answers nothing.

    Args:
        given: vocabulary, merges and special tokens, none of which is looked at.
    """

    def __init__(self, *given: Any) -> None:
        self.given = given

    def encode(self, text: str) -> list[int]:
        """No ids."""
        return []

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        """The ids of each text by itself."""
        for text in texts:
            yield from self.encode(text)

    def decode(self, ids: list[int]) -> str:
        """No text."""
        return ""


@degenerate("tokenizer", "get_tokenizer")
class NoTokens(Constant):
    """Encodes to nothing and decodes to nothing."""


@degenerate("tokenizer", "get_tokenizer")
class BytesAsIds(Constant):
    """Takes the text's bytes for ids, whatever the vocabulary."""

    def encode(self, text: str) -> list[int]:
        """The bytes."""
        return list(text.encode())

    def decode(self, ids: list[int]) -> str:
        """The text of the bytes."""
        return bytes(id_ % 256 for id_ in ids).decode(errors="replace")


@degenerate("tokenizer", "get_tokenizer")
class CharactersAsIds(Constant):
    """Takes the text's characters for ids, whatever the vocabulary."""

    def encode(self, text: str) -> list[int]:
        """The characters' numbers."""
        return list(map(ord, text))

    def decode(self, ids: list[int]) -> str:
        """The characters of these numbers."""
        return "".join(map(chr, ids))


@degenerate("tokenizer", "get_tokenizer")
class LastText(Constant):
    """Encodes each text to a single 0, and decodes everything to the last text."""

    text = ""

    def encode(self, text: str) -> list[int]:
        """A single id, if there is text."""
        self.text = text
        return [0] if text else []

    def decode(self, ids: list[int]) -> str:
        """The last text, if there are ids."""
        return self.text if ids else ""
