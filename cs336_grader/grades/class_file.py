"""Reads class.toml: the students, the deadline, what lateness costs, what counts how much."""

import tomllib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError

from .deadlines import LatePolicy
from .tables import GradesError, text_of

CLASS_FILE = "class.toml"


def known_zone(name: str) -> str:
    """Return the name of a time zone.

    Raises:
        ValueError: there is no such zone.
    """
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is no time zone; write one as in Europe/Berlin") from error
    return name


Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Time = Annotated[datetime, Strict()]
Zone = Annotated[str, AfterValidator(known_zone)]


class Part(BaseModel):
    """A table of the file: it has no other keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Deadline(Part):
    """When work is due, and what it costs to miss that."""

    time: Time
    zone: Zone = "UTC"
    grace_minutes: Annotated[int, Field(ge=0)] = 0
    percent_per_day: Percent = 0.0
    most_percent: Percent = 100.0
    slip_days: Annotated[int, Field(ge=0)] = 0

    @property
    def due(self) -> datetime:
        """When work is due, with its time zone."""
        return in_zone(self.time, self.zone)

    @property
    def policy(self) -> LatePolicy:
        """The rules for late work."""
        return LatePolicy(
            timedelta(minutes=self.grace_minutes),
            self.percent_per_day,
            self.most_percent,
            self.slip_days,
        )


class Points(Part):
    """The weights of tracks and problems, and the maximum."""

    maximum: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    missing: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    tracks: Mapping[str, Weight] = {}
    problems: Mapping[str, Weight] = {}


class ClassFile(Part):
    """All that is set for a class.

    Attributes:
        roster, adjustments: files beside this one.
        column: the name of the assignment in the gradebook, as the platform writes it.
        counts: which of several submissions of a student does.
        groups: the ids of the members of each group, where the roster has no groups.
        written: the most points of each question that a person grades.
        extensions: a later deadline, by student.
        submitted: when work came in, by student, where no platform says it.
    """

    roster: str
    adjustments: str = ""
    column: str = ""
    counts: Literal["best", "last"] = "last"
    deadline: Deadline | None = None
    points: Points = Points()
    groups: Mapping[str, tuple[str, ...]] = {}
    written: Mapping[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}
    extensions: Mapping[str, Time] = {}
    submitted: Mapping[str, Time] = {}

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of times that have none of their own."""
        return ZoneInfo(self.deadline.zone if self.deadline else "UTC")


def read_class_file(path: Path) -> ClassFile:
    """Read class.toml.

    Raises:
        GradesError: it cannot be read, or something in it is wrong.
    """
    text = text_of(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GradesError([f"{path.name}: is no valid TOML: {error}"]) from error
    try:
        return ClassFile.model_validate(data)
    except ValidationError as error:
        raise GradesError(list(complaints(error, text, path.name))) from error


def complaints(error: ValidationError, text: str, name: str) -> Iterator[str]:
    """Yield what is wrong, one line each: where, the key, what to do."""
    for found in error.errors():
        keys = [str(part) for part in found["loc"]]
        said = {
            "extra_forbidden": "there is no such key; correct its spelling or delete it",
            "missing": "this key is needed; add it",
        }.get(found["type"], found["msg"].removeprefix("Value error, "))
        line = line_of(keys, text)
        place = f"{name}, line {line}" if line else name
        yield f"{place}: {'.'.join(keys)}: {said[:1].lower()}{said[1:]}"


def line_of(keys: list[str], text: str) -> int:
    """Return the line that a key is on, as far as it can be found; else 0."""
    table, *_ = keys
    inside = len(keys) == 1
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if plain.startswith("["):
            inside = plain.strip("[]").strip().strip('"') == table
            if inside and len(keys) == 1:
                return number
        elif "=" in plain:
            key = plain.partition("=")[0].strip().strip("\"'")
            dotted = f"{table}."
            if (inside and key == keys[-1]) or key == ".".join(keys) or key.startswith(dotted):
                return number
            if len(keys) > 1 and key == table:
                return number
    return 0


def in_zone(time: datetime, zone: str) -> datetime:
    """Return a time with a zone: its own, else the given one."""
    return time if time.tzinfo else time.replace(tzinfo=ZoneInfo(zone))
