"""A private copy of a git repository's objects and references, which are data, and nothing else.

What a repository says to git stays behind: its configuration, hooks, attributes, replacements, and
the places from where it borrows objects.
"""

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from cs336_grader.records import CouldNotJudgeError, WrongRequestError

from .folders import entries, open_within

MAX_REPOSITORY_BYTES = 2 * 2**30
MAX_REPOSITORY_FILES = 200_000
MAX_CONFIGURATION_BYTES = 2**20
CHUNK = 2**20

CONFIGURATION = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
COPIED = re.compile(
    r"HEAD|packed-refs|refs/(?!replace/).+"
    r"|objects/[0-9a-f]{2}/[0-9a-f]{38}|objects/pack/pack-[0-9a-f]{40}\.(?:pack|idx)"
)
WALKED = re.compile(r"refs(?:/(?!replace$).+)?|objects(?:/(?:[0-9a-f]{2}|pack))?")
BORROWING = ("objects/info/alternates", "objects/info/http-alternates", "commondir")
UNSUPPORTED = re.compile(rb"^\s*(objectformat\s*=\s*sha256|refstorage\s*=\s*reftable)", re.I | re.M)


@contextlib.contextmanager
def copy_of(folder: Path, name: str) -> Iterator[Path]:
    """A private bare repository with the objects and references of another.

    Args:
        folder: a working tree or a bare repository.
        name: the submission's name.

    Raises:
        CouldNotJudgeError: it cannot be copied.
        WrongRequestError: it is no repository.
    """
    inner = repository_in(folder)
    if inner is None:
        raise WrongRequestError(no_repository(name))
    refuse_what_is_elsewhere(folder, inner, name)
    with tempfile.TemporaryDirectory(prefix="cs336-", ignore_cleanup_errors=True) as made:
        private = Path(made)
        for needed in ("objects/pack", "refs"):
            (private / needed).mkdir(parents=True)
        try:
            copy_files(folder, inner, private, name)
        except OSError as error:
            raise CouldNotJudgeError(
                f"{name} cannot be copied: {error.strerror or error}"
            ) from error
        (private / "config").write_text(CONFIGURATION, encoding="utf-8")
        yield private


def no_repository(name: str) -> str:
    """Says what to do where something has no revisions."""
    return f"{name} is no git repository: leave out --revision, or give the folder that holds .git"


def repository_in(folder: Path) -> PurePosixPath | None:
    """Where a folder has a repository of its own: in .git, or itself; None if nowhere.

    A .git that is a link or a file leads to what is another's.
    """
    for inner in (PurePosixPath(".git"), PurePosixPath()):
        parts = [folder / inner / part for part in ("", "HEAD", "objects", "refs")]
        if all(part.exists() and (part == folder or not part.is_symlink()) for part in parts):
            return inner
    return None


def refuse_what_is_elsewhere(folder: Path, inner: PurePosixPath, name: str) -> None:
    """Refuse a repository that needs another's objects, or that is of a kind not read here."""
    for place in BORROWING:
        if os.path.lexists(folder / inner / place):
            raise CouldNotJudgeError(
                f"{name} borrows from another repository; clone it without sharing objects"
            )
    configuration = b""
    with contextlib.suppress(OSError):
        descriptor = open_within(folder, inner / "config")
        with os.fdopen(descriptor, "rb") as file:
            configuration = file.read(MAX_CONFIGURATION_BYTES)
    found = UNSUPPORTED.search(configuration)
    if found is not None:
        what = found[1].decode()
        raise CouldNotJudgeError(f"{name} is a repository with {what}, which is not supported")


def copy_files(folder: Path, inner: PurePosixPath, private: Path, name: str) -> None:
    """Copy what a repository is read from, following no link."""
    pending = [PurePosixPath()]
    files = total = 0
    while pending:
        within = pending.pop()
        for entry, status in entries(folder, inner / within).items():
            path = within / entry
            if stat.S_ISDIR(status.st_mode) and WALKED.fullmatch(str(path)):
                (private / path).mkdir(exist_ok=True)
                pending.append(path)
            elif stat.S_ISREG(status.st_mode) and COPIED.fullmatch(str(path)):
                files += 1
                total += status.st_size
                if files > MAX_REPOSITORY_FILES or total > MAX_REPOSITORY_BYTES:
                    raise CouldNotJudgeError(f"{name} is too large a repository")
                copy_file(open_within(folder, inner / path), private / path, status.st_size)


def copy_file(descriptor: int, target: Path, size: int) -> None:
    """Copy an open file, of which no more than was listed is read."""
    with os.fdopen(descriptor, "rb") as source, target.open("xb") as copy:
        while size > 0 and (chunk := source.read(min(size, CHUNK))):
            copy.write(chunk)
            size -= len(chunk)
