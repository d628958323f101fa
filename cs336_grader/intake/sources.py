"""Where a submission's files come from: a folder or a zip, read without following anything.

A source lists the regular files that could matter and reads one at a time, within a limit. What is
skipped is noted. Nothing is extracted here, so a bomb costs no more than its list of names.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from cs336_grader.records import CouldNotJudgeError

from .notes import Notes

MAX_FILES = 50_000
MAX_DEPTH = 32
MAX_NAME_BYTES = 200
# A larger file is no source code; it is listed and never taken.
MAX_FILE_BYTES = 16 * 2**20
# Source code shrinks to a fifth; what shrinks to less than a five-hundredth was made to.
MAX_RATIO = 500
RATIO_MATTERS_FROM = 2**20

IGNORED_FOLDERS = {"__pycache__", "__MACOSX", "node_modules", "site-packages"}
VENV_MARK = "pyvenv.cfg"

ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Source(Protocol):
    """A submission's files.

    Attributes:
        name: the submission's name.
        sizes: each regular file, relative to the submission, with its size in bytes.
    """

    name: str
    sizes: dict[PurePosixPath, int]

    def read(self, path: PurePosixPath) -> bytes:
        """A file's content.

        Raises:
            CouldNotJudgeError: it cannot be read.
        """


def open_source(path: Path, notes: Notes) -> Source:
    """The source for a path on the command line.

    Raises:
        CouldNotJudgeError: it is neither a folder nor an archive that can be read.
    """
    if path.is_dir():
        return FolderSource(path, notes)
    # A pipe would be waited for.
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise CouldNotJudgeError(
            f"{path} is neither a folder nor a zip archive that can be read; "
            "unpack it and grade the folder"
        )
    return ZipSource(path, notes)


class FolderSource:
    """A submission in a folder."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self.folder = path.resolve()
        self.name = self.folder.name
        self.sizes = dict(self.walk(notes))

    def walk(self, notes: Notes) -> Iterator[tuple[PurePosixPath, int]]:
        """The regular files of the folder and of those within it, with their sizes."""
        pending = [PurePosixPath()]
        found = 0
        while pending:
            folder = pending.pop()
            try:
                entries = sorted(os.scandir(self.folder / folder), key=lambda entry: entry.name)
            except OSError:
                notes.skipped("cannot be read", folder)
                continue
            if folder.parts and any(entry.name == VENV_MARK for entry in entries):
                continue
            for entry in entries:
                path = folder / entry.name
                if entry.is_symlink():
                    notes.skipped("links are not followed", path)
                elif entry.is_dir(follow_symlinks=False):
                    if takes_folder(entry.name) and is_storable(path, notes):
                        pending.append(path)
                elif not entry.is_file(follow_symlinks=False):
                    notes.skipped("not a regular file", path)
                elif is_storable(path, notes):
                    found = counted(found, self.name)
                    yield path, entry.stat(follow_symlinks=False).st_size

    def read(self, path: PurePosixPath) -> bytes:
        """A file's content, if it is still the regular file that was listed."""
        # Neither a link nor a pipe that was put in the file's place since can be followed or hang.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(self.folder / path, flags | getattr(os, "O_BINARY", 0))
            with os.fdopen(descriptor, "rb") as file:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return read_capped(file, path)
        except OSError as error:
            raise CouldNotJudgeError(f"{path} cannot be read: {error.strerror or error}") from error
        raise CouldNotJudgeError(f"{path} cannot be read: it is no longer a regular file")


