"""Which files of a container can be a submission's: the same rules for every kind of container."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Generic, TypeVar

from cs336_grader.records import CouldNotJudgeError

from .notes import Notes
from .safe_paths import is_storable, safe_path

MAX_FILES = 50_000
# A larger file is no source code; it is listed and never taken.
MAX_FILE_BYTES = 16 * 2**20
# Source code shrinks to a fifth; what shrinks to less than a five-hundredth was made to.
MAX_RATIO = 500
DAMAGED = "it is cut off or damaged; have it packed or downloaded again"
RATIO_MATTERS_FROM = 2**20

ADAPTERS = "adapters.py"
RENAMED_MODULE = re.compile(r"\.py_")
IGNORED_FOLDERS = {".git", "__pycache__", "__MACOSX", "node_modules", "site-packages"}
IGNORED_FILES = {".DS_Store", "Thumbs.db", "desktop.ini"}

# Where a container has a file: an offset, a name as it is spelled there.
Place = TypeVar("Place")


@dataclass(frozen=True, slots=True)
class Entry(Generic[Place]):
    """A listed file: its size in bytes, and where the container has it."""

    size: int
    place: Place


class Listing(Generic[Place]):
    """The regular files of a container that could matter.

    Args:
        name: the submission's name.
        notes: takes what is left out.

    Attributes:
        entries: each file, by its path within the submission.
        has_adapters: whether a file of the adapters' name is among them.
        folders: those that are still to be looked into, hidden ones first.
        unseen: the names of files and folders that may belong to the work and cannot be taken.
    """

    def __init__(self, name: str, notes: Notes) -> None:
        self.name = name
        self.notes = notes
        self.entries: dict[PurePosixPath, Entry[Place]] = {}
        self.unseen: list[str] = []
        self.twice: set[PurePosixPath] = set()
        self.has_adapters = False
        self.folders: deque[tuple[PurePosixPath, str, Place]] = deque()
        self.counted = 0

    @property
    def sizes(self) -> dict[PurePosixPath, int]:
        """Each file with its size in bytes."""
        return {path: entry.size for path, entry in self.entries.items()}

    def path_of(self, name: str) -> PurePosixPath | None:
        """The path under which a file or folder is taken; None, with a note, if it is not."""
        path = safe_path(name)
        if path is not None and is_storable(path):
            # Under its safe name it is no module any more: "a.py?" has become "a.py_".
            if RENAMED_MODULE.search(path.name):
                self.unseen.append(name)
            return path
        reason = "leads out of the submission" if path is None else "is too long or lies too deep"
        self.notes.skipped(f"the name {reason}", name)
        if PurePosixPath(name).suffix in {".py", ""}:
            self.unseen.append(name)
        return None

    def add_folder(self, name: str, place: Place) -> None:
        """Add a folder to those that are looked into, unless it is none that a submission needs.

        Raises:
            CouldNotJudgeError: there are too many.
        """
        path = self.path_of(name)
        if path is None or not IGNORED_FOLDERS.isdisjoint(path.parts):
            return
        self.count()
        if takes_folders(path.parts):
            self.folders.append((path, name, place))
        else:
            self.folders.appendleft((path, name, place))

    def folders_to_look_into(self) -> Iterator[tuple[str, Place]]:
        """The names and places of folders; hidden ones last, and only if no adapters were found."""
        while self.folders:
            path, name, place = self.folders.pop()
            if takes_folders(path.parts) or not self.has_adapters:
                yield name, place

    def add(self, name: str, size: int, place: Place) -> None:
        """List a regular file, unless it is none that a submission needs.

        Raises:
            CouldNotJudgeError: there are too many, or it is a module that was listed before.
        """
        path = self.path_of(name)
        if path is None or not takes_file(path.name):
            return
        if not takes_folders(path.parts[:-1]):
            if path.name == ADAPTERS and IGNORED_FOLDERS.isdisjoint(path.parts):
                self.unseen.append(name)
            return
        self.count()
        self.has_adapters = self.has_adapters or path.name == ADAPTERS
        if path not in self.entries and path not in self.twice:
            self.entries[path] = Entry(size, place)
            return
        if path.suffix == ".py":
            raise CouldNotJudgeError(
                f"{self.name} holds {path} twice, and which one counts is not clear; "
                "have it packed again"
            )
        self.notes.skipped("is there twice", path)
        self.entries.pop(path, None)
        self.twice.add(path)

    def count(self) -> None:
        """Count one more file or folder, if that is not too many."""
        self.counted += 1
        if self.counted > MAX_FILES:
            raise CouldNotJudgeError(
                f"{self.name} holds more than {MAX_FILES:,} files; "
                "grade the folder of the assignment alone"
            )

    def finish(self) -> None:
        """Leave out what only the whole list shows to be of no use."""
        folders = folders_of(self.entries)
        for path in list(self.entries):
            if path in folders:
                self.notes.skipped("is both a file and a folder", path)
                del self.entries[path]


def folders_of(files: Iterable[PurePosixPath]) -> set[PurePosixPath]:
    """The folders that files lie in, and those above them."""
    nearest = {path.parent for path in files}
    return nearest.union(*(folder.parents for folder in nearest))


def takes_folders(names: tuple[str, ...]) -> bool:
    """Whether what lies in folders of these names can be a student's source."""
    hidden = (name.startswith(".") and name != ".." for name in names)
    return not any(hidden) and IGNORED_FOLDERS.isdisjoint(names)


def takes_file(name: str) -> bool:
    """Return True for a file that is none of those that systems add to folders."""
    return name not in IGNORED_FILES and not name.startswith("._")


def damage(error: Exception) -> str:
    """What is said of an archive that a library cannot read; the system's errors say it best."""
    return (isinstance(error, OSError) and error.strerror) or DAMAGED


def is_bomb(size: int, packed: int) -> bool:
    """Whether something unpacks to far more than source code does."""
    return size >= RATIO_MATTERS_FROM and size > MAX_RATIO * packed


def read_capped(file: IO[bytes], path: PurePosixPath) -> bytes:
    """All of a file, if it is no larger than it may be."""
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise CouldNotJudgeError(f"{path} is larger than it was said to be")
    return content
