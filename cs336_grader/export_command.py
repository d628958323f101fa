"""The command ``cs336 export``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cs336_checks.rubric import RubricError

from .commands import GRADED, USAGE, ended_in_words, to_type

if TYPE_CHECKING:
    from .grades.grading import ClassGrades

PLATFORMS = ("canvas", "moodle", "gradescope", "csv")
EPILOG = f"""\b
Exit codes:
  {GRADED}  the files are written
  {USAGE}  a file of the class is wrong, or the command line; nothing was written
"""


class WrongFilesError(click.ClickException):
    """Ends the program with what is wrong in the files of a class, one line each."""

    exit_code = USAGE


@click.command(epilog=EPILOG)
@click.argument("platform", type=click.Choice(PLATFORMS))
@click.argument(
    "report_dir", type=click.Path(exists=True, file_okay=False, path_type=Path), default="class"
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where grades.csv and feedback.zip are written. Default: REPORT_DIR/PLATFORM.",
)
def export(platform: str, report_dir: Path, out: Path | None) -> None:
    """Write what PLATFORM imports for the class graded in REPORT_DIR (class if left out).

    Students, deadline and adjustments come from class.toml beside the submissions: docs/classes.md
    has all of it.
    """
    # Imported here because the other commands have no use for it.
    from .batch import class_grades  # noqa: PLC0415
    from .batch.settings import saved_settings  # noqa: PLC0415
    from .grades import exports, feedback  # noqa: PLC0415
    from .grades.tables import GradesError  # noqa: PLC0415
    from .reports import html_report  # noqa: PLC0415
    from .reports.files import write, write_bytes  # noqa: PLC0415

    with ended_in_words("Nothing was written: ", (OSError, RubricError)):
        settings = saved_settings(report_dir)
        if settings is None:
            batch = to_type("cs336", "batch", "FOLDER")
            raise click.UsageError(f"{report_dir} holds no graded class. Grade it first: {batch}")
        try:
            course, grades = class_grades.read_grades(settings, report_dir)
            table = exports.EXPORTS[platform](course, grades)
        except GradesError as error:
            raise WrongFilesError("\n".join((*error.lines, "Nothing was written."))) from error
        pages = feedback.archive(
            platform,
            grades,
            lambda report, grade: html_report.render(report, list(grade.sentences())),
        )
        out = out or report_dir / platform
        write(out / "grades.csv", table)
        write_bytes(out / "feedback.zip", pages)
    for line in told(grades, out):
        click.echo(line)


def told(grades: "ClassGrades", out: Path) -> list[str]:
    """Return what is said of an export: what was written, and whom a person has to look at."""
    ready = [one for one in grades.grades if one.points is not None]
    lines = [f"{len(ready)} of {len(grades.grades)} students have a grade: {out / 'grades.csv'}"]
    lines += [
        f"No grade: {one.student.name or one.student.key}: {' '.join(one.missing)}"
        for one in grades.grades
        if one.points is None
    ]
    lines += [f"Not on the roster: {one.file or one.name}" for one in grades.strangers]
    return lines
