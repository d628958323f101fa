"""Grades one submission of a class; whatever it does, something is known of it afterwards."""

from dataclasses import dataclass, field
from pathlib import Path

from cs336_grader import pipeline
from cs336_grader.grading import Journal, plan_before, scored
from cs336_grader.judges import CannotForkError, JudgeStarter
from cs336_grader.records import Report, Usage, WrongRequestError
from cs336_grader.reports import summary
from cs336_grader.reports.formats import FORMATS, Destination, publish
from cs336_grader.reports.plain_text import plain_line
from cs336_grader.request import Request

from . import likeness
from .reasons import MAX_REASON, why_not_judged, why_nothing_ran
from .records import Graded, Record, Status, save
from .settings import Settings
from .submissions import Submission, digest

# One that ends the judge may have been unlucky once.
MOST_ATTEMPTS = 2


@dataclass
class RunNotes:
    """What is noted of a run beside its report."""

    lost: str = ""
    tokens: str = ""
    usage: Usage = field(default_factory=lambda: Usage(0.0, 0))

    def __call__(self, event: pipeline.Event) -> None:
        """Note an event."""
        match event:
            case pipeline.Planned(staged=staged):
                self.tokens = likeness.tokens(staged)
            case pipeline.Lost(reason=reason):
                self.lost = reason
            case Usage():
                self.usage = event


def grade(submission: Submission, settings: Settings, out: Path, starter: JudgeStarter) -> Graded:
    """Grade a submission into its folder; where that goes wrong, say that it could not be judged.

    Raises:
        CannotForkError: nothing more can be judged here.
        OSError: this cannot be written.
    """
    try:
        return tried(submission, settings, out, starter)
    except CannotForkError:
        raise
    except Exception as error:
        fault = f"A fault of this program: {type(error).__name__}: {error}"
        return set_aside(submission, settings, out, 1, fault)


def tried(submission: Submission, settings: Settings, out: Path, starter: JudgeStarter) -> Graded:
    """Grade a submission, as often as it may be tried."""
    request = request_for(submission, settings, out)
    handed_in = digest(submission.path)
    attempts, notes, reason = 0, RunNotes(lost="not tried"), ""
    while notes.lost and attempts < MOST_ATTEMPTS:
        attempts += 1
        notes = RunNotes()
        try:
            report = pipeline.grade(request, notes, starter)
        except WrongRequestError as error:
            report, reason = unjudged(request, str(error)), str(error)
    status = Status.GRADED if summary.is_complete(report) else Status.NOT_JUDGED
    record = Record(
        name=submission.name,
        digest=handed_in,
        settings=settings,
        status=Status.SET_ASIDE if notes.lost else status,
        reason=notes.lost or reason or why_not_judged(report) or why_nothing_ran(report),
        attempts=attempts,
        cpu_seconds=round(notes.usage.cpu_seconds, 2),
        memory_bytes=notes.usage.memory_bytes,
        tokens=notes.tokens,
    )
    save(request.report_folder, record)
    return Graded(record, report)


def set_aside(
    submission: Submission, settings: Settings, out: Path, attempts: int, reason: str
) -> Graded:
    """Say that a submission is not tried again.

    Raises:
        OSError: this cannot be written.
    """
    request = request_for(submission, settings, out)
    record = Record(
        name=submission.name,
        digest=digest(submission.path),
        settings=settings,
        status=Status.SET_ASIDE,
        reason=plain_line(reason, MAX_REASON),
        attempts=attempts,
    )
    report = unjudged(request, reason)
    save(request.report_folder, record)
    return Graded(record, report)


def request_for(submission: Submission, settings: Settings, out: Path) -> Request:
    """What is asked of the grader for one submission."""
    folder = out / submission.name
    return Request(
        submission=submission.path,
        assignment=Path(settings.assignment),
        seed=settings.seed,
        only=settings.only,
        report_folder=folder,
        tracks=settings.tracks,
        formats=(Destination(FORMATS["html"], folder / FORMATS["html"].file_name),),
        isolation=settings.isolation,
        worker_python=settings.worker_python,
        title=submission.title,
    )


def unjudged(request: Request, reason: str) -> Report:
    """The report that says why nothing is judged, in its files."""
    plan = plan_before(request, pipeline.assignment_asked_for(request))
    report = scored(request, plan, Journal(), reason)
    publish(report, request.destinations)
    return report
