"""Parses source that nobody has read, within limits: nothing of it is run."""

import ast
import re
import warnings
from collections.abc import Iterator

# Parsing can take a thousand times the memory; no module that a person wrote is as long.
MAX_SOURCE_BYTES = 2**18
CONFLICT = re.compile(rb"^(?:<{7} |={7}\r?$|>{7} )", re.MULTILINE)
# Python keeps each beginning of a dotted name that is imported: 130,000 parts take 17 GB.
MAX_DOTTED_PARTS = 5000
DOTTED_PART = re.compile(rb"\.[\s\\]*[^\s\\.,]+[\s\\]*")
ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class SourceError(Exception):
    """A source file is no Python; the text says where and why."""


def parse(source: bytes) -> ast.Module:
    """The syntax tree of a source file.

    Raises:
        SourceError: it is no Python.
    """
    if len(source) > MAX_SOURCE_BYTES:
        raise SourceError(f"it has more than {MAX_SOURCE_BYTES // 2**10} KB and was not read")
    if (encoding := ENCODINGS.get(source[:2])) is not None:
        raise SourceError(f"it is in {encoding}, which Python does not read; save it as UTF-8")
    if has_endless_name(source):
        raise SourceError(f"it has a name of more than {MAX_DOTTED_PARTS:,} parts")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        raise SourceError(place_and_fault(source, error)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"it cannot be parsed: {error or type(error).__name__}") from error


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly below one, as ``ast.iter_child_nodes`` has them, in half its time.

    Left out are mere marks, such as ``ast.Load``.
    """
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            if value._fields:
                yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield item


def has_endless_name(source: bytes) -> bool:
    """Whether a dotted name has more parts than any that is meant."""
    parts, end = 0, -1
    for part in DOTTED_PART.finditer(source):
        parts = parts + 1 if part.start() == end else 1
        end = part.end()
        if parts > MAX_DOTTED_PARTS:
            return True
    return False


def place_and_fault(source: bytes, error: SyntaxError) -> str:
    """The line of a syntax error, and what is wrong there."""
    conflict = CONFLICT.search(source)
    if conflict is not None:
        line = source.count(b"\n", 0, conflict.start()) + 1
        return f"line {line}: a merge conflict is not resolved"
    return f"line {error.lineno}: {error.msg}" if error.lineno else error.msg


def text_of(source: bytes) -> str:
    """The text of a source file, whatever its encoding."""
    return source.decode(ENCODINGS.get(source[:2], "utf-8"), "replace")
