"""The archive of feedback, one page a student, by the names that a platform takes back."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from cs336_grader.intake.safe_paths import safe_name
from cs336_grader.records import Report

from .grading import ClassGrades, Grade

# Canvas finds a student again by the two numbers in the name of a downloaded file.
CANVAS = re.compile(r"(?P<who>[^_]+)_(?:LATE_)?(?P<user>\w+)_(?P<file>\d+)_")
MOODLE = re.compile(r"(?P<who>.+_assignsubmission_file)")
# The time within an archive: the same grades make the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


def archive(platform: str, grades: ClassGrades, page: Callable[[Report, Grade], str]) -> bytes:
    """Return a ZIP with a page for each student with work.

    Args:
        platform: canvas, moodle, gradescope or csv.
        grades: of the class.
        page: returns the page about a report and the grade that came of it.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, report, grade in named(platform, grades):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), page(report, grade))
    return made.getvalue()


def named(platform: str, grades: ClassGrades) -> Iterator[tuple[str, Report, Grade]]:
    """Yield the path in the archive, the report and the grade of each student with a report."""
    for grade in grades.grades:
        if grade.work is None or grade.work.report is None:
            continue
        report = grade.work.report
        file = PurePosixPath(grade.work.file).parts[0] if grade.work.file else grade.work.name
        if platform == "canvas" and (found := CANVAS.match(file)):
            yield f"{found['who']}_{found['user']}_{found['file']}_report.html", report, grade
        elif platform == "moodle" and (found := MOODLE.match(file)):
            yield f"{found['who']}_/report.html", report, grade
        else:
            who = f"{safe_name(grade.student.name)}_{safe_name(grade.student.key)}"
            yield f"{who}/report.html", report, grade
