"""Files that are written whole or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error say which file it is about: of a full disk the system says no more than that."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file; whoever reads meanwhile sees the old one or the new one, no half."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with naming(path):
            unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


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
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the fault is the file's
            f"{path} must hold one JSON object, not {type(value).__name__}"
        )
    return value
