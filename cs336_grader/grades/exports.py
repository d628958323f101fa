"""The files that a platform imports, in the platform's own columns."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence

from cs336_grader.reports.gradebook import cell

from .course import Course
from .grading import ClassGrades, Grade
from .roster import Form
from .tables import GradesError, Table

CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CHANGEABLE = "Grade can be changed"


def canvas(course: Course, grades: ClassGrades) -> str:
    """Return the CSV that Canvas's gradebook imports: students with a grade, one assignment.

    Source: https://community.canvaslms.com, "How do I import grades in the Gradebook?"

    Raises:
        GradesError: the roster is not Canvas's, or the column is not named.
    """
    table = needs(course, Form.CANVAS, "the gradebook that Canvas exports (Grades > Export)")
    if not course.file.column:
        known = [name for name in table.columns if name not in CANVAS_COLUMNS and "(" in name]
        there = f": there are {', '.join(known)}" if known else ""
        raise GradesError([f"class.toml: column is needed for Canvas, as in its export{there}"])
    columns = (*(name for name in CANVAS_COLUMNS if name in table.columns), course.file.column)
    most = next((one.maximum for one in graded(grades)), 0.0)
    head = {"Student": "    Points Possible", course.file.column: f"{most:g}"}
    rows = [
        dict(table.rows[one.student.row]) | {course.file.column: f"{one.points:g}"}
        for one in graded(grades)
    ]
    return written(columns, [head, *rows])


def moodle(course: Course, grades: ClassGrades) -> str:
    """Return Moodle's grading worksheet with grades and feedback filled in.

    Source: https://docs.moodle.org/en/Using_Assignment, "Offline grading worksheet".

    Raises:
        GradesError: the roster is no worksheet, or its maximum is another.
    """
    table = needs(course, Form.MOODLE, "the grading worksheet that Moodle exports")
    rows = [dict(row) for row in table.rows]
    wrong = []
    for one in graded(grades):
        row = rows[one.student.row]
        most = row.get("Maximum Grade", "").replace(",", ".")
        if row.get(CHANGEABLE, "Yes") == "No":
            wrong.append(f"{table.where(one.student.row)}: Moodle has locked this grade")
        elif most and float(most) != one.maximum:
            wrong.append(
                f"{table.where(one.student.row)}: Moodle's maximum is {most} and the class's "
                f"{one.maximum:g}; write maximum = {most} under [points] in class.toml"
            )
        row["Grade"] = f"{one.points:g}"
        if "Feedback comments" in row:
            row["Feedback comments"] = " ".join(one.sentences())
    if wrong:
        raise GradesError(wrong)
    return written(table.columns, rows)


def gradescope(course: Course, grades: ClassGrades) -> str:
    """Return a CSV in the columns of Gradescope's own scores: it imports none, course systems do.

    Raises:
        GradesError: the roster is not Gradescope's.
    """
    needs(course, Form.GRADESCOPE, "the roster or the scores that Gradescope exports")
    rows = [
        {
            "Name": one.student.name,
            "SID": one.student.sid,
            "Email": one.student.email,
            "Total Score": "" if one.points is None else f"{one.points:g}",
            "Max Points": f"{one.maximum:g}" if one.maximum else "",
            "Status": "Missing" if one.work is None else "Graded",
            "Days Late": str(one.days_late or ""),
        }
        for one in grades.grades
    ]
    return written(tuple(rows[0]), rows)


def plain(_course: Course, grades: ClassGrades) -> str:
    """Return all that is known of each grade, for a spreadsheet."""
    rows = [
        {
            "student": cell(one.student.name),
            "id": cell(one.student.sid),
            "email": cell(one.student.email),
            "status": one.standing.value,
            "points": "" if one.points is None else f"{one.points:g}",
            "maximum": f"{one.maximum:g}" if one.maximum else "",
            "automatic": f"{round(one.automatic, 2):g}" if one.work else "",
            "days_late": str(one.days_late or ""),
            "percent_lost": f"{one.percent_lost:g}" if one.percent_lost else "",
            "by_hand": cell("; ".join(by_hand(one))),
        }
        for one in grades.grades
    ]
    return written(tuple(rows[0]), rows)


EXPORTS: Mapping[str, Callable[[Course, ClassGrades], str]] = {
    "canvas": canvas,
    "moodle": moodle,
    "gradescope": gradescope,
    "csv": plain,
}


def needs(course: Course, form: Form, what: str) -> Table:
    """Return the roster's table, if it has a platform's form.

    Raises:
        GradesError: it has another.
    """
    if course.roster.form is not form:
        name = course.roster.table.path.name
        raise GradesError([f"class.toml: roster: {name} is {course.roster.form}; name {what}"])
    return course.roster.table


def graded(grades: ClassGrades) -> list[Grade]:
    """Return the grades that there are."""
    return [one for one in grades.grades if one.points is not None]


def by_hand(grade: Grade) -> Iterable[str]:
    """Yield what people decided of a grade."""
    for one in grade.adjustments:
        about = f"{one.problem} " if one.problem else ""
        number = f"{one.points:g}" if one.points is not None else f"{one.change:+g}"
        yield f"{about}{number}: {one.reason}" if one.reason else f"{about}{one.comment}"


def written(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
