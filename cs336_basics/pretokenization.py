r"""Cutting text into pre-tokens, the pieces that merges never cross.

The pattern is GPT-2's (Radford et al., 2019, "Language Models are Unsupervised Multitask
Learners"). Every character of a text belongs to exactly one pre-token or special token.

Cutting a long text in two before it is cut into pre-tokens changes nothing where a character that
is no whitespace is followed by one that is: no alternative of the pattern matches across such a
place, and the only one that looks ahead, ``\s+(?!\S)``, looks from whitespace to what follows.
"""

import itertools
import mmap
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from stat import S_ISREG

import regex

PRETOKEN = regex.compile(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
# Cuts a text without special tokens into pre-tokens.
Split = Callable[[str], Iterable[str]]

# Files of at most this many bytes are not worth the start of another process.
CHUNK_BYTES = 4 * 2**20
# Windows cannot wait for more processes at once.
MAX_WORKERS = 61


def without_repeats(special_tokens: Iterable[str]) -> list[str]:
    """Return the special tokens, each once.

    Raises:
        TypeError: they are a single string, which would be taken letter by letter.
    """
    if isinstance(special_tokens, str):
        raise TypeError(f"special tokens are a list of strings, not {special_tokens!r} alone")
    return list(dict.fromkeys(special_tokens))


def special_token_pattern(special_tokens: Iterable[str]) -> regex.Pattern[str] | None:
    """Return a pattern with one group, which matches the longest special token at a place.

    Raises:
        TypeError: the special tokens are a single string, whose letters they would be.
        ValueError: a special token is empty.
    """
    longest_first = sorted(without_repeats(special_tokens), key=len, reverse=True)
    if not longest_first:
        return None
    if not longest_first[-1]:
        raise ValueError("a special token must have at least one character")
    return regex.compile("(" + "|".join(map(regex.escape, longest_first)) + ")")


def pretokenize(text: str) -> list[str]:
    """Return the pre-tokens of a text without special tokens.

    >>> pretokenize("we'll  see")
    ['we', "'ll", ' ', ' see']
    """
    return PRETOKEN.findall(text)


def count_pretokens(
    text: str, special_tokens: Iterable[str], split: Split = pretokenize
) -> Counter[str]:
    """Count the pre-tokens of a text, special tokens left out.

    >>> count_pretokens("a a<|b|> a", ["<|b|>"])
    Counter({' a': 2, 'a': 1})
    """
    special = special_token_pattern(special_tokens)
    counts: Counter[str] = Counter()
    for segment in [text] if special is None else special.split(text)[::2]:
        counts.update(split(segment))
    return counts


def count_pretokens_in_file(
    path: str | os.PathLike[str],
    special_tokens: Sequence[str],
    num_workers: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    split: Split = pretokenize,
) -> Counter[str]:
    """Count the pre-tokens of a UTF-8 file. Line ends and blanks are kept as they are.

    Args:
        path: The text.
        special_tokens: Left out, and no pre-token reaches across them.
        num_workers: Processes; by default as many as there are CPUs. The result is the same.
        chunk_bytes: The size of the part of the file that a worker reads at once.
        split: Cuts a text into pre-tokens.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not UTF-8; the message tells where.
    """
    boundaries = find_chunk_boundaries(path, special_tokens, chunk_bytes)
    chunks = list(itertools.pairwise(boundaries))
    count = partial(count_pretokens_in_chunk, Path(path), tuple(special_tokens), split)
    num_workers = min(num_workers or os.cpu_count() or 1, len(chunks), MAX_WORKERS)
    if num_workers <= 1:
        return sum_counts(map(count, chunks))
    # Spawned, for a fork of a process with threads (torch has some) can hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_workers, mp_context=context) as executor:
        return sum_counts(executor.map(count, chunks))


def sum_counts(counters: Iterable[Counter[str]]) -> Counter[str]:
    """Add up the counts of all chunks, each as soon as it is ready."""
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def count_pretokens_in_chunk(
    path: Path, special_tokens: Sequence[str], split: Split, chunk: tuple[int, int]
) -> Counter[str]:
    """Count the pre-tokens of the bytes from start to end of a file."""
    return count_pretokens(read_chunk(path, *chunk), special_tokens, split)


def read_chunk(path: Path, start: int, end: int) -> str:
    """The text that the bytes from start to end of a file are.

    Raises:
        ValueError: they are not UTF-8; the message tells where.
    """
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(end - start)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} at offset {start + error.start} "
            f"({error.reason}); convert the file first"
        ) from error


def size_of_text(path: Path) -> int:
    """The bytes of a file.

    Raises:
        OSError: there is no such file.
        ValueError: it is none that can be read in parts and more than once: a pipe, a folder.
    """
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise ValueError(
            f"{path} is no regular file, and the text is read more than once: write it to a file "
            "first"
        )
    return status.st_size


def find_chunk_boundaries(
    path: str | os.PathLike[str], special_tokens: Iterable[str], chunk_bytes: int
) -> list[int]:
    """Offsets from 0 to the size of the file, at places where it can be cut in two.

    They are about chunk_bytes apart, further where there is no such place.
    """
    size = size_of_text(Path(path))
    boundaries = [0]
    if size > chunk_bytes:
        specials = [token.encode("utf-8") for token in special_tokens]
        with (
            Path(path).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            while boundaries[-1] + chunk_bytes < size:
                boundaries.append(next_cut(data, boundaries[-1] + chunk_bytes, specials))
    return boundaries if boundaries[-1] == size else [*boundaries, size]


def next_cut(data: bytes | mmap.mmap, start: int, special_tokens: Sequence[bytes]) -> int:
    """The first place from start on where cutting changes no pre-token, or the end of the data."""
    for cut in whitespace_offsets(data, start):
        # A UTF-8 character has at most four bytes; what was cut off in front of it is ignored.
        before = data[max(0, cut - 4) : cut].decode("utf-8", errors="ignore")
        if regex.search(r"\S\Z", before) and not cuts_special_token(data, cut, special_tokens):
            return cut
    return len(data)


def whitespace_offsets(data: bytes | mmap.mmap, start: int) -> Iterator[int]:
    """Yield the offsets of spaces and line feeds from start on."""
    window = 2**16
    for offset in range(start, len(data), window):
        for match in regex.finditer(rb"[ \n]", data[offset : offset + window]):
            yield offset + match.start()


def cuts_special_token(data: bytes | mmap.mmap, cut: int, special_tokens: Sequence[bytes]) -> bool:
    """Return True if any special token, even one that overlaps another, lies across the cut."""
    for token in special_tokens:
        reach = len(token) - 1
        if token in data[max(0, cut - reach) : cut + reach]:
            return True
    return False