class ZipSource:
    """A submission in a zip archive."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self.path = path
        self.name = path.resolve().stem
        self.members: dict[PurePosixPath, zipfile.ZipInfo] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                listed = archive.infolist()
        except ZIP_ERRORS as error:
            raise CouldNotJudgeError(f"{path.name} is no readable zip archive: {error}") from error
        found = 0
        for member in listed:
            found = counted(found, self.name)
            self.admit(member, notes)
        self.leave_out_environments()
        self.leave_out_files_that_are_folders(notes)
        self.sizes = {path: member.file_size for path, member in self.members.items()}

    def admit(self, member: zipfile.ZipInfo, notes: Notes) -> None:
        """Add a member to the list, unless it is none that a submission needs."""
        path = safe_path(member.orig_filename)
        kind = stat.S_IFMT(member.external_attr >> 16)
        if path is None:
            notes.skipped("points out of the archive or is no portable path", member.orig_filename)
        elif stat.S_ISLNK(kind):
            notes.skipped("links are not followed", path)
        elif member.is_dir() or member.orig_filename.endswith("\\"):
            return
        elif kind not in {0, stat.S_IFREG}:
            notes.skipped("not a regular file", path)
        elif not all(takes_folder(part) for part in path.parts[:-1]):
            return
        elif path in self.members:
            raise CouldNotJudgeError(
                f"the archive holds {path} twice, and which one counts is not clear; "
                "have it packed again"
            )
        elif member.flag_bits & 1:
            raise CouldNotJudgeError(
                f"{path} is encrypted; have the archive packed without a password"
            )
        elif is_bomb(member):
            notes.skipped("unpacks to hundreds of times its size", path)
        elif is_storable(path, notes):
            self.members[path] = member

    def leave_out_environments(self) -> None:
        """Leave out every folder that is a virtual environment."""
        environments = {path.parent for path in self.members if path.name == VENV_MARK}
        environments.discard(PurePosixPath())
        for path in [path for path in self.members if environments & set(path.parents)]:
            del self.members[path]

    def leave_out_files_that_are_folders(self, notes: Notes) -> None:
        """Leave out a file whose name is also a folder's."""
        folders = {parent for path in self.members for parent in path.parents}
        for path in [path for path in self.members if path in folders]:
            notes.skipped("is both a file and a folder", path)
            del self.members[path]

    def read(self, path: PurePosixPath) -> bytes:
        """A member's content, whatever size the archive claims for it."""
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.members[path]) as file:
                return read_capped(file, path)
        except ZIP_ERRORS as error:
            raise CouldNotJudgeError(f"{path} cannot be unpacked: {error}") from error


def read_capped(file: IO[bytes], path: PurePosixPath) -> bytes:
    """All of a file, if it is no larger than it may be."""
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise CouldNotJudgeError(f"{path} is larger than it was said to be")
    return content


def takes_folder(name: str) -> bool:
    """Whether what lies in a folder of this name can be a student's source."""
    return name not in IGNORED_FOLDERS and not name.startswith(".")


def is_storable(path: PurePosixPath, notes: Notes) -> bool:
    """Whether a path can be copied on any system; a path that cannot is noted."""
    try:
        longest = max(len(part.encode()) for part in path.parts)
    except UnicodeEncodeError:
        notes.skipped("the name is not UTF-8", path)
        return False
    if longest > MAX_NAME_BYTES or len(path.parts) > MAX_DEPTH:
        notes.skipped("the name is too long or lies too deep", path)
        return False
    return True


def safe_path(name: str) -> PurePosixPath | None:
    r"""A member's name as a path within the archive, or None if it could leave it.

    Some programs for Windows write backslashes between folders.

    >>> safe_path("a/./b.py"), safe_path("a\\b.py")
    (PurePosixPath('a/b.py'), PurePosixPath('a/b.py'))
    >>> safe_path("../b.py"), safe_path("/b.py"), safe_path("C:/b.py"), safe_path("a\\..\\b.py")
    (None, None, None, None)
    """
    path = PurePosixPath(name.replace("\\", "/"))
    portable = not any(character in name for character in ":\0")
    if not portable or path.is_absolute() or ".." in path.parts or not path.parts:
        return None
    return path


def is_bomb(member: zipfile.ZipInfo) -> bool:
    """Whether a member unpacks to far more than source code does."""
    return (
        member.file_size >= RATIO_MATTERS_FROM
        and member.file_size > MAX_RATIO * member.compress_size
    )


def counted(found: int, name: str) -> int:
    """One more file than before, if that is not too many."""
    if found >= MAX_FILES:
        raise CouldNotJudgeError(
            f"{name} holds more than {MAX_FILES:,} files; grade the folder of the assignment alone"
        )
    return found + 1
