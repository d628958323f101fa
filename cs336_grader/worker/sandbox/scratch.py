"""Lists and removes files in folders that a submission may write to. Links are never followed."""

import os
import shutil
import stat
from collections.abc import Container, Iterator
from contextlib import suppress


def below(folder: str) -> list[str]:
    """The paths of what a folder holds, as far as it can be listed."""
    with suppress(OSError):
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    return []


def everything_below(folder: str) -> Iterator[str]:
    """The paths of what a folder and all folders below it hold."""
    pending = [folder]
    while pending:
        inner = pending.pop()
        if is_folder(inner):
            for path in below(inner):
                yield path
                pending.append(path)


def added(folder: str, kept: Container[str]) -> list[str]:
    """The paths below a folder that are not to be kept, each without what lies below it."""
    found: list[str] = []
    pending = [folder]
    while pending:
        inner = pending.pop()
        for path in below(inner) if is_folder(inner) else ():
            (pending if path in kept else found).append(path)
    return found


def is_folder(path: str) -> bool:
    """Return True for a folder, and False for a link to one."""
    with suppress(OSError):
        return stat.S_ISDIR(os.lstat(path).st_mode)
    return False


def owner(path: str) -> int:
    """The user that a file belongs to; -1 if it is gone."""
    with suppress(FileNotFoundError):
        return os.lstat(path).st_uid
    return -1


def remove(path: str) -> None:
    """Remove a file, or a folder with all it holds."""
    if is_folder(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
