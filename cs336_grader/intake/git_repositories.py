"""A submission in a git repository, at a revision.

One ``git cat-file`` with a clean environment answers what is in a private copy (git_copies), which
has a configuration of our own: no hook, filter, attribute, submodule, replacement, or program or
server that the repository names has a part in it.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cs336_grader.records import CouldNotJudgeError, WrongRequestError

from .git_copies import copy_of
from .listing import MAX_FILE_BYTES, Listing
from .notes import Notes

MAX_TREE_BYTES = 2**24
MAX_MEMORY_BYTES = 2 * 2**30
MAX_SECONDS = 120

ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
FOLDER_MODE, LINK_MODE, SUBMODULE_MODE = 0o040000, 0o120000, 0o160000
HASH_BYTES = 20
OCTAL = re.compile(rb"[0-7]{1,8}")
GIT_ENDED = "git ended, took too long, or is older than 2.36"


@dataclass(frozen=True, slots=True)
class Found:
    """An object: its hash, type and size."""

    hash: str
    type: str
    size: int


class GitSource:
    """A submission in a git repository, at a revision.

    Args:
        folder: a working tree or a bare repository.
        revision: a branch, a tag, a commit, or whatever else git takes for one.
    """

    def __init__(self, folder: Path, name: str, revision: str, notes: Notes) -> None:
        self.name = name
        self.notes = notes
        self.listing: Listing[str] = Listing(name, notes)
        self.resources = contextlib.ExitStack()
        with contextlib.ExitStack() as failed:
            failed.callback(self.resources.close)
            copied = self.resources.enter_context(copy_of(folder, name))
            self.reader = self.resources.enter_context(reading(copied, name))
            commit = self.commit_of(revision)
            notes.say(f"Graded revision {revision}, commit {commit}.")
            self.look_into(f"{commit}^{{tree}}", "")
            for inner, hash_of_tree in self.listing.folders_to_look_into():
                self.look_into(hash_of_tree, inner)
            failed.pop_all()
        self.listing.finish()
        self.sizes, self.unseen = self.listing.sizes, self.listing.unseen

    def commit_of(self, revision: str) -> str:
        """The hash of the commit that a revision stands for."""
        # Fails here, with its own words, where git cannot be used at all.
        self.reader.find("HEAD")
        found = None
        # Of some that it does not understand git has more to say than that, and ends.
        with contextlib.suppress(CouldNotJudgeError):
            found = self.reader.find(f"{revision}^{{commit}}") if "\n" not in revision else None
        if found is None:
            raise WrongRequestError(
                f"{self.name} has no revision {revision!r}: name a branch, a tag or a commit, as "
                "git branch --all, git tag and git log list them"
            )
        return found.hash

    def look_into(self, hash_of_tree: str, folder: str) -> None:
        """List the files of a tree, and add the folders in it to those that are looked into."""
        tree = self.reader.find(hash_of_tree)
        if tree is None or tree.type != "tree" or tree.size > MAX_TREE_BYTES:
            raise CouldNotJudgeError(f"{self.name} has no readable folder {folder or '.'}")
        for mode, name, found in tree_entries(self.reader.content(tree)):
            path = f"{folder}/{name}" if folder else name
            if "/" in name or name in {"", ".", ".."}:
                self.notes.skipped("is no name of a file", path)
            elif mode == LINK_MODE:
                self.notes.skipped("links are not followed", path)
            elif mode == SUBMODULE_MODE:
                self.notes.skipped("submodules are not fetched", path)
            elif mode == FOLDER_MODE:
                self.listing.add_folder(path, found)
            else:
                self.add(path, found)

    def add(self, path: str, name_of_object: str) -> None:
        """List a file, unless its content is elsewhere."""
        found = self.reader.find(name_of_object)
        if found is None and path.endswith(".py"):
            raise CouldNotJudgeError(
                f"{self.name} does not hold the content of {path}: it is no full clone"
            )
        if found is None:
            self.notes.skipped("the repository does not hold the content", path)
        else:
            self.listing.add(path, found.size, found.hash)

    def read(self, path: PurePosixPath) -> bytes:
        """A file's content."""
        entry = self.listing.entries[path]
        if entry.size > MAX_FILE_BYTES:
            raise CouldNotJudgeError(f"{path} is too large")
        return self.reader.content(Found(entry.place, "blob", entry.size))

    def close(self) -> None:
        """End git, and remove the copy."""
        self.resources.close()


