"""Copies files of a submission to a private folder: sizes, twins, machine code, and the digest."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from cs336_grader.records import CouldNotJudgeError

from .candidates import is_lfs_pointer
from .notes import Notes
from .sources import Source

MAX_TOTAL_BYTES = 256 * 2**20
COMPILED_STARTS = (
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)


def within_limit(
    source: Source, taken: Iterable[PurePosixPath], notes: Notes
) -> list[PurePosixPath]:
    """What can be copied: all source code, then data as long as there is room, smallest first."""
    total = 0
    kept: list[PurePosixPath] = []
    for path in sorted(taken, key=lambda path: (path.suffix != ".py", source.sizes[path], path)):
        total += source.sizes[path]
        if total <= MAX_TOTAL_BYTES:
            kept.append(path)
        elif path.suffix == ".py":
            raise CouldNotJudgeError(
                f"{source.name} has more than {MAX_TOTAL_BYTES // 2**20} MB of source code"
            )
        else:
            notes.skipped("all together too large", path)
    return without_twins(kept, notes)


def without_twins(paths: list[PurePosixPath], notes: Notes) -> list[PurePosixPath]:
    """Leave out data whose names differ only in case, and refuse such modules.

    On macOS and Windows they are one file, and which one depends on the order of copying.
    """
    spelled: dict[str, PurePosixPath] = {}
    twins: set[PurePosixPath] = set()
    for path in sorted(paths):
        for part in (path, *path.parents):
            other = spelled.setdefault(str(part).casefold(), part)
            if other == part:
                continue
            if path.suffix == ".py":
                raise CouldNotJudgeError(
                    f"{other} and {part} differ only in case, and are one on macOS and Windows; "
                    "have one of them renamed"
                )
            notes.skipped("differs from another only in case", path)
            twins.add(path)
    return sorted(set(paths) - twins)


def copy(
    source: Source, paths: list[PurePosixPath], into: Path, notes: Notes
) -> tuple[list[PurePosixPath], str]:
    """Copy files, and return which, with the SHA-256 of all paths and contents.

    The paths in it start from the folder that holds all of them, so that the same work has the same
    digest in whatever folders and archives it is packed.
    """
    digest = hashlib.sha256()
    copied: list[PurePosixPath] = []
    above = PurePosixPath(os.path.commonpath([path.parent for path in paths]))
    for path in paths:
        content = source.read(path)
        if is_compiled(content):
            notes.skipped("compiled", path)
            continue
        if is_lfs_pointer(content):
            if path.suffix == ".py":
                raise CouldNotJudgeError(f"{path} is a Git LFS pointer: its content is not here")
            notes.skipped("a Git LFS pointer, whose content is not here", path)
            continue
        name = str(path.relative_to(above))
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
        write_new(into / path, content)
        copied.append(path)
    return copied, digest.hexdigest()


def write_new(target: Path, content: bytes) -> None:
    """Write a file that is not there yet, with the folders above it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with target.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise CouldNotJudgeError(f"{target} cannot be written: {error.strerror}") from error


def is_compiled(content: bytes) -> bool:
    """Whether a file holds machine code, whatever its name."""
    return content.startswith(COMPILED_STARTS) or (
        content.startswith(b"MZ") and b"PE\0\0" in content[:1024]
    )
