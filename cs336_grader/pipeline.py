"""The whole story of grading one submission, and the only place that knows its order."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cs336_checks.rubric import Assignment, load_assignment

from . import grading
from .intake import NothingToGradeError, stage
from .judges import (
    CannotForkError,
    Conditions,
    JudgeStarter,
    Lesson,
    Template,
    lesson,
    measured,
    results,
)
from .judges import Event as Found
from .judging import choice
from .records import (
    CheckResult,
    CouldNotJudgeError,
    LostJudgeError,
    Measurement,
    Progress,
    Report,
    Staged,
    Usage,
    WrongRequestError,
)
from .reports.formats import publish
from .request import Request

# Made anew after each of two hundred checks, the report would take a second of the run.
PUBLISHED_EVERY_SECONDS = 0.5

NOT_REACHED = "The run has not come to this check."
NOT_REPORTED = "The run ended without a word on this check."
BROKEN_OFF = "The run was broken off before this check."


@dataclass(frozen=True, slots=True)
class Planned:
    """The submission is staged; so many checks are to be judged."""

    staged: Staged
    checks: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The judge has ended before its time."""

    reason: str


Event = Planned | Progress | CheckResult | Usage | Lost
Watch = Callable[[Event], None]


def grade(request: Request, watch: Watch, starter: JudgeStarter | None = None) -> Report:
    """Grade a submission; what is known meanwhile lies in the report folder.

    Args:
        request: what to grade.
        watch: is told how many checks there are, and of each as it begins and ends.
        starter: starts judges that know the assignment and the seed; they are made if None.

    Raises:
        RubricError: the assignment cannot be used.
        UnknownNameError: it lacks a problem or a track that was asked for.
        WrongRequestError: something else that was asked for is not there.
        CannotForkError: the starter's processes have ended.
        OSError: the report cannot be written.
    """
    assignment, journal = assignment_asked_for(request), grading.Journal()
    plan = grading.plan_before(request, assignment)
    # Every file, so that none of an earlier run stays and a path that cannot be written is known.
    publish(grading.scored(request, plan, journal, NOT_REACHED), request.destinations)
    absent = BROKEN_OFF
    try:
        with run_folder() as run:
            staged = staged_in(run, request, assignment)
            plan = grading.plan(request, assignment, staged)
            watch(Planned(staged, len(plan.checks)))
            conditions = Conditions(run, request.isolation, request.worker_python)
            with (
                own_starter(starter, plan, request.seed, run) as begin,
                closing(results(begin, staged, plan.assignment, plan.checks, conditions)) as events,
            ):
                follow(events, journal, watch, lambda: publish_partial(request, plan, journal))
        absent = NOT_REPORTED
    except NothingToGradeError as fault:
        journal.fail_everything(plan.checks.values(), f"Nothing could be run. {fault}")
    except CouldNotJudgeError as reason:
        absent = str(reason)
        if isinstance(reason, LostJudgeError):
            watch(Lost(absent))
    except (CannotForkError, WrongRequestError) as reason:
        absent = str(reason)
        raise
    finally:
        report = grading.scored(request, plan, journal, absent)
        publish(report, request.destinations)
    return report


def follow(
    events: Iterator[Found],
    journal: grading.Journal,
    watch: Watch,
    publish_partial: Callable[[], None],
) -> None:
    """Note what a judge finds, publish it now and then, and pass it on."""
    published = time.monotonic()
    for event in events:
        journal.note(event)
        if time.monotonic() - published > PUBLISHED_EVERY_SECONDS:
            publish_partial()
            published = time.monotonic()
        if isinstance(event, Event):
            watch(event)


def publish_partial(request: Request, plan: grading.Plan, journal: grading.Journal) -> None:
    """Write what is known so far, in the formats that can say that it is not all."""
    publish(grading.scored(request, plan, journal, NOT_REACHED), request.partial)


def assignment_asked_for(request: Request) -> Assignment:
    """The assignment; where tracks are named, as if it had no others."""
    assignment = load_assignment(request.assignment)
    if request.most_seconds is not None:
        assignment = assignment.within(request.most_seconds)
    if not request.tracks:
        return assignment
    return assignment.limited_to(
        choice.attempted_problems(assignment.rubric, request.tracks, assignment.adapter_names)
    )


def staged_in(run: Path, request: Request, assignment: Assignment) -> Staged:
    """Stage the submission in the folder of a run."""
    into = run / "staged"
    into.mkdir()
    return stage(
        request.submission,
        assignment.adapter_names,
        into,
        package=assignment.rubric.package,
        revision=request.revision,
        adapters=request.adapters,
        python=request.worker_python,
    )


@contextlib.contextmanager
def own_starter(
    starter: JudgeStarter | None, plan: grading.Plan, seed: int, run: Path
) -> Iterator[JudgeStarter]:
    """Give the starter, or one for this submission alone if there is none.

    Raises:
        CouldNotJudgeError: the processes of the one for this submission have ended.
    """
    if starter is not None:
        yield starter
        return
    try:
        with Template(lesson(plan.assignment, seed, plan.checks.values()), run) as template:
            yield template.judges
    except CannotForkError as error:
        raise CouldNotJudgeError(str(error)) from error


@contextlib.contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for one run, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="cs336-", ignore_cleanup_errors=True) as run:
        yield Path(run)


def examine(worker_python: str) -> Measurement:
    """Measure what would be closed to a submission that was graded here and now.

    Raises:
        CouldNotJudgeError: no worker could be started.
    """
    with run_folder() as run, Template(Lesson("", 0, (), None), run) as template:
        staged = run / "staged"
        staged.mkdir()
        return measured(template.judges, staged, Conditions(run, "auto", worker_python))
