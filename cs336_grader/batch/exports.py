"""Reads who handed in each file or folder of a course platform's export, and when.

``FORMS`` has one pattern for each kind of file name. In addition, Gradescope writes a list of all
folders, and nbgrader a file with the time into each folder.
"""

import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import yaml

from cs336_grader.intake.folders import open_within

GRADESCOPE = "submission_metadata.yml"
NBGRADER = "timestamp.txt"
MAX_TIME = 60
# YAML's ways to write that a value is missing.
NOTHING = {"", "~", "null"}
# Groups: the student's name, the student's id on the platform, the late mark, the number of the
# submission, which grows, and the kind, where a platform has other kinds than files.
FORMS = {
    # Ada Lovelace_97_assignsubmission_file, with or without a file's name; a group may have no id.
    "Moodle": re.compile(
        r"(?P<student>.+?)(?:_(?P<sid>\d+))?_assignsubmission_(?P<kind>[a-z]+)(?:_.*)?", re.DOTALL
    ),
    # lovelaceada_LATE_4211_90817_work.zip
    "Canvas": re.compile(r"(?P<student>[^_]+)_(?:(?P<late>LATE)_)?(?P<sid>\d+)_(?P<number>\d+)_.+"),
    "Canvas, anonymous": re.compile(
        r"(?P<student>anon)_(?:(?P<late>LATE)_)?(?P<sid>[A-Za-z0-9]{5})_(?P<number>\d+)_.+"
    ),
    # lovelaceada_4211_text.html
    "Canvas, typed": re.compile(
        r"(?P<student>[^_]+)_(?:(?P<late>LATE)_)?(?P<sid>[A-Za-z0-9]+)_(?P<kind>text|link)\.html"
    ),
}


@dataclass(frozen=True, slots=True)
class HandedIn:
    """Facts from a platform on a file or folder; empty where it gives none.

    Attributes:
        student: the student's name; in a group, all names.
        sid: the platform's id of the student; in a group, all ids.
        email: the student's address; in a group, all addresses.
        time: when it was handed in, as the platform writes it.
        late: whether the platform marks it as late.
        number: which of a student's files it is; a later one has a higher number.
        typed: whether it is text or a link that was typed on the platform, and no file.
    """

    student: str = ""
    sid: str = ""
    email: str = ""
    time: str = ""
    late: bool = False
    number: int = field(default=0, compare=False)
    typed: bool = field(default=False, compare=False)


UNKNOWN = HandedIn()


def told_of(path: Path, listed: Mapping[str, HandedIn]) -> HandedIn:
    """The facts from a platform on a file or folder of a class.

    Args:
        path: the file or folder.
        listed: Gradescope's facts, by the names of the folders.
    """
    return listed.get(path.name) or told_by_name(path.name) or told_by_nbgrader(path) or UNKNOWN


def told_by_name(name: str) -> HandedIn | None:
    """The facts in a file name that Moodle or Canvas has made; None for any other name.

    >>> found = told_by_name("lovelaceada_LATE_4211_90817_work.zip")
    >>> found.student, found.sid, found.late, found.number
    ('lovelaceada', '4211', True, 90817)
    >>> told_by_name("Ada Lovelace_97_assignsubmission_onlinetext").typed
    True
    """
    name = unicodedata.normalize("NFC", name)
    found = next(filter(None, (form.fullmatch(name) for form in FORMS.values())), None)
    if found is None:
        return None
    told = found.groupdict(default="")
    return HandedIn(
        student=told["student"],
        sid=told["sid"],
        late=bool(told.get("late")),
        number=int(told.get("number", 0)),
        typed=told.get("kind", "file") != "file",
    )


def told_by_nbgrader(folder: Path) -> HandedIn | None:
    """The facts of a student's folder of nbgrader: it holds one folder, that of the assignment."""
    inner = held_by(folder)
    if len(inner) != 1 or not inner[0].is_dir():
        return None
    try:
        # The student's file may be a link or a pipe, or very long.
        with os.fdopen(open_within(inner[0], PurePosixPath(NBGRADER)), "rb") as file:
            time = file.read(MAX_TIME).decode(errors="replace").strip()
    except OSError:
        if folder.parent.name != "submitted":
            return None
        time = ""
    return HandedIn(sid=unicodedata.normalize("NFC", folder.name), time=time)


def listed_by_gradescope(folder: Path) -> dict[str, HandedIn]:
    """The facts in Gradescope's list, by folder; none if there is no readable list."""
    try:
        text = (folder / GRADESCOPE).read_text(encoding="utf-8")
        # This loader makes texts, lists and dicts alone, so an id keeps its leading zeros.
        listed = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (it is safer than safe_load)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    found: dict[str, HandedIn] = {}
    for name, entry in listed.items() if isinstance(listed, dict) else ():
        submitters = entry.get(":submitters") if isinstance(entry, dict) else None
        if isinstance(submitters, list):
            people = [one for one in submitters if isinstance(one, dict)]
            student, sid, email = (
                joined(people, key, between)
                for key, between in ((":name", "+"), (":sid", "; "), (":email", "; "))
            )
            time = str(entry.get(":created_at", ""))[:MAX_TIME]
            found[str(name)] = HandedIn(student=student, sid=sid, email=email, time=time)
    return found


def joined(people: Sequence[Mapping[str, object]], key: str, between: str) -> str:
    """The values of one field of some people; empty where there is none."""
    values = [str(one.get(key, "")) for one in people]
    return between.join(value for value in values if value not in NOTHING)


def visible(folder: Path) -> list[Path]:
    """The files and folders in a folder, in order, without hidden ones and those of macOS.

    Raises:
        OSError: it cannot be read.
    """
    return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX")))


def held_by(path: Path) -> list[Path]:
    """The visible files and folders in a folder; none for a file or an unreadable folder."""
    try:
        return visible(path)
    except OSError:
        return []
