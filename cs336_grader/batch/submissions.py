"""Finds the submissions of a class in a folder, whatever put them there, and gives each a name.

What is understood: folders, archives, and what Gradescope, Canvas and Moodle export. Nothing of a
submission is opened here.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from cs336_grader.intake.folders import FILE
from cs336_grader.intake.sources import ARCHIVES, submission_name

from .records import GRADEBOOK, PAGE
from .settings import SETTINGS

GRADESCOPE = "submission_metadata.yml"
# lovelaceada_LATE_4211_90817_lm.zip: the student, their id, the id of what was handed in.
CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<student>\d+)_(?P<handed_in>\d+)_(?P<file>.+)")
# Ada Lovelace_90817_assignsubmission_file
MOODLE = re.compile(r"(?P<name>[^_]+)_(?P<handed_in>\d+)_assignsubmission_file_?")
NOT_IN_A_NAME = re.compile(r"[^\w.,@+-]+")
MAX_NAME = 80
MAX_BYTES = 16 * 2**20
BLOCK_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission of a class.

    Attributes:
        name: a file name that no other has, also where letters' case does not count.
        path: where it lies.
        sid: the student ids of those who handed it in, as far as a platform tells.
        email: the same of their addresses.
    """

    name: str
    path: Path
    sid: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds.

    Attributes:
        submissions: in the order of their names.
        left_out: what was taken for no submission, and why.
    """

    submissions: tuple[Submission, ...]
    left_out: tuple[str, ...]


def find(folder: Path, but: Path) -> Found:
    """The submissions in a folder.

    Args:
        folder: holds them.
        but: something in it that is none.

    Raises:
        OSError: it cannot be read.
    """
    entries = sorted(
        path
        for path in folder.iterdir()
        if not path.name.startswith((".", "__MACOSX")) and path.resolve() != but.resolve()
    )
    submitters = gradescope_submitters(folder / GRADESCOPE)
    candidates = [path for path in entries if path.is_dir() or is_archive(path)]
    left_out = [
        f"{path.name}: no folder and no archive"
        for path in entries
        if path not in candidates and path.name != GRADESCOPE
    ]
    chosen, older = newest(candidates)
    left_out += [f"{path.name}: {by.name} was handed in later" for path, by in older]
    people = {path: submitters.get(path.name, []) for path in chosen}
    titles = [(told(people[path], ":name", "+") or title(path), path) for path in chosen]
    submissions = []
    for name, path in unique(sorted(titles)):
        sid, email = (told(people[path], key, "; ") for key in (":sid", ":email"))
        submissions.append(Submission(name, within(path), sid, email))
    return Found(tuple(submissions), tuple(left_out))


def is_archive(path: Path) -> bool:
    """Whether a file is called an archive, be it one that can be read or not."""
    return path.is_file() and path.suffix.lower() in ARCHIVES


def gradescope_submitters(metadata: Path) -> dict[str, list[dict[str, object]]]:
    """What is told of those who handed in each folder of an export from Gradescope."""
    try:
        entries = yaml.safe_load(metadata.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    found: dict[str, list[dict[str, object]]] = {}
    for folder, entry in entries.items() if isinstance(entries, dict) else ():
        submitters = entry.get(":submitters") if isinstance(entry, dict) else None
        people = submitters if isinstance(submitters, list) else ()
        found[str(folder)] = [one for one in people if isinstance(one, dict)]
    return found


def told(people: Iterable[Mapping[str, object]], key: str, between: str) -> str:
    """What is told of some people in one field; empty where nothing is."""
    return between.join(str(one[key]) for one in people if one.get(key))


def title(path: Path) -> str:
    """What a submission is called by its file name."""
    if found := CANVAS.fullmatch(path.name) or MOODLE.fullmatch(path.name):
        return found["name"]
    return submission_name(path)


def newest(paths: Iterable[Path]) -> tuple[list[Path], list[tuple[Path, Path]]]:
    """Of what one student handed in to Canvas, the latest; and each other with the latest."""
    kept: list[Path] = []
    by_student: dict[str, list[tuple[int, Path]]] = {}
    for path in paths:
        if found := CANVAS.fullmatch(path.name):
            handed_in = int(found["handed_in"]), path
            by_student.setdefault(found["student"], []).append(handed_in)
        else:
            kept.append(path)
    older: list[tuple[Path, Path]] = []
    for attempts in by_student.values():
        *earlier, (_, last) = sorted(attempts)
        kept.append(last)
        older += [(path, last) for _, path in earlier]
    return kept, older


def within(path: Path) -> Path:
    """The submission itself, where a platform put a single archive in a folder of its own."""
    if path.is_dir():
        held = [one for one in path.iterdir() if not one.name.startswith((".", "__MACOSX"))]
        if len(held) == 1 and is_archive(held[0]):
            return held[0]
    return path


def unique(titles: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """Each path with a file name made of its title."""
    taken = {GRADEBOOK, PAGE, SETTINGS}
    for text, path in titles:
        plain = NOT_IN_A_NAME.sub("_", text).strip("._")[:MAX_NAME] or "submission"
        name, number = plain, 2
        while name.casefold() in taken:
            name, number = f"{plain}-{number}", number + 1
        taken.add(name.casefold())
        yield name, path


def digest(path: Path) -> str:
    """A digest of all that was handed in; of what is too large, of its size alone.

    What cannot be read has a digest as well: it is graded to be told so.
    """
    found = hashlib.sha256()
    for file in sorted(files(path)):
        found.update(f"{file.relative_to(path.parent).as_posix()}\0".encode(errors="replace"))
        try:
            descriptor = os.open(file, FILE)
            with os.fdopen(descriptor, "rb") as content:
                size = os.fstat(descriptor).st_size
                found.update(f"{size}\0".encode())
                left = MAX_BYTES if size > MAX_BYTES else size
                while left > 0 and (block := content.read(min(BLOCK_BYTES, left))):
                    found.update(block)
                    left -= len(block)
        except OSError as error:
            found.update(f"{error.errno}\0".encode())
    return found.hexdigest()


def files(path: Path) -> Iterator[Path]:
    """A file itself, or all that a folder holds; links are not followed."""
    if not path.is_dir():
        yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)
