"""Puts a report where a reader finds the old one or the new one, and never half of one."""

import os
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a file in one step, in a folder that is made for it.

    What is no regular file, such as a pipe or a terminal, is written to and not replaced.

    Raises:
        OSError: it cannot be written.
    """
    # What no encoding can write was a student's, and nothing is lost with it.
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step, as ``write`` does.

    Raises:
        OSError: it cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
