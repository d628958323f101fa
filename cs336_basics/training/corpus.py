"""The token files of a folder and their vocabulary."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cs336_basics.data import BLOCK
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.training.tokens import (
    END_OF_TEXT,
    Tokens,
    load_tokenizer,
    open_tokens,
    read_facts,
)


@dataclass(frozen=True)
class Corpus:
    """Text for training and for validation.

    Attributes:
        floor: the lowest loss on the validation text, where its source is known.
        bytes_per_token: of the validation text, where its size is known.
    """

    tokenizer: Tokenizer
    train: Tokens
    valid: Tokens
    floor: float | None
    bytes_per_token: float | None

    @property
    def vocab_size(self) -> int:
        """The size of the vocabulary, whose ids have no gaps."""
        return len(self.tokenizer.vocab)

    @property
    def end_of_text(self) -> int:
        """The id that ends a document."""
        return self.tokenizer.special_ids[END_OF_TEXT]

    def digests(self) -> dict[str, dict[str, Any]]:
        """Return the digests by which a resumed run recognises its text."""
        return {"train": digest(self.train), "valid": digest(self.valid)}


def open_corpus(folder: Path, context_length: int) -> Corpus:
    """Open the folder that uv run python -m cs336_basics.encode wrote.

    Raises:
        OSError: a file is missing.
        ValueError: a file is damaged, too short for a context, or does not belong to the others.
    """
    if not (folder / "vocab.json").exists():
        raise FileNotFoundError(
            f"there is no vocab.json in {folder}: make it with uv run python -m cs336_basics.encode"
        )
    tokenizer = load_tokenizer(folder)
    vocab_size, largest = len(tokenizer.vocab), max(tokenizer.vocab)
    if largest >= vocab_size:
        raise ValueError(
            f"the vocabulary in {folder} has {vocab_size} tokens, but ids up to {largest}: a model "
            "needs ids without gaps, as uv run python -m cs336_basics.encode gives them"
        )
    train, valid = (
        open_tokens(folder / name, vocab_size, context_length)
        for name in ("train.npy", "valid.npy")
    )
    known = read_facts(folder / "valid.npy")
    if known.get("tokens") != len(valid):  # the facts are those of another file
        known = {}
    nats, size = known.get("nats"), known.get("bytes")
    return Corpus(
        tokenizer,
        train,
        valid,
        floor=None if nats is None else nats / len(valid),
        bytes_per_token=None if size is None else size / len(valid),
    )


def digest(tokens: Tokens) -> dict[str, Any]:
    """Return the number of tokens and a digest of them."""
    sha256 = hashlib.sha256()
    for start in range(0, len(tokens), BLOCK):
        sha256.update(tokens[start : start + BLOCK].tobytes())
    return {"tokens": len(tokens), "sha256": sha256.hexdigest()}
