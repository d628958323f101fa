"""Finds the submissions of a class in a folder, whatever put them there, and gives each a name.

A folder may hold folders, archives, and exports of Gradescope, Canvas, Moodle and nbgrader. Of
several archives of one student one counts; only then are their lists of files read here.
"""

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cs336_grader.grades.class_file import CLASS_FILE
from cs336_grader.intake import may_hold_adapters
from cs336_grader.intake.folders import FILE
from cs336_grader.intake.safe_paths import safe_name
from cs336_grader.intake.sources import ARCHIVES, submission_name

from .exports import (
    GRADESCOPE,
    UNKNOWN,
    HandedIn,
    held_by,
    listed_by_gradescope,
    told_by_name,
    told_of,
    visible,
)
from .records import GRADEBOOK, GRADES, PAGE
from .settings import SETTINGS

NOTHING_ELSE = ", and nothing else of this student is graded"
MAX_NAME = 80
MAX_NAME_BYTES = 200
MAX_BYTES = 16 * 2**20
BLOCK_BYTES = 2**20
# The characters that a name keeps beside letters, their marks, and digits.
IN_A_NAME = set("_.,@+-")
# Categories of characters that a name loses: control and format characters.
UNSEEN = {"Cc", "Cf"}


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission of a class.

    Attributes:
        name: a file name that no other has, also where letters' case does not count.
        path: where it lies.
        file: the same, relative to the folder of the class.
        told: the facts from a platform on who handed it in.
        title: its name in its report, for the student who reads it.
    """

    name: str
    path: Path
    file: str = ""
    told: HandedIn = UNKNOWN
    title: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds.

    Attributes:
        submissions: in the order of their names.
        left_out: what was taken for no submission, and why.
        without_work: a file of each student who has no submission, and why it is none.
    """

    submissions: tuple[Submission, ...]
    left_out: tuple[str, ...]
    without_work: tuple[tuple[Submission, str], ...] = ()


def find(folder: Path, but: Path) -> Found:
    """The submissions in a folder.

    Args:
        folder: holds them.
        but: something in it that is none.

    Raises:
        OSError: it cannot be read.
    """
    listed = listed_by_gradescope(folder)
    files = {GRADESCOPE, *files_of_class(folder)}
    told: dict[Path, HandedIn] = {}
    aside: dict[Path, tuple[HandedIn, str]] = {}
    for path in visible(folder):
        if path.name in files or path.resolve() == but.resolve():
            continue
        known = told_of(path, listed)
        if known.typed:
            aside[path] = known, "typed text"
        elif path.is_dir() or is_archive(path):
            told[path] = known
        else:
            aside[path] = known, "no folder and no archive"
    chosen, older = one_a_student(told)
    alone = without_work(aside, told)
    submissions, without = [], []
    for name, path in unique({**chosen, **one_file_each(alone)}):
        if path in alone:
            known, why = aside[path]
            no_work = f"{why}, no work" if known.typed else why
            without.append((Submission(name, path, path.name, known), no_work))
            continue
        inner, others = within(path)
        file = inner.relative_to(folder).as_posix()
        by = chosen[path]
        submissions.append(Submission(name, inner, file, by, title(name, by)))
        for other in others:
            why = "is newer" if written_at(other) < written_at(inner) else "counts"
            older.append(f"{other.relative_to(folder).as_posix()}: {inner.name} {why}")
    lines = [
        *sorted(f"{path.name}: {aside[path][1]}{NOTHING_ELSE}" for path in alone),
        *sorted(f"{path.name}: {why}" for path, (_, why) in aside.items() if path not in alone),
    ]
    return Found(tuple(submissions), (*lines, *older), tuple(without))


def without_work(
    aside: Mapping[Path, tuple[HandedIn, str]], told: Mapping[Path, HandedIn]
) -> dict[Path, HandedIn]:
    """The files of students who have no submission.

    Args:
        aside: the files that are no submission, each with the reason.
        told: the submissions.
    """
    students = {(known.student, known.sid) for known in told.values()}
    return {
        path: known
        for path, (known, _) in aside.items()
        if known != UNKNOWN and (known.student, known.sid) not in students
    }


