"""Where a submission's files come from: a folder, a zip or tar archive, a git repository.

A source lists the regular files that could matter and reads one at a time, within a limit. What is
skipped is noted. Nothing is built, run or imported, and nothing but a compressed tar archive is
unpacked as a whole.
"""

import os
from pathlib import Path, PurePosixPath
from typing import Protocol

from cs336_grader.records import CouldNotJudgeError, WrongRequestError

from .folders import FILE, FolderSource
from .git_copies import no_repository, repository_in
from .git_repositories import GitSource
from .notes import Notes
from .tar_archives import TarSource
from .zip_archives import ZipSource

ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip", ".git")
SNIFFED_BYTES = 512
ZIP, GZIP, TAR, TAR_AT = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b", b"ustar", 257
NOT_SUPPORTED = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "rar",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x1f\x9d": "compress",
}
UNDERSTOOD = "give a folder, a zip, a tar or tar.gz, or a git repository"
ARCHIVES = {".zip", ".gz", ".tgz", ".tar", ".7z", ".rar", ".bz2", ".xz", ".zst"}


class Source(Protocol):
    """A submission's files.

    Attributes:
        name: the submission's name.
        sizes: each regular file, relative to the submission, with its size in bytes.
        unseen: the names of files and folders that may belong to the work and cannot be taken.
    """

    name: str
    sizes: dict[PurePosixPath, int]
    unseen: list[str]

    def read(self, path: PurePosixPath) -> bytes:
        """A file's content.

        Raises:
            CouldNotJudgeError: it cannot be read.
        """

    def close(self) -> None:
        """Let go of whatever is held open."""


def open_source(path: Path, revision: str | None, notes: Notes) -> Source:
    """The source for a path on the command line.

    Raises:
        CouldNotJudgeError: it cannot be read, or is an archive that is not supported.
        WrongRequestError: it is none of what is understood, or has no revisions.
    """
    name = submission_name(path)
    if path.is_dir():
        folder = path.resolve()
        if revision is not None:
            return GitSource(folder, name, revision, notes)
        if repository_in(folder) == PurePosixPath():
            raise WrongRequestError(
                f"{name} is a bare git repository: name a revision of it, as in --revision main"
            )
        return FolderSource(folder, name, notes)
    if revision is not None:
        raise WrongRequestError(no_repository(name))
    return open_archive(path, name, notes)


def open_archive(path: Path, name: str, notes: Notes) -> Source:
    """The source for an archive, told by its content and not by its name."""
    if not path.is_file():
        # A pipe would be waited for.
        raise WrongRequestError(f"{name} is neither a folder nor an archive: {UNDERSTOOD}")
    try:
        # Told not to wait: it may have become a pipe.
        descriptor = os.open(path.resolve(), FILE)
    except OSError as error:
        raise CouldNotJudgeError(f"{name} cannot be read: {error.strerror or error}") from error
    start = os.read(descriptor, SNIFFED_BYTES)
    os.lseek(descriptor, 0, os.SEEK_SET)
    if start.startswith(ZIP):
        return ZipSource(descriptor, name, notes)
    if start.startswith(GZIP) or start[TAR_AT:].startswith(TAR):
        return TarSource(descriptor, name, notes, packed=start.startswith(GZIP))
    os.close(descriptor)
    kinds = [kind for magic, kind in NOT_SUPPORTED.items() if start.startswith(magic)]
    what = f"a {kinds[0]} archive, which is not supported" if kinds else "no archive"
    told = f"{path.name} is {what}: {UNDERSTOOD}"
    # What is called an archive was handed in as one, and is damaged.
    handed_in = kinds or path.suffix.lower() in ARCHIVES
    raise CouldNotJudgeError(told) if handed_in else WrongRequestError(told)


def submission_name(path: Path) -> str:
    """What a submission is called: its folder or archive, without the archive's ending."""
    path = path.resolve()
    if path.is_dir() and path.suffix != ".git":
        return path.name
    ending = next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), path.suffix)
    return path.name[: len(path.name) - len(ending)] or path.name
