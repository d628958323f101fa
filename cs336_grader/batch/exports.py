"""What course platforms tell of who handed in each file or folder of an export.

One row of ``FORMS`` for each kind of name; beside names, Gradescope writes a list, and nbgrader a
time into each folder.
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
# How YAML writes that there is nothing.
NOTHING = {"", "~", "null"}
# Groups: the student's name, the id that the platform has for them, a mark of lateness, the number
# of what was handed in, which grows, and the kind, where there are other kinds than files.
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
}


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What a platform tells of a file or folder; empty where it tells nothing.

    Attributes:
        student: the name; of several, all.
        sid: the platform's id of the student; of several, all.
        email: the same of their addresses.
        time: when it was handed in, as the platform writes it.
        late: whether the platform marks it as late.
        number: which of a student's files it is; a later one has a higher number.
        typed: whether it is text that was typed on the platform, and no file.
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
    """What is told of a file or folder of a class.

    Args:
        path: the file or folder.
        listed: what Gradescope lists, by the names of the folders.
    """
    return listed.get(path.name) or told_by_name(path.name) or told_by_nbgrader(path) or UNKNOWN


def told_by_name(name: str) -> HandedIn | None:
    """What a name tells that Moodle or Canvas has made.

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
    """What a student's folder tells below ``submitted``: it holds one of the assignment."""
    inner = held_by(folder)
    if len(inner) != 1 or not inner[0].is_dir():
        return None
    try:
        # A student may have put anything there.
        with os.fdopen(open_within(inner[0], PurePosixPath(NBGRADER)), "rb") as file:
            time = file.read(MAX_TIME).decode(errors="replace").strip()
    except OSError:
        if folder.parent.name != "submitted":
            return None
        time = ""
    return HandedIn(sid=unicodedata.normalize("NFC", folder.name), time=time)


def listed_by_gradescope(folder: Path) -> dict[str, HandedIn]:
    """What the list in an export from Gradescope tells of each folder."""
    try:
        text = (folder / GRADESCOPE).read_text(encoding="utf-8")
        # Makes texts, lists and dicts alone: an id that begins with a zero stays as it is written.
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
    """What is told of some people in one field; empty where nothing is."""
    values = [str(one.get(key, "")) for one in people]
    return between.join(value for value in values if value not in NOTHING)


def visible(folder: Path) -> list[Path]:
    """What a folder holds, in order, without what systems leave beside it.

    Raises:
        OSError: it cannot be read.
    """
    return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX")))


def held_by(path: Path) -> list[Path]:
    """The same; nothing where that is a file or cannot be read."""
    try:
        return visible(path)
    except OSError:
        return []
