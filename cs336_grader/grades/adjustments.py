"""Reads adjustments.csv: points and comments that people give, beside what was graded."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .roster import Roster, Student
from .tables import GradesError, read_table

COLUMNS = ("student", "problem", "points", "change", "reason", "comment")


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A decision of a person about points.

    Attributes:
        student: whom it is about.
        problem: a problem or a written question; empty for the whole grade.
        points: what it is worth now, whatever was graded; None if that stays.
        change: what is added to what was graded.
        reason: why; the student reads it.
        comment: for the student, beside the reason.
    """

    student: Student
    problem: str
    points: float | None
    change: float
    reason: str
    comment: str


def read_adjustments(
    path: Path, roster: Roster, maxima: Mapping[str, float]
) -> tuple[Adjustment, ...]:
    """Read the adjustments of a class.

    Args:
        path: the file.
        roster: the students.
        maxima: the most points of each problem and written question.

    Raises:
        GradesError: something in it is wrong; each line of the file is told.
    """
    table = read_table(path)
    unknown = [name for name in table.columns if name not in COLUMNS]
    if "student" not in table.columns or unknown:
        said = f"has a column {unknown[0]!r}" if unknown else "has no column 'student'"
        raise GradesError([f"{path.name}, line 1: {said}; its columns are {', '.join(COLUMNS)}"])
    wrong: list[str] = []
    found: dict[tuple[str, str], Adjustment] = {}
    for number, row in enumerate(table.rows):
        cells = dict.fromkeys(COLUMNS, "") | dict(row)
        complaints = [*wrong_in(cells, maxima)]
        try:
            student = roster.find(cells["student"])
        except GradesError as error:
            complaints += error.lines
        if not complaints:
            key = student.key, cells["problem"]
            if key in found and (cells["points"] or cells["change"]):
                complaints.append("there is a row for this student and problem already")
            found.setdefault(key, adjustment(student, cells))
        wrong += [f"{table.where(number)}: {said}" for said in complaints]
    if wrong:
        raise GradesError(wrong)
    return tuple(found.values())


def adjustment(student: Student, cells: Mapping[str, str]) -> Adjustment:
    """Return what a row says that holds nothing wrong."""
    return Adjustment(
        student,
        cells["problem"],
        number_in(cells["points"]) if cells["points"] else None,
        number_in(cells["change"]) if cells["change"] else 0.0,
        cells["reason"],
        cells["comment"],
    )


def wrong_in(cells: Mapping[str, str], maxima: Mapping[str, float]) -> Iterator[str]:
    """Yield what is wrong in a row beside its student."""
    problem, points, change = cells["problem"], cells["points"], cells["change"]
    if problem and problem not in maxima:
        yield f"there is no problem and no written question {problem!r}"
    if points and change:
        yield "points and change exclude each other: points replace what was graded"
    if (points or change) and not cells["reason"]:
        yield "the reason is missing; the student reads it"
    if not (points or change or cells["comment"]):
        yield "there are no points, no change and no comment"
    for column, text in (("points", points), ("change", change)):
        if text and math.isnan(number_in(text)):
            yield f"{column} is {text!r}, and a number is expected, as in 1.5"
    most = maxima.get(problem, math.inf) if problem else math.inf
    if points and not 0 <= (given := number_in(points)) <= most and not math.isnan(given):
        yield f"points is {points}, and 0 to {most:g} are possible"


def number_in(text: str) -> float:
    """Return the finite number that a text says, with a decimal point or comma; else NaN."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
