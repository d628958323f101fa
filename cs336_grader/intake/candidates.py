"""Finds the adapters in a submission, wherever they lie."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from .notes import Notes, named
from .parsing import SourceError, defined_names, parse
from .sources import MAX_FILE_BYTES, Source

ADAPTERS = "adapters.py"


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


def find_adapters(source: Source, adapter_names: frozenset[str], notes: Notes) -> PurePosixPath:
    """The adapters to grade; where there are several files, notes which was taken.

    Raises:
        NothingToGradeError: there are none, or they are no Python.
    """
    paths = [path for path in source.sizes if path.name == ADAPTERS]
    found = sorted(candidates(source, paths, adapter_names), key=lambda candidate: candidate.rank)
    if not found:
        raise NothingToGradeError(absence(paths, adapter_names))
    best, *others = found
    if best.fault:
        raise NothingToGradeError(f"{best.path} is no valid Python: {best.fault}")
    if others:
        rest = named([str(other.path) for other in others])
        notes.say(
            f"Graded {best.path} (most adapters filled in, then least deep), not {rest}. "
            "To grade another, give its own folder."
        )
    return best.path


def candidates(
    source: Source, paths: list[PurePosixPath], adapter_names: frozenset[str]
) -> Iterator[Candidate]:
    """Each file of the adapters' name that defines at least one of them, or may."""
    for path in paths:
        if source.sizes[path] > MAX_FILE_BYTES:
            continue
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
    text = content.decode("utf-8", "replace")
    return re.findall(r"^(?:async )?def (\w+)", text, re.MULTILINE)


def absence(paths: list[PurePosixPath], adapter_names: frozenset[str]) -> str:
    """What was looked for and not found."""
    example = sorted(adapter_names)[0]
    if not paths:
        return (
            f"There is no {ADAPTERS} in the submission. Looked in every folder for a file of this "
            f"name that defines adapters such as {example}."
        )
    return (
        f"{named([str(path) for path in paths])} defines none of the {len(adapter_names)} adapters,"
        f" such as {example}."
    )
