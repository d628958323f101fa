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
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from stat import S_ISREG

import regex

from cs336_basics.ascii_pretokens import BORDER, ascii_pretokens

PRETOKEN = regex.compile(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
# The same for text of ASCII characters alone, where Python's own expressions take half the time.
ASCII_PRETOKEN = re.compile(
    r"'(?:[sdmt]|ll|ve|re)| ?+[A-Za-z]++| ?+[0-9]++| ?+[^\sA-Za-z0-9]++|\s+(?!\S)|\s+", re.ASCII
)
# Where a text can be cut, and into pieces of how many characters: large ones for arrays, and small
# ones where there is a character that is not ASCII, for it makes its whole piece slow.
CUT = re.compile(r"(?<=[!-~])[ \n]")
LARGE_PIECE = 2**14
PIECE = 2**11

# Files of at most this many bytes are not worth the start of another process.
CHUNK_BYTES = 4 * 2**20
# Windows cannot wait for more processes at once.
MAX_WORKERS = 61


def special_token_pattern(special_tokens: Iterable[str]) -> regex.Pattern[str] | None:
    """A pattern with one group that matches any special token, the longest where several match.

    Raises:
        ValueError: a special token is empty.
    """
    longest_first = sorted(special_tokens, key=len, reverse=True)
    if not longest_first:
        return None
    if not longest_first[-1]:
        raise ValueError("a special token must have at least one character")
    return regex.compile("(" + "|".join(map(regex.escape, longest_first)) + ")")


def pretokenize(text: str) -> Iterator[list[str]]:
    """The pre-tokens of a text without special tokens, those of a piece at a time.

    >>> list(pretokenize("we'll  see"))
    [['we', "'ll", ' ', ' see']]
    """
    for large in pieces(text, LARGE_PIECE):
        if len(large) >= PIECE and large.isascii() and BORDER not in large:
            yield ascii_pretokens(large)
        else:
            for piece in pieces(large, PIECE):
                yield (ASCII_PRETOKEN if piece.isascii() else PRETOKEN).findall(piece)


def pieces(text: str, size: int) -> Iterator[str]:
    """A text, cut where that changes no pre-token into pieces that are hardly longer than size."""
    start = 0
    while cut := CUT.search(text, start + size):
        yield text[start : cut.start()]
        start = cut.start()
    yield text[start:]


def count_pretokens(text: str, special_tokens: Iterable[str]) -> Counter[str]:
    """Count the pre-tokens of a text, special tokens left out.

    >>> count_pretokens("a a<|b|> a", ["<|b|>"])
    Counter({' a': 2, 'a': 1})
    """
    special = special_token_pattern(special_tokens)
    counts: Counter[str] = Counter()
    for segment in [text] if special is None else special.split(text)[::2]:
        for pretokens in pretokenize(segment):
            counts.update(pretokens)
    return counts


def count_pretokens_in_file(
    path: str | os.PathLike[str],
    special_tokens: Sequence[str],
    num_workers: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> Counter[str]:
    """Count the pre-tokens of a UTF-8 file as it is: line ends and blanks are kept.

    Args:
        path: The text.
        special_tokens: Left out, and no pre-token reaches across them.
        num_workers: Processes; by default as many as there are CPUs. The result is the same.
        chunk_bytes: A worker reads about as much at once.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not UTF-8; the message tells where.
    """
    boundaries = find_chunk_boundaries(path, special_tokens, chunk_bytes)
    chunks = [(Path(path), a, b, tuple(special_tokens)) for a, b in itertools.pairwise(boundaries)]
    num_workers = min(num_workers or os.cpu_count() or 1, len(chunks), MAX_WORKERS)
    if num_workers <= 1:
        return sum_counts(map(count_pretokens_in_chunk, chunks))
    # Spawned, for a fork of a process with threads (torch has some) can hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_workers, mp_context=context) as executor:
        return sum_counts(executor.map(count_pretokens_in_chunk, chunks))


def sum_counts(counters: Iterable[Counter[str]]) -> Counter[str]:
    """Add up counts, those of each chunk as soon as they are there."""
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def count_pretokens_in_chunk(chunk: tuple[Path, int, int, tuple[str, ...]]) -> Counter[str]:
    """Count the pre-tokens of the bytes from start to end of a file."""
    path, start, end, special_tokens = chunk
    return count_pretokens(read_chunk(path, start, end), special_tokens)


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
    """Offsets of spaces and line feeds from start on."""
    window = 2**16
    for offset in range(start, len(data), window):
        for match in regex.finditer(rb"[ \n]", data[offset : offset + window]):
            yield offset + match.start()


def cuts_special_token(data: bytes | mmap.mmap, cut: int, special_tokens: Sequence[bytes]) -> bool:
    """Whether any special token, even one that overlaps another, has bytes on both sides."""
    for token in special_tokens:
        reach = len(token) - 1
        if token in data[max(0, cut - reach) : cut + reach]:
            return True
    return False
