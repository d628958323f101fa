"""A submission in a folder, read without following a link, also where it changes meanwhile."""

import os
import stat
from collections import defaultdict
from pathlib import Path, PurePosixPath

from cs336_grader.records import CouldNotJudgeError

from .listing import MAX_FILES, Listing, read_capped
from .notes import Notes, named

# Neither a link nor a pipe that was put in a file's place can be followed or hang.
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
FILE = os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# Windows opens by path alone.
BY_DESCRIPTOR = {os.open} <= os.supports_dir_fd and {os.scandir} <= os.supports_fd


class FolderSource:
    """A submission in a folder.

    Raises:
        CouldNotJudgeError: it holds too much, or a folder that cannot be read.
    """

    def __init__(self, folder: Path, name: str, notes: Notes) -> None:
        self.folder = folder
        self.name = name
        self.notes = notes
        self.listing: Listing[PurePosixPath] = Listing(name, notes)
        self.linked: dict[tuple[int, int, int], list[PurePosixPath]] = defaultdict(list)
        self.look_into(PurePosixPath())
        for _, inner in self.listing.folders_to_look_into():
            self.look_into(inner)
        self.note_hard_links()
        self.listing.finish()
        self.sizes, self.unseen = self.listing.sizes, self.listing.unseen

    def look_into(self, folder: PurePosixPath) -> None:
        """List the files of a folder, and add the folders in it to those that are looked into."""
        try:
            found = entries(self.folder, folder)
        except OSError as error:
            what = f"{folder} in {self.name}" if folder.parts else self.name
            raise CouldNotJudgeError(f"{what} cannot be read: {error.strerror or error}") from error
        for name, status in found.items():
            path = folder / name
            if stat.S_ISLNK(status.st_mode):
                self.notes.skipped("links are not followed", path)
            elif stat.S_ISDIR(status.st_mode):
                self.listing.add_folder(str(path), path)
            elif stat.S_ISREG(status.st_mode):
                self.listing.add(str(path), status.st_size, path)
                if status.st_nlink > 1:
                    self.linked[status.st_dev, status.st_ino, status.st_nlink].append(path)
            else:
                self.notes.skipped("not a regular file", path)

    def note_hard_links(self) -> None:
        """Note the files that have another name elsewhere; what they hold is taken."""
        elsewhere = [
            str(path)
            for (_, _, names), paths in self.linked.items()
            if names > len(paths)
            for path in paths
            if path in self.listing.entries
        ]
        if elsewhere:
            self.notes.say(f"Hard links to files that lie elsewhere too: {named(elsewhere)}.")

    def read(self, path: PurePosixPath) -> bytes:
        """A file's content, if it is still the regular file that was listed."""
        try:
            descriptor = open_within(self.folder, self.listing.entries[path].place)
            with os.fdopen(descriptor, "rb") as file:
                return read_capped(file, path)
        except OSError as error:
            raise CouldNotJudgeError(f"{path} cannot be read: {error.strerror or error}") from error

    def close(self) -> None:
        """Nothing is held open."""


def entries(folder: Path, within: PurePosixPath) -> dict[str, os.stat_result]:
    """What a folder holds, by name, in the order of the names; links are told as links."""
    if not BY_DESCRIPTOR:
        return statuses(folder / within)
    descriptor = open_folder(folder, within)
    try:
        return statuses(descriptor)
    finally:
        os.close(descriptor)


def statuses(folder: Path | int) -> dict[str, os.stat_result]:
    """What a folder that is given by path or descriptor holds."""
    listed: dict[str, os.stat_result] = {}
    with os.scandir(folder) as found:
        for entry in found:
            if len(listed) == MAX_FILES:
                raise OSError(f"it holds more than {MAX_FILES:,} entries")
            listed[entry.name] = entry.stat(follow_symlinks=False)
    return dict(sorted(listed.items()))


def open_folder(folder: Path, within: PurePosixPath) -> int:
    """Open a folder below another, following no link on the way down."""
    descriptor = os.open(folder, DIRECTORY)
    for part in within.parts:
        try:
            below = os.open(part, DIRECTORY | NO_FOLLOW, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def open_within(folder: Path, path: PurePosixPath) -> int:
    """Open a regular file below a folder, following no link on the way down.

    Raises:
        OSError: it is not there, or no regular file.
    """
    if BY_DESCRIPTOR:
        above = open_folder(folder, path.parent)
        try:
            descriptor = os.open(path.name, FILE, dir_fd=above)
        finally:
            os.close(above)
    else:
        descriptor = os.open(folder / path, FILE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no longer a regular file")
    return descriptor
