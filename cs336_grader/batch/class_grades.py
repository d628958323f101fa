"""The grades of a class that has a class.toml beside its submissions."""

from collections.abc import Sequence
from pathlib import Path

from cs336_checks.rubric import Rubric, load_assignment
from cs336_grader.grades.class_file import CLASS_FILE
from cs336_grader.grades.course import Course, read_course
from cs336_grader.grades.grading import ClassGrades, Work, grades_of
from cs336_grader.grades.tables import GradesError

from .records import Graded, Status, saved
from .settings import Settings
from .submissions import Found, Submission, find


def course_of(folder: Path, rubric: Rubric) -> Course | None:
    """Return the class that class.toml in a folder describes; None where there is no such file.

    Raises:
        GradesError: something in it is wrong.
    """
    path = folder / CLASS_FILE
    return read_course(path, rubric) if path.exists() else None


def read_grades(settings: Settings, out: Path) -> tuple[Course, ClassGrades]:
    """Return a class and its grades, from the reports that were kept.

    Raises:
        GradesError: a file of the class is missing or wrong.
    """
    folder = Path(settings.submissions)
    course = course_of(folder, load_assignment(Path(settings.assignment)).rubric)
    if course is None:
        raise GradesError([f"there is no {CLASS_FILE} in {folder}: docs/classes.md has all of it"])
    found = find(folder, but=out)
    done = [one for each in found.submissions if (one := saved(out / each.name)) is not None]
    return course, class_grades(course, found, done)


def class_grades(course: Course, found: Found, done: Sequence[Graded]) -> ClassGrades:
    """Return the grades of all students, from the submissions that are done.

    Raises:
        GradesError: a time that matters cannot be read.
    """
    graded = {one.record.name: one for one in done}
    return grades_of(course, [work(one, graded.get(one.name)) for one in found.submissions])


def work(submission: Submission, graded: Graded | None) -> Work:
    """Return a submission as grades are made of it."""
    told = submission.told
    judged = graded is not None and graded.record.status is Status.GRADED
    return Work(
        submission.name,
        submission.file,
        told.student,
        told.sid,
        told.email,
        told.time,
        told.late,
        graded.report if graded is not None and judged else None,
    )
