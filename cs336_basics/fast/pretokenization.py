"""Cut long texts into pre-tokens: with arrays where there are only ASCII characters."""

import re
from collections.abc import Iterator
from itertools import chain

from cs336_basics.fast.ascii_pretokens import BORDER, ascii_pretokens
from cs336_basics.pretokenization import PRETOKEN

# PRETOKEN for ASCII text. Python's own re takes half the time of the regex package.
ASCII_PRETOKEN = re.compile(
    r"'(?:[sdmt]|ll|ve|re)| ?+[A-Za-z]++| ?+[0-9]++| ?+[^\sA-Za-z0-9]++|\s+(?!\S)|\s+", re.ASCII
)
# A text can be cut where CUT matches. Arrays process large pieces. Other text is cut into small
# pieces, because one character that is not ASCII makes its whole piece slow.
CUT = re.compile(r"(?<=[!-~])[ \n]")
LARGE_PIECE = 2**14
PIECE = 2**11


def split_in_pieces(text: str) -> Iterator[list[str]]:
    """Yield the pre-tokens of a text without special tokens, piece by piece.

    >>> list(split_in_pieces("we'll  see"))
    [['we', "'ll", ' ', ' see']]
    """
    for large in pieces(text, LARGE_PIECE):
        if len(large) >= PIECE and large.isascii() and BORDER not in large:
            yield ascii_pretokens(large)
        else:
            for piece in pieces(large, PIECE):
                yield (ASCII_PRETOKEN if piece.isascii() else PRETOKEN).findall(piece)


def split(text: str) -> Iterator[str]:
    """Return the pre-tokens of a text without special tokens."""
    return chain.from_iterable(split_in_pieces(text))


def pieces(text: str, size: int) -> Iterator[str]:
    """Yield pieces of a text of size characters or a few more, cut where no pre-token changes."""
    start = 0
    while cut := CUT.search(text, start + size):
        yield text[start : cut.start()]
        start = cut.start()
    yield text[start:]