class Reader:
    """A running ``git cat-file --batch-command``.

    Args:
        process: git.
        name: the submission's name.

    Raises:
        CouldNotJudgeError: git has no answer, or not the one that was asked for.
    """

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        self.name = name
        assert process.stdin is not None  # noqa: S101 (both were asked to be pipes)
        assert process.stdout is not None  # noqa: S101
        self.questions = process.stdin
        self.answers = process.stdout

    def ask(self, question: str) -> str:
        """The line that git answers."""
        try:
            self.questions.write(question.encode("utf-8", "surrogateescape") + b"\n")
            self.questions.flush()
            answer = self.answers.readline()
        except OSError as error:
            raise self.unreadable(GIT_ENDED) from error
        if not answer.endswith(b"\n"):
            raise self.unreadable(GIT_ENDED)
        return answer.decode("utf-8", "replace")

    def find(self, name: str) -> Found | None:
        """The object of a name, if there is one."""
        answer = self.ask(f"info {name}").split()
        # What is not there is told as "... missing", what is not clear as "... ambiguous".
        if len(answer) != 3 or not answer[2].isdecimal():
            return None
        return Found(answer[0], answer[1], int(answer[2]))

    def content(self, found: Found) -> bytes:
        """An object's content, which must be as long as it was said to be."""
        if self.ask(f"contents {found.hash}").split() != [found.hash, found.type, str(found.size)]:
            raise self.unreadable(f"the object {found.hash} is damaged")
        content = self.answers.read(found.size + 1)
        if len(content) != found.size + 1:
            raise self.unreadable(f"the object {found.hash} is damaged")
        return content[:-1]

    def unreadable(self, why: str) -> CouldNotJudgeError:
        """Says that nothing more can be read, and why."""
        return CouldNotJudgeError(f"{self.name} cannot be read as a repository: {why}")


@contextlib.contextmanager
def reading(repository: Path, name: str) -> Iterator[Reader]:
    """Run git in a repository that is ours, for a limited time."""
    program = shutil.which("git")
    if program is None:
        raise CouldNotJudgeError("git is not installed, and without it no revision can be read")
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    process = subprocess.Popen(
        [program, f"--git-dir={repository}", "cat-file", "--batch-command"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=repository,
        env=kept | ENVIRONMENT | {"HOME": str(repository)},
    )
    limit_memory(process.pid)
    watch = threading.Timer(MAX_SECONDS, process.kill)
    watch.start()
    try:
        yield Reader(process, name)
    finally:
        watch.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            # What could not be written cannot be written now either.
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both were asked to be pipes


def limit_memory(process: int) -> None:
    """Keep a process from taking all memory, where the system can do so from outside."""
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 (Windows has none)

        resource.prlimit(process, resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


def tree_entries(content: bytes) -> Iterator[tuple[int, str, str]]:
    """Mode, name and hash of each entry of a tree object: "mode name", zero, the hash's bytes."""
    position = 0
    while position < len(content):
        end = content.find(b"\0", position)
        mode, space, name = content[position:end].partition(b" ")
        position = end + 1 + HASH_BYTES
        if end < 0 or not space or not OCTAL.fullmatch(mode) or position > len(content):
            raise CouldNotJudgeError("The repository holds a damaged folder")
        yield (
            int(mode, 8),
            name.decode("utf-8", "surrogateescape"),
            content[end + 1 : position].hex(),
        )