def one_file_each(told: Mapping[Path, HandedIn]) -> dict[Path, HandedIn]:
    """The first file of each student."""
    firsts = {(known.student, known.sid): path for path, known in reversed(list(told.items()))}
    return {path: told[path] for path in firsts.values()}


def files_of_class(folder: Path) -> set[str]:
    """Return the names of class.toml and of the tables beside it, which are no submissions."""
    if not (folder / CLASS_FILE).is_file():
        return set()
    return {CLASS_FILE, *(path.name for path in folder.glob("*.csv"))}


def is_archive(path: Path) -> bool:
    """Whether a file is called an archive, be it one that can be read or not."""
    return path.is_file() and path.suffix.lower() in ARCHIVES


def one_a_student(told: Mapping[Path, HandedIn]) -> tuple[dict[Path, HandedIn], list[str]]:
    """The latest archive of each student that may hold the adapters, and a line for each other."""
    chosen: dict[Path, HandedIn] = {}
    left_out: list[str] = []
    by_student: dict[object, list[Path]] = {}
    for path, known in told.items():
        by_id = known.sid and told_by_name(path.name) is not None
        by_student.setdefault((known.student, known.sid) if by_id else path, []).append(path)
    for paths in by_student.values():
        best = latest(sorted(paths, key=lambda path: (told[path].number, path)))
        chosen[best] = told[best]
        for other in paths:
            if other != best:
                why = "was handed in later" if told[other].number < told[best].number else "counts"
                left_out.append(f"{other.name}: {best.name} {why}")
    return chosen, left_out


def latest(paths: Sequence[Path]) -> Path:
    """The last path that may hold the adapters; the last of all where none may."""
    several = reversed(paths) if len(paths) > 1 else ()
    return next((path for path in several if may_hold_adapters(path)), paths[-1])


def within(path: Path) -> tuple[Path, list[Path]]:
    """The newest archive in a folder that holds no other work, and the others; else the path.

    A folder that is alone in its folder stands for it.
    """
    held = held_by(path)
    while len(held) == 1 and held[0].is_dir() and not held[0].is_symlink():
        held = held_by(held[0])
    archives = [one for one in held if is_archive(one)]
    if not archives or any(one.is_dir() or one.suffix == ".py" for one in held):
        return path, []
    best = latest(sorted(archives, key=lambda one: (written_at(one), one)))
    return best, [one for one in archives if one != best]


def written_at(path: Path) -> float:
    """When a file was last written, by the clock of the system that wrote it."""
    return path.stat().st_mtime


def unique(told: Mapping[Path, HandedIn]) -> Iterator[tuple[str, Path]]:
    """A unique file name for each path: the student's name, with the id if two have that name."""
    titles = {
        path: plain_name(known.student or submission_name(path)) for path, known in told.items()
    }
    bearers = Counter(title.casefold() for title in titles.values())
    for path, title in titles.items():
        if bearers[title.casefold()] > 1 and told[path].sid:
            titles[path] = plain_name(f"{title}_{told[path].sid}")
    taken = {GRADEBOOK, GRADES, PAGE, SETTINGS}
    for path, title in sorted(titles.items(), key=lambda entry: (entry[1], entry[0])):
        name, number = title, 2
        while name.casefold() in taken:
            name, number = f"{title}-{number}", number + 1
        taken.add(name.casefold())
        yield name, path


def title(name: str, told: HandedIn) -> str:
    """The student's name and id, as far as a platform gives them; else the submission's name."""
    if told.student and told.sid:
        return f"{told.student} ({told.sid})"
    return told.student or name


def plain_name(text: str) -> str:
    """A text as a file name of moderate length that keeps its letters and accents.

    >>> plain_name("Jose\u0301 Nu\u0301n\u0303ez"), plain_name("a b; rm/x"), plain_name("...")
    ('José_Núñez', 'a_b_rm_x', 'submission')
    """
    kept = "".join(
        one if one in IN_A_NAME or unicodedata.category(one)[0] in "LMN" else " "
        for one in unicodedata.normalize("NFC", text)
        if unicodedata.category(one) not in UNSEEN
    )
    short = "_".join(kept.split())[:MAX_NAME].encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    return safe_name(short.strip("._")) or "submission"


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
