"""Files that are written whole or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error say which file it is about: of a full disk the system says no more than that."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # without a number, a name would hide the message
            error.filename = error.filename or str(path)
        raise


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the path's name when all is written, at once.

    Whoever reads meanwhile sees the old file, and where writing fails, it stays.
    """
    # In the same folder, because only within one file system is the replacement atomic.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with naming(path), unfinished.open("wb") as file:
            yield file
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON that people can read."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=4) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        OSError: there is no such file.
        ValueError: it holds something else.
    """
    try:
        with path.open(encoding="utf-8") as file:
            value = json.load(file)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the fault is the file's
            f"{path} must hold one JSON object, not {type(value).__name__}"
        )
    return value
