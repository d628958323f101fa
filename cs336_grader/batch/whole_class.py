"""Grades what is left of a class, then writes its gradebook and its page."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cs336_grader.pipeline import assignment_asked_for
from cs336_grader.preforked import Entrance, Preforked
from cs336_grader.reports import gradebook
from cs336_grader.reports.files import write
from cs336_grader.rubric import RUBRIC, read_rubric

from . import page, slots
from .grading import request_for
from .overview import Overview, overview
from .records import (
    GRADEBOOK,
    PAGE,
    RECORD,
    Graded,
    saved,
)
from .settings import Settings, save_settings
from .submissions import Found, Submission, digest
from .watching import Watch

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
        with entrance(settings, out) as way:
            slots.grade_all(submissions, slots.Job(settings, out, way), self.jobs, finished)


@contextlib.contextmanager
def entrance(settings: Settings, out: Path) -> Iterator[Entrance | None]:
    """Where processes that judge are asked for, once for a machine; None where each starts anew."""
    if sys.platform != "linux":
        yield None
        return
    asked = request_for(Submission("", Path()), settings, out)
    with Preforked(assignment_asked_for(asked), settings.seed) as way:
        yield way


def grade_class(found: Found, settings: Settings, out: Path, run: Runner, watch: Watch) -> Overview:
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
    seen = overview(done)
    people = contacts(found)
    rows = [row(one, people.get(one.record.name, {})) for one in seen.done]
    write(out / GRADEBOOK, gradebook.table(rows))
    title = read_rubric(Path(settings.assignment) / RUBRIC).title
    write(out / PAGE, page.render(title, seen, found.left_out))
    return seen


def contacts(found: Found) -> dict[str, dict[str, object]]:
    """By which a platform knows who handed in each submission; none if it tells so of nobody.

    They are in the gradebook alone: neither report nor record has them.
    """
    if not any(one.sid or one.email for one in found.submissions):
        return {}
    return {
        one.name: {"sid": gradebook.cell(one.sid), "email": gradebook.cell(one.email)}
        for one in found.submissions
    }


def row(one: Graded, people: Mapping[str, object]) -> dict[str, object]:
    """A submission's row in the gradebook.

    Args:
        one: the submission.
        people: the cells that tell who handed it in.
    """
    record = one.record
    first: dict[str, object] = {
        "submission": gradebook.cell(record.name),
        "file": gradebook.cell(record.file),
    }
    said: dict[str, object] = {
        "status": record.status.value,
        "reason": gradebook.cell(record.reason),
    }
    rest = gradebook.row(one.report)
    del rest["submission"]
    return {**first, **people, **rest, **said}
