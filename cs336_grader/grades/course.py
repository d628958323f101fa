"""A class as its files describe it: students, rules, and what people have decided."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cs336_checks.rubric import Rubric

from .adjustments import Adjustment, read_adjustments
from .class_file import ClassFile, in_zone, line_of, read_class_file
from .roster import Roster, Student, folded, read_roster
from .tables import GradesError, text_of


@dataclass(frozen=True)
class Course:
    """A class.

    Attributes:
        file: what class.toml says.
        roster: the students.
        adjustments: what people have decided.
        rubric: of the assignment.
        extensions: the later deadline of a student, by key.
        submitted: when work came in, by the student's key, as a person says.
        groups: the students of each group, by its name.
    """

    file: ClassFile
    roster: Roster
    adjustments: tuple[Adjustment, ...]
    rubric: Rubric
    extensions: Mapping[str, datetime] = field(default_factory=dict)
    submitted: Mapping[str, datetime] = field(default_factory=dict)
    groups: Mapping[str, list[Student]] = field(default_factory=dict)

    def weight(self, problem: str) -> float:
        """Return how much a problem counts: the weights of its track and its own."""
        points = self.file.points
        track = self.rubric.problems[problem].track
        of_track = points.tracks.get(track, 0.0) if points.tracks else 1.0
        return of_track * points.problems.get(problem, 1.0)


def read_course(path: Path, rubric: Rubric) -> Course:
    """Read class.toml and the files that it names.

    Raises:
        GradesError: something in them is wrong; each line is told.
    """
    file = read_class_file(path)
    wrong = list(unknown_names(file, rubric, path))
    roster = read_roster(path.parent / file.roster)
    students = ByStudent(path, text_of(path), roster)
    extensions = students.read("extensions", file.extensions)
    submitted = students.read("submitted", file.submitted)
    groups = roster.groups()
    for name, members in file.groups.items():
        groups[folded(name)] = [*students.found("groups", name, members)]
    wrong += students.wrong
    maxima = {name: problem.points for name, problem in rubric.problems.items()}
    adjustments: tuple[Adjustment, ...] = ()
    if file.adjustments:
        try:
            table = path.parent / file.adjustments
            adjustments = read_adjustments(table, roster, maxima | dict(file.written))
        except GradesError as error:
            wrong += error.lines
    if wrong:
        raise GradesError(wrong)
    zone = file.zone.key
    later = {key: in_zone(time, zone) for key, time in extensions.items()}
    times = {key: in_zone(time, zone) for key, time in submitted.items()}
    return Course(file, roster, adjustments, rubric, later, times, groups)


@dataclass
class ByStudent:
    """Tables of class.toml whose keys are students; what is wrong in them is collected."""

    path: Path
    text: str
    roster: Roster
    wrong: list[str] = field(default_factory=list)

    def read(self, table: str, values: Mapping[str, datetime]) -> dict[str, datetime]:
        """Return the values of a table by the students' keys."""
        found = {}
        for name, value in values.items():
            for student in self.found(table, name, (name,)):
                found[student.key] = value
        return found

    def found(self, table: str, key: str, names: tuple[str, ...]) -> Iterator[Student]:
        """Yield the students who are meant in an entry."""
        for name in names:
            try:
                yield self.roster.find(name)
            except GradesError as error:
                line = line_of([table, key], self.text)
                place = f"{self.path.name}, line {line}" if line else self.path.name
                self.wrong += [f"{place}: {table}: {said}" for said in error.lines]


def unknown_names(file: ClassFile, rubric: Rubric, path: Path) -> Iterator[str]:
    """Yield a line for each track and problem that the assignment lacks."""
    kinds = (
        ("tracks", "track", file.points.tracks, rubric.tracks),
        ("problems", "problem", file.points.problems, rubric.problems),
    )
    for key, kind, given, known in kinds:
        for name in given:
            if name not in known:
                there = ", ".join(known) or "none"
                yield f"{path.name}: points.{key}: there is no {kind} {name!r}; there are: {there}"
    for name in file.written:
        if name in rubric.problems:
            yield f"{path.name}: written: {name!r} is a problem that is graded; take another name"
