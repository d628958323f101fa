"""Vocabularies and merges in GPT-2's files, so that its published ones can be read as they are.

A token is written with one printable character for each byte: bytes that are printable in Latin-1
stand for themselves, the others, in order, for the characters from U+0100 on (a space is ``Ġ``, a
line feed ``Ċ``).

- vocabulary: a JSON object from token to id
- merges: one a line in order of creation, two tokens with a space between; before them a line that
  starts with ``#version``

Source: GPT-2 (Radford et al., 2019).
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from cs336_basics.files import read_text, replacing


def read_files(
    vocab_path: str | os.PathLike[str], merges_path: str | os.PathLike[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Return the vocabulary and merges that write_files wrote, or GPT-2's own.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file is damaged, or the two do not belong together.
    """
    vocab = read_vocab(Path(vocab_path))
    merges = read_merges(Path(merges_path))
    tokens = set(vocab.values())
    for first, second in merges:
        if first + second not in tokens:
            raise ValueError(
                f"{merges_path} merges {first!r} and {second!r}, but their union is no token "
                f"of {vocab_path}: the files do not belong together"
            )
    return vocab, merges


def write_files(
    vocab: Mapping[int, bytes],
    merges: Iterable[tuple[bytes, bytes]],
    vocab_path: str | os.PathLike[str],
    merges_path: str | os.PathLike[str],
) -> None:
    """Write a vocabulary and its merges.

    Raises:
        OSError: a file cannot be written.
        ValueError: two ids stand for the same bytes, which the format cannot express.
    """
    ids = {to_printable(token): token_id for token_id, token in vocab.items()}
    if len(ids) < len(vocab):
        doubled = next(i for i, token in vocab.items() if ids[to_printable(token)] != i)
        raise ValueError(
            f"{vocab[doubled]!r} has more than one id ({doubled} among them), and the "
            "file format has room for one"
        )
    lines = [f"{to_printable(first)} {to_printable(second)}\n" for first, second in merges]
    vocab_text = json.dumps(ids, ensure_ascii=False, indent=0)
    merges_text = "".join(["#version: 0.2\n", *lines])
    # Neither takes its place before both are written, because one is worth nothing alone.
    with replacing(Path(vocab_path)) as vocab_file, replacing(Path(merges_path)) as merges_file:
        vocab_file.write(f"{vocab_text}\n".encode())
        vocab_file.flush()
        merges_file.write(merges_text.encode())


PRINTABLE_BYTES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHER_BYTES = [byte for byte in range(256) if byte not in PRINTABLE_BYTES]
BYTE_TO_CHARACTER = {byte: chr(byte) for byte in PRINTABLE_BYTES}
BYTE_TO_CHARACTER |= {byte: chr(0x100 + index) for index, byte in enumerate(OTHER_BYTES)}
CHARACTER_TO_BYTE = {character: byte for byte, character in BYTE_TO_CHARACTER.items()}


def to_printable(token: bytes) -> str:
    """One printable character for each byte, as in GPT-2's files.

    >>> to_printable(b" the")
    'Ġthe'
    """
    return "".join([BYTE_TO_CHARACTER[byte] for byte in token])


def from_printable(text: str) -> bytes:
    """Return the bytes for which to_printable gives the text.

    Raises:
        ValueError: a character stands for no byte.
    """
    try:
        return bytes([CHARACTER_TO_BYTE[character] for character in text])
    except KeyError as error:
        raise ValueError(f"in {text!r}, the character {error} stands for no byte") from error


def read_vocab(path: Path) -> dict[int, bytes]:
    """Read a vocabulary in GPT-2's format."""
    text = read_text(path)
    try:
        return parse_vocab(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no vocabulary file: {error}; make it again") from error


def parse_vocab(text: str) -> dict[int, bytes]:
    """Return the vocabulary of a JSON object from token to id."""
    ids = json.loads(text)
    if not isinstance(ids, dict) or not all(type(token_id) is int for token_id in ids.values()):
        raise ValueError("it must be one JSON object from token to id")
    vocab = {token_id: from_printable(token) for token, token_id in ids.items()}
    if len(vocab) < len(ids):
        raise ValueError("two tokens have the same id")
    return vocab


def read_merges(path: Path) -> list[tuple[bytes, bytes]]:
    """Read merges in GPT-2's format."""
    text = read_text(path)
    try:
        return parse_merges(text)
    except ValueError as error:
        raise ValueError(f"{path} is no merges file: {error}; make it again") from error


def parse_merges(text: str) -> list[tuple[bytes, bytes]]:
    """Return the merges of lines that have two tokens each."""
    merges = []
    # Not splitlines, which ends lines at characters that are data; \r stands for no byte.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        pair = line.split(" ")
        if len(pair) != 2 or not all(pair):
            raise ValueError(f"line {number} is not two tokens with a space between: {line!r}")
        merges.append((from_printable(pair[0]), from_printable(pair[1])))
    return merges
