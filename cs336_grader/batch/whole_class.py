"""Grades what is left of a class, then writes its gradebook and its page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cs336_checks.rubric import Assignment, Rubric, load_assignment
from cs336_grader import pipeline
from cs336_grader.grades import exports
from cs336_grader.handout.contents import modules
from cs336_grader.judges import Template, lesson
from cs336_grader.reports import gradebook
from cs336_grader.reports.files import write

from . import likeness, page, slots
from .class_grades import class_grades, course_of
from .grading import request_for
from .overview import Overview, overview
from .progress_bar import ClassProgress
from .records import (
    GRADEBOOK,
    GRADES,
    PAGE,
    RECORD,
    Graded,
    Status,
    saved,
)
from .settings import Settings, save_settings
from .submissions import Found, Submission, digest

# The columns with facts that only some platforms give.
PLATFORM_COLUMNS = ("student", "sid", "email", "late", "time")
FIRST_COLUMNS = ("submission", "file", *PLATFORM_COLUMNS, "status", "reason")
Finished = Callable[[Graded], None]
# Grades what is left of a class: the submissions, their settings, the folder, who is told.
Runner = Callable[[Sequence[Submission], Settings, Path, Finished], None]


@dataclass(frozen=True, slots=True)
class Local:
    """Grades on this machine, so many at a time."""

    jobs: int

    def __call__(
        self, submissions: Sequence[Submission], settings: Settings, out: Path, finished: Finished
    ) -> None:
        """Grade them.

        Raises:
            CouldNotGradeError: nothing can be graded.
            CouldNotJudgeError: the suite cannot be run.
        """
        with pipeline.run_folder() as folder, taught(settings, out, folder) as template:
            job = slots.SlotJob(settings, out, template.judges)
            slots.grade_all(submissions, job, self.jobs, finished)


def taught(settings: Settings, out: Path, folder: Path) -> Template:
    """The processes that judges of a class are forked from, once for a machine.

    Raises:
        CouldNotJudgeError: the suite cannot be run.
    """
    assignment = pipeline.assignment_asked_for(request_for(Submission("", Path()), settings, out))
    return Template(lesson(assignment, settings.seed, assignment.checks.values()), folder)


def grade_class(
    found: Found, settings: Settings, out: Path, run: Runner, watch: ClassProgress
) -> Overview:
    """Grade what is not graded yet, then write the gradebook and the page.

    Args:
        found: the submissions.
        settings: what they are graded with.
        out: where the reports go.
        run: grades.
        watch: is told how many are done already, and of each other that is.

    Raises:
        OSError: what was found cannot be written.
    """
    save_settings(out, settings)
    done: dict[str, Graded] = {}

    def note(one: Graded) -> None:
        done[one.record.name] = one
        watch.finished(one)

    left = []
    for submission in found.submissions:
        known = saved(out / submission.name)
        if known is not None and is_done(known, submission, settings):
            done[submission.name] = known
        else:
            (out / submission.name / RECORD).unlink(missing_ok=True)
            left.append(submission)
    watch.begin(len(done))
    if left:
        run(left, settings, out, note)
    return write_class(list(done.values()), found, settings, out)


def is_done(known: Graded, submission: Submission, settings: Settings) -> bool:
    """Whether this very submission was graded with these very settings."""
    record = known.record
    return record.settings == settings and record.digest == digest(submission.path)


def write_class(done: Sequence[Graded], found: Found, settings: Settings, out: Path) -> Overview:
    """Write the gradebook and the page of a class."""
    assignment = load_assignment(Path(settings.assignment))
    seen = overview(done, handed_out(assignment))
    known = {one.name: one for one in found.submissions}
    rows = [row(one, known[one.record.name]) for one in seen.done]
    rows += [without_grade(submission, why) for submission, why in found.without_work]
    rows.sort(key=lambda cells: str(cells["submission"]).casefold())
    write(out / GRADEBOOK, gradebook.table(rows, columns(rows, assignment.rubric)))
    course = course_of(Path(settings.submissions), assignment.rubric)
    grades = None if course is None else class_grades(course, found, seen.done)
    if course is not None and grades is not None:
        write(out / GRADES, gradebook.BYTE_ORDER_MARK + exports.plain(course, grades))
    write(out / PAGE, page.render(assignment.rubric.title, seen, found, grades))
    return seen


def handed_out(assignment: Assignment) -> frozenset[str]:
    """The statements of the modules that students were given."""
    return frozenset(line for source in modules(assignment) for line in likeness.lines(source))


def row(one: Graded, submission: Submission) -> dict[str, object]:
    """A submission's row in the gradebook; the facts from a platform are in no report or record."""
    said: dict[str, object] = {"status": one.record.status.value, "reason": one.record.reason}
    return {**gradebook.row(one.report), **facts(submission), **said}


def without_grade(submission: Submission, why: str) -> dict[str, object]:
    """The row of a student who handed in nothing that could be graded."""
    return {**facts(submission), "status": Status.NOT_JUDGED.value, "reason": why}


def facts(submission: Submission) -> dict[str, object]:
    """The facts about a submission that are known without its report."""
    told = submission.told
    return {
        "submission": submission.name,
        "file": submission.file,
        "student": told.student,
        "sid": told.sid,
        "email": told.email,
        "late": "late" if told.late else "",
        "time": told.time,
    }


def columns(rows: Sequence[Mapping[str, object]], rubric: Rubric) -> list[str]:
    """The columns in an order that no submission changes.

    Those that every row has come first, then tracks and problems as the rubric lists them. Facts
    that the platform gives of no student have no column, nor have tracks and problems that no
    submission was graded in.
    """
    held = dict.fromkeys(column for cells in rows for column in (*FIRST_COLUMNS, *cells))
    empty = {column for column in PLATFORM_COLUMNS if not any(cells[column] for cells in rows)}
    last = [*map(gradebook.track_column, rubric.tracks), *rubric.problems]
    first = [column for column in held if column not in last and column not in empty]
    return [*first, *(column for column in last if column in held)]
