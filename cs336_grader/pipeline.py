"""The whole story of grading one submission, and the only place that knows its order."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from .intake import NothingToGradeError, stage
from .judging import choice
from .ledger import Ledger
from .records import (
    CouldNotJudgeError,
    ForbiddenCall,
    LostJudgeError,
    Measurement,
    Outcome,
    Progress,
    Report,
    Staged,
    Usage,
    WrongRequestError,
)
from .reports.formats import publish
from .request import Request
from .rubric import Assignment, Limits, load_assignment
from .trusted import Conditions, Start, closed_here, outcomes

# Made anew after each of two hundred checks, the report would take a second of the run.
PUBLISHED_EVERY_SECONDS = 0.5

NOT_REACHED = "The run has not come to this check."
NOT_REPORTED = "The run ended without a word on this check."
BROKEN_OFF = "The run was broken off before this check."


@dataclass(frozen=True, slots=True)
class Planned:
    """What was taken of the submission, and how many checks there are to judge."""

    staged: Staged
    checks: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The process that judges has ended before its time."""

    reason: str


Event = Planned | Progress | Outcome | Usage | Lost
Watch = Callable[[Event], None]


def grade(request: Request, watch: Watch, start: Start | None = None) -> Report:
    """Grade a submission; what is known meanwhile lies in the report folder.

    Args:
        request: what to grade.
        watch: is told how many checks there are, and of each as it begins and ends.
        start: starts the process that judges, as in ``Conditions``.

    Raises:
        RubricError: the assignment cannot be used.
        UnknownNameError: it lacks a problem or a track that was asked for.
        WrongRequestError: something else that was asked for is not there.
        OSError: the report cannot be written.
    """
    ledger = Ledger(request, assignment_asked_for(request))
    partial = [each for each in request.destinations if each.format.partial]
    # Every file, so that none of an earlier run stays and a path that cannot be written is known.
    publish(ledger.report(NOT_REACHED), request.destinations)
    published = time.monotonic()
    absent = BROKEN_OFF
    try:
        with contextlib.closing(events(ledger, start)) as stream:
            for event in stream:
                ledger.note(event)
                due = time.monotonic() - published > PUBLISHED_EVERY_SECONDS
                if isinstance(event, Outcome) and due:
                    publish(ledger.report(NOT_REACHED), partial)
                    published = time.monotonic()
                if isinstance(event, Event):
                    watch(event)
        absent = NOT_REPORTED
    except NothingToGradeError as fault:
        ledger.fail_everything(f"Nothing could be run. {fault}")
    except LostJudgeError as reason:
        absent = str(reason)
        watch(Lost(absent))
    except CouldNotJudgeError as reason:
        absent = str(reason)
    except WrongRequestError as reason:
        absent = str(reason)
        raise
    finally:
        report = ledger.report(absent)
        publish(report, request.destinations)
    return report


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


def events(
    ledger: Ledger, start: Start | None
) -> Generator[Event | Measurement | ForbiddenCall, None, None]:
    """Stage the submission, then judge it."""
    request, assignment = ledger.request, ledger.assignment
    with tempfile.TemporaryDirectory(prefix="cs336-", ignore_cleanup_errors=True) as run:
        into = Path(run, "staged")
        into.mkdir()
        staged = stage(
            request.submission,
            assignment.adapter_names,
            into,
            package=assignment.rubric.package,
            revision=request.revision,
            adapters=request.adapters,
            python=request.worker_python,
        )
        ledger.admit(staged)
        yield Planned(staged, len(ledger.checks))
        conditions = Conditions(Path(run), request.isolation, request.worker_python, start)
        yield from outcomes(
            staged, ledger.assignment, conditions, seed=request.seed, checks=ledger.checks
        )


def examine(worker_python: str) -> Measurement:
    """What would be closed to a submission that was graded here and now, in an interpreter.

    Raises:
        CouldNotJudgeError: no worker could be started.
    """
    with tempfile.TemporaryDirectory(prefix="cs336-", ignore_cleanup_errors=True) as run:
        staged = Path(run, "staged")
        staged.mkdir()
        return closed_here(staged, Limits(), Conditions(Path(run), "auto", worker_python))
