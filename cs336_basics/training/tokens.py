"""Token files: text encoded once, to be memory-mapped by every run that trains on it.

A token file is a NumPy file of one row of unsigned integers, two bytes each where the vocabulary
allows it. Beside it, a JSON file says how many tokens and bytes of text it has, and -ln of their
probability where that is known.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cs336_basics.data import BLOCK
from cs336_basics.fast.tokenizer import FastTokenizer
from cs336_basics.files import read_json, write_json
from cs336_basics.tokenizer import Tokenizer

END_OF_TEXT = "<|endoftext|>"
Tokens = npt.NDArray[np.unsignedinteger[Any]]


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of a folder's vocab.json and merges.txt."""
    return FastTokenizer.from_files(folder / "vocab.json", folder / "merges.txt", [END_OF_TEXT])


def vocabulary_digest(folder: Path) -> str:
    """Return a digest of vocab.json and merges.txt, by which a vocabulary is recognised."""
    contents = [(folder / name).read_bytes() for name in ("vocab.json", "merges.txt")]
    return hashlib.sha256(b"".join(contents)).hexdigest()


def require_same_vocabulary(path: Path) -> None:
    """Refuse a token file that was made with another vocabulary than the one beside it.

    Raises:
        ValueError: tells what to do.
    """
    made_with = read_facts(path).get("vocabulary")
    if made_with is not None and made_with != vocabulary_digest(path.parent):
        raise ValueError(
            f"{path} was made with another vocabulary than the one in {path.parent}: make it again "
            "with uv run python -m cs336_basics.encode"
        )


def open_tokens(path: Path, vocab_size: int, context_length: int) -> Tokens:
    """Map a token file into memory.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no token file, has ids beyond the vocabulary, or is too short for one
            context and the token after it.
    """
    try:
        tokens: Tokens = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"there is no token file {path}: make one with uv run python -m cs336_basics.encode"
        ) from error
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is no token file: {error}; make it again") from error
    require_same_vocabulary(path)
    if tokens.ndim != 1 or not np.issubdtype(tokens.dtype, np.unsignedinteger):
        raise ValueError(
            f"{path} must hold one row of unsigned integers, not {tokens.dtype} of {tokens.shape}"
        )
    if len(tokens) <= context_length:
        raise ValueError(
            f"{path} has {len(tokens)} tokens, and a context of {context_length} needs at least "
            f"{context_length + 1}"
        )
    largest = max(int(tokens[i : i + BLOCK].max()) for i in range(0, len(tokens), BLOCK))
    if largest >= vocab_size:
        raise ValueError(
            f"{path} holds the token id {largest}, but the vocabulary has {vocab_size} tokens: "
            "the files do not belong together"
        )
    return tokens


def write_facts(path: Path, facts: dict[str, Any]) -> None:
    """Write beside a text or token file what is known of it: valid.txt.json of valid.txt."""
    write_json(path.with_name(path.name + ".json"), facts)


def read_facts(path: Path) -> dict[str, Any]:
    """Read what is known of a text or token file; nothing is known of a text from elsewhere."""
    facts = path.with_name(path.name + ".json")
    return read_json(facts) if facts.exists() else {}
