"""Files that are written whole or not at all, and read back with words for what is wrong."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

UNFINISHED = ".unfinished"


@contextmanager
def naming(path: Path, written_as: Path | None = None) -> Iterator[None]:
    """Name the path in an error of the system, where it is missing if the disk is full."""
    try:
        yield
    except OSError as error:
        of_this_file = error.filename is None or str(error.filename) == str(written_as)
        if error.errno is None or not of_this_file:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces the path at once, when all of it is on the disk.

    Readers see the old file until then, and it stays where writing fails.

    Raises:
        OSError: the file cannot be written; the message names the path.
    """
    # In the same folder, because only within one file system is the replacement atomic.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        with naming(path, unfinished):
            with unfinished.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the files that a killed process left half written in a folder."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON that people can read."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=4) + "\n")


def read_text(path: Path) -> str:
    r"""Read a UTF-8 file as it is: no line end is changed.

    Raises:
        OSError: there is no such file.
        ValueError: it is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start} "
            "stands for no character; convert the file, or make it again"
        ) from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        OSError: there is no such file.
        ValueError: it holds something else.
    """
    try:
        value = json.loads(read_text(path).removeprefix("\ufeff"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON: {error}; correct it, or make it again") from error
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the fault is the file's
            f"{path} must hold one JSON object, not {type(value).__name__}"
        )
    return value
