"""Finds what was added to a folder, without a look at the files that were there before."""

import os
import stat
import time
from contextlib import suppress

# The system's clock for files goes on by steps: two changes within one have the same time.
STEP_NS = 10**8


class KeptFiles:
    """The files that a folder holds now, which are to stay.

    Attributes:
        paths: the folder, and all that is below it.
    """

    def __init__(self, folder: str) -> None:
        self.paths = {folder}
        self.changes: dict[str, int | None] = {}
        for inner, folders, files in os.walk(folder):
            self.paths.update(os.path.join(inner, name) for name in (*folders, *files))
            self.changes[inner] = last_change(inner)

    def added(self) -> list[str]:
        """The paths of what has come since; only folders that have changed are listed.

        Links are not followed, even if one has taken the place of a folder.
        """
        found: list[str] = []
        reached = {os.path.dirname(folder) for folder in list(self.changes)[:1]}
        for folder, before in self.changes.items():
            now = last_change(folder) if os.path.dirname(folder) in reached else 0
            if now == 0:
                continue
            reached.add(folder)
            if before is None or now != before:
                new = [path for path in below(folder) if path not in self.paths]
                # What is removed now is a change, too.
                self.changes[folder] = None if new else now
                found += new
        return found


def last_change(folder: str) -> int | None:
    """When names in a folder last changed, in ns; None if that is too recent to be sure.

    It is 0 if there is no such folder.
    """
    with suppress(OSError):
        status = os.lstat(folder)
        if stat.S_ISDIR(status.st_mode):
            # Unlike the time of the last modification, it cannot be set.
            when = status.st_ctime_ns
            return when if time.time_ns() - when > STEP_NS else None
    return 0


def below(folder: str) -> list[str]:
    """The paths of what a folder holds, as far as it can be listed."""
    with suppress(OSError):
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    return []
