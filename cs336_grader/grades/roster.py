"""Reads the students of a class from the list that a platform exports, or from a plain one."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .tables import GradesError, Table, read_table


class Form(StrEnum):
    """Who wrote a roster."""

    CANVAS = "Canvas"
    MOODLE = "Moodle"
    GRADESCOPE = "Gradescope"
    PLAIN = "plain"


# The columns that tell who wrote a file; the first form whose columns are all there is it.
COLUMNS = {
    Form.CANVAS: ("Student", "ID", "Section"),
    Form.MOODLE: ("Identifier", "Grade"),
    Form.GRADESCOPE: ("SID", "Email"),
    Form.PLAIN: ("student",),
}
PARTICIPANT = re.compile(r"\D*(\d+)")
# Canvas writes these lines below the names of its columns.
NO_STUDENT = ("points possible", "manual posting")


@dataclass(frozen=True, slots=True)
class Student:
    """Someone who takes the course.

    Attributes:
        name: in the usual order: Ada Lovelace.
        sid: the platform's id; what submissions are matched with first.
        others: further ids: those of the university, the login.
        email: the address, or nothing.
        group: the name of the group they work in, or nothing.
        submitted: when the platform says that the last work came in, or nothing.
        row: the number of the roster's row, counted from 0.
    """

    name: str
    sid: str
    others: tuple[str, ...] = ()
    email: str = ""
    group: str = ""
    submitted: str = ""
    row: int = 0

    @property
    def key(self) -> str:
        """The id, else the address, else the name: it names the student alone."""
        return self.sid or self.email or self.name


@dataclass(frozen=True)
class Roster:
    """The students of a class.

    Attributes:
        form: who wrote the file.
        table: the file, for an export in the same form.
    """

    form: Form
    table: Table
    students: tuple[Student, ...]

    def named(self, text: str) -> list[Student]:
        """Return the students whom an id, a login, an address or else a full name means."""
        wanted = folded(text)
        by_id = [
            one
            for one in self.students
            if wanted in {folded(known) for known in (one.sid, *one.others, one.email) if known}
        ]
        return by_id or [one for one in self.students if folded(one.name) == wanted]

    def find(self, text: str) -> Student:
        """Return the student whom a person means.

        Raises:
            GradesError: there is none, or there are several.
        """
        found = self.named(text)
        if len(found) == 1:
            return found[0]
        if not found:
            raise GradesError([f"no student of {self.table.path.name} is {text!r}"])
        ids = ", ".join(one.key for one in found)
        raise GradesError([f"{len(found)} students are called {text!r}: write the id ({ids})"])

    def groups(self) -> dict[str, list[Student]]:
        """Return the students of each group, by its name."""
        found = defaultdict(list)
        for student in self.students:
            if student.group:
                found[folded(student.group)].append(student)
        return found


def read_roster(path: Path) -> Roster:
    """Read a roster.

    Raises:
        GradesError: it cannot be read, is in no known form, or names a student twice.
    """
    table = read_table(path)
    form = next((one for one, names in COLUMNS.items() if set(names) <= set(table.columns)), None)
    if form is None:
        known = "; ".join(f"{one} has {', '.join(names)}" for one, names in COLUMNS.items())
        raise GradesError([f"{path.name}, line 1: is no known list of students. {known}"])
    students = tuple(students_of(form, table))
    problems = list(repeated(students, table))
    problems += [
        f"{table.where(one.row)}: the student has no name and no id"
        for one in students
        if not one.key
    ]
    if problems or not students:
        raise GradesError(problems or [f"{path.name}: names no student"])
    return Roster(form, table, students)


def students_of(form: Form, table: Table) -> Iterator[Student]:
    """Yield the students of a table."""
    for number, row in enumerate(table.rows):
        if form is Form.CANVAS:
            if row["Student"].casefold().startswith(NO_STUDENT) or not row["ID"]:
                continue
            others = (row.get("SIS User ID", ""), row.get("SIS Login ID", ""))
            yield Student(usual_order(row["Student"]), row["ID"], others, row=number)
        elif form is Form.MOODLE:
            found = PARTICIPANT.fullmatch(row["Identifier"])
            yield Student(
                row.get("Full name", ""),
                found[1] if found else row["Identifier"],
                (row.get("ID number", ""),),
                row.get("Email address", ""),
                row.get("Group", ""),
                row.get("Last modified (submission)", "").strip("- "),
                number,
            )
        elif form is Form.GRADESCOPE:
            name = row.get("Name") or f"{row.get('First Name', '')} {row.get('Last Name', '')}"
            yield Student(name.strip(), row["SID"], (), row["Email"], row=number)
        else:
            get = row.get
            facts = (get("email", ""), get("group", ""), get("submitted", ""))
            yield Student(row["student"], get("id", ""), (), *facts, row=number)


def repeated(students: Iterable[Student], table: Table) -> Iterator[str]:
    """Yield a line for each student whose id, or name where ids are missing, is another's."""
    seen: dict[str, Student] = {}
    for one in students:
        before = seen.setdefault(folded(one.key), one)
        if before is not one:
            yield (
                f"{table.where(one.row)}: {one.key!r} is already in line "
                f"{table.lines[before.row]}; each student has one row"
            )


def usual_order(name: str) -> str:
    """Return "Lovelace, Ada" as "Ada Lovelace".

    >>> usual_order("Lovelace, Ada"), usual_order("Plato")
    ('Ada Lovelace', 'Plato')
    """
    last, comma, first = name.partition(",")
    return f"{first.strip()} {last.strip()}" if comma else name


def folded(text: str) -> str:
    """Return a text as it is compared: composed accents, one blank between words, any case."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
