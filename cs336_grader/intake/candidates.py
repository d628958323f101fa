"""Finds the adapters in a submission, wherever they lie."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from cs336_grader.parsing import MAX_SOURCE_BYTES, SourceError, parse, text_of
from cs336_grader.records import CouldNotJudgeError, WrongRequestError

from .listing import ADAPTERS
from .names import Patience, defined_names
from .notes import Notes, named
from .sources import ARCHIVES, Source

MAX_CANDIDATES = 100
PACK_AGAIN = "Have the assignment's folder packed again, under an ordinary name"
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


class NothingToGradeError(Exception):
    """The submission itself is why nothing of it can be run; the text says what to mend."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be the adapters.

    Attributes:
        published: how many of the published adapters it defines.
        filled: how many of them are more than a stub.
        fault: why it cannot be imported, or an empty text.
    """

    path: PurePosixPath
    published: int
    filled: int
    fault: str

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """Most filled in first, then most published, then least deep.

        A copy of the stubs must not win over work from which some stubs were deleted.
        """
        return (-self.filled, -self.published, len(self.path.parts), str(self.path))

    def is_of_whole(self, own: Collection[str]) -> bool:
        """Whether it is that of all that was looked at, and not of a folder in it.

        Args:
            own: the names of folders that a submission has.
        """
        return len(self.path.parts) == 1 or self.path.parts[0] in own


def find_adapters(
    source: Source,
    adapter_names: frozenset[str],
    notes: Notes,
    own: Collection[str],
    chosen: PurePosixPath | None = None,
) -> Candidate:
    """The adapters to grade; where there are several files, notes which was taken.

    Args:
        source: the submission.
        adapter_names: the published adapters.
        notes: takes which others there are.
        own: the names of folders that a submission has; others may be submissions themselves.
        chosen: the only file to look at, whatever its name.

    Raises:
        NothingToGradeError: there are none.
        CouldNotJudgeError: there may be some, where they cannot be looked at.
        WrongRequestError: the chosen file is none of them.
    """
    if chosen is None:
        paths = [path for path in source.sizes if path.name == ADAPTERS]
    elif chosen in source.sizes and chosen.suffix == ".py":
        paths = [chosen]
    else:
        known = [str(path) for path in source.sizes if path.name == ADAPTERS]
        there = f"; there is {named(known)}" if known else ""
        raise WrongRequestError(
            f"{source.name} has no Python file {chosen}: --adapters names one by its path in the "
            f"submission{there}"
        )
    found = sorted(candidates(source, paths, adapter_names), key=lambda candidate: candidate.rank)
    if not found:
        refuse_what_cannot_be_seen(source, paths)
        left_out = notes.lines()
        if chosen is not None:
            raise WrongRequestError(f"{absence(source, paths, adapter_names)} Name another file")
        raise NothingToGradeError(" ".join([absence(source, paths, adapter_names), *left_out]))
    best, *others = found
    if others:
        rest = named([str(other.path) for other in others])
        folders = {candidate.path.parts[0] for candidate in found}
        several = len(folders) > 1 and not any(each.is_of_whole(own) for each in found)
        notes.say(
            f"Graded {best.path} (most adapters filled in, then least deep), not {rest}. "
            f"To grade another: --adapters {others[0].path}"
            f"{'; each folder as a submission of its own: cs336 batch' if several else ''}"
        )
    return best


def candidates(
    source: Source, paths: list[PurePosixPath], adapter_names: frozenset[str]
) -> Iterator[Candidate]:
    """Each file of the adapters' name that defines at least one of them, or may."""
    patience = Patience(source.name)
    for path in sorted(paths, key=lambda path: (len(path.parts), path))[:MAX_CANDIDATES]:
        if source.sizes[path] > MAX_SOURCE_BYTES:
            continue
        patience.check()
        content = source.read(path)
        try:
            names = defined_names(parse(content))
            fault = ""
        except SourceError as error:
            names = dict.fromkeys(written_names(content), True)
            fault = str(error)
        published = adapter_names & names.keys()
        # What "from impl import *" brings shows only when it is imported.
        if published or "*" in names:
            filled = sum(names[name] for name in published)
            yield Candidate(path, len(published), filled, fault)


def written_names(content: bytes) -> list[str]:
    """The functions that a file would define if it could be parsed."""
    return re.findall(r"^(?:async )?def (\w+)", text_of(content), re.MULTILINE)


def refuse_what_cannot_be_seen(source: Source, paths: list[PurePosixPath]) -> None:
    """Judge nothing where the adapters may be in what cannot be looked into.

    Raises:
        CouldNotJudgeError: the submission holds such a thing.
    """
    for path in paths:
        if source.sizes[path] > MAX_SOURCE_BYTES:
            raise CouldNotJudgeError(f"{path} is larger than {MAX_SOURCE_BYTES // 2**10} KB")
        if is_lfs_pointer(source.read(path)):
            raise CouldNotJudgeError(f"{path} is a Git LFS pointer: its content is not here")
    if source.unseen and not paths:
        raise CouldNotJudgeError(
            f"{source.name} has no {ADAPTERS}, but has files in hidden folders or with names that "
            f"cannot be used: {named(source.unseen)}. {PACK_AGAIN}"
        )
    archives = [str(path) for path in source.sizes if path.suffix.lower() in ARCHIVES]
    if archives and not paths:
        raise CouldNotJudgeError(
            f"{source.name} has no {ADAPTERS}, but archives within it, which are not unpacked: "
            f"{named(archives)}. To grade one, unpack it; to grade a folder of them: cs336 batch"
        )


def is_lfs_pointer(content: bytes) -> bool:
    """Whether a file stands for another that Git LFS keeps elsewhere."""
    return content.startswith(LFS_POINTER)


def absence(source: Source, paths: list[PurePosixPath], adapter_names: frozenset[str]) -> str:
    """What was looked for and not found."""
    example = sorted(adapter_names)[0]
    if paths:
        return (
            f"{named([str(path) for path in paths])} defines none of the {len(adapter_names)} "
            f"adapters, such as {example}."
        )
    if not source.sizes:
        return f"The submission has no {ADAPTERS}, nor any other file that could be graded."
    otherwise = [str(path) for path in source.sizes if path.name.lower() == ADAPTERS]
    spelled = f" {named(otherwise)} is spelled differently." if otherwise else ""
    return (
        f"There is no {ADAPTERS} in the submission. Looked in every folder for a file of this "
        f"name that defines adapters such as {example}.{spelled}"
    )
