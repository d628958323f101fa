"""The whole story of grading one submission, and the only place that knows its order."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .intake import NothingToGradeError, stage, submission_name
from .judging import choice, scoring
from .policy import Examination
from .records import (
    SCHEMA_VERSION,
    CouldNotJudgeError,
    Finding,
    Isolation,
    Measurement,
    Outcome,
    Progress,
    Report,
    Sighting,
    Staged,
    SubmissionRecord,
    Verdict,
    WrongRequestError,
)
from .reports.formats import FORMATS, Destination, publish
from .reports.plain_text import plain_line
from .rubric import Assignment, load_assignment
from .trusted import Conditions, closed_here, outcomes

# Until a worker has tried.
NOT_MEASURED = Isolation("not measured")
MAX_NAME = 200
MAX_NOTE = 500
MAX_SIGHTINGS = 1000
# Made anew after each of two hundred checks, the report would take a second of the run.
PUBLISHED_EVERY_SECONDS = 0.5

NOT_REACHED = "The run has not come to this check."
NOT_REPORTED = "The run ended without a word on this check."
BROKEN_OFF = "The run was broken off before this check."


@dataclass(frozen=True, slots=True)
class Planned:
    """How many checks there are to judge."""

    checks: int


Event = Planned | Progress | Outcome
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What to grade.

    Attributes:
        submission: a folder or an archive.
        assignment: the assignment's folder.
        seed: what all inputs derive from.
        only: the problems to grade, whatever track they are of.
        tracks: the tracks to grade; those that the submission attempts if empty.
        report_folder: where report.json goes.
        formats: in what other formats the report is written, and where to.
        revision: what to read from a git repository; its files as they lie there if None.
        adapters: the file of the submission that holds the adapters; looked for if None.
        isolation: "auto", "strict" or "none".
        worker_python: the interpreter that the submission runs in; this one if empty.
    """

    submission: Path
    assignment: Path
    seed: int
    only: tuple[str, ...]
    report_folder: Path
    tracks: tuple[str, ...] = ()
    formats: tuple[Destination, ...] = ()
    revision: str | None = None
    adapters: PurePosixPath | None = None
    isolation: str = "auto"
    worker_python: str = ""

    @property
    def report_file(self) -> Path:
        """Where report.json is."""
        return self.report_folder / FORMATS["json"].file_name

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """All that the report is written to."""
        return Destination(FORMATS["json"], self.report_file), *self.formats


class Ledger:
    """What is known so far, and the report it makes.

    Raises:
        UnknownNameError: the assignment lacks a problem or a track that was asked for.
    """

    def __init__(self, request: Request, assignment: Assignment) -> None:
        self.request = request
        self.assignment = assignment
        self.problems = self.chosen_problems(frozenset())
        self.started_at = int(time.time())
        self.started = time.monotonic()
        self.submission = SubmissionRecord(
            plain_line(submission_name(request.submission), MAX_NAME), ""
        )
        self.notes: tuple[str, ...] = ()
        self.outcomes: dict[str, Outcome] = {}
        self.isolation = NOT_MEASURED
        self.examination: Examination | None = None
        self.sightings: set[Sighting] = set()
        self.told: tuple[Finding, ...] | None = None

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks of the chosen problems, in the rubric's order."""
        return tuple(
            check.name
            for check in self.assignment.checks.values()
            if check.problem in self.problems
        )

    def chosen_problems(self, adapters: frozenset[str]) -> tuple[str, ...]:
        """The problems to grade in a submission with these adapters."""
        rubric, request = self.assignment.rubric, self.request
        if request.only:
            return choice.named_problems(rubric, request.only)
        return choice.attempted_problems(rubric, request.tracks, adapters)

    def admit(self, staged: Staged) -> None:
        """Note what was taken of the submission, and what it is graded in."""
        self.problems = self.chosen_problems(staged.adapters)
        if not self.request.only:
            self.assignment = self.assignment.limited_to(self.problems)
        self.submission = SubmissionRecord(plain_line(staged.name, MAX_NAME), staged.sha256)
        self.notes = tuple(plain_line(note, MAX_NOTE) for note in staged.notes)
        self.examination = Examination(staged, self.assignment)

    def fail_everything(self, reason: str) -> None:
        """Note that nothing could be run, and that this is the submission's fault."""
        for check in self.checks:
            self.outcomes[check] = Outcome(check, Verdict.FAILED, reason, 0.0)

    def report(self, absent: str) -> Report:
        """The report as it stands; `absent` says why nothing is known of the other checks."""
        checks = scoring.check_results(self.assignment, self.problems, self.outcomes, absent)
        findings = self.findings()
        problems = scoring.problem_results(self.assignment, self.problems, checks, findings)
        return Report(
            schema_version=SCHEMA_VERSION,
            submission=self.submission,
            seed=self.request.seed,
            isolation=self.isolation,
            score=scoring.total_score(problems),
            max_score=scoring.total_maximum(problems),
            problems=problems,
            checks=checks,
            notes=(*self.notes, *filter(None, [scoring.left_uncarried(self.assignment, checks)])),
            findings=findings,
            duration_seconds=round(time.monotonic() - self.started, 3),
            started_at=self.started_at,
            tracks=scoring.track_results(self.assignment.rubric.tracks, problems),
        )

    def note(self, sighting: Sighting) -> None:
        """Note what the run entered; of very much, a part is enough."""
        if sighting not in self.sightings and len(self.sightings) < MAX_SIGHTINGS:
            self.sightings.add(sighting)
            self.told = None

    def findings(self) -> tuple[Finding, ...]:
        """What the assignment's rules have to say so far."""
        if self.examination is None:
            return ()
        if self.told is None:
            self.told = self.examination.findings(self.problems, self.sightings)
        return self.told


def grade(request: Request, watch: Watch) -> Report:
    """Grade a submission; what is known meanwhile lies in the report folder.

    Args:
        request: what to grade.
        watch: is told how many checks there are, and of each as it begins and ends.

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
        with contextlib.closing(events(ledger)) as stream:
            for event in stream:
                if isinstance(event, Measurement):
                    ledger.isolation = event.isolation
                    continue
                if isinstance(event, Sighting):
                    ledger.note(event)
                    continue
                if isinstance(event, Outcome):
                    ledger.outcomes.setdefault(event.check, event)
                    if time.monotonic() - published > PUBLISHED_EVERY_SECONDS:
                        publish(ledger.report(NOT_REACHED), partial)
                        published = time.monotonic()
                watch(event)
        absent = NOT_REPORTED
    except NothingToGradeError as fault:
        ledger.fail_everything(f"Nothing could be run. {fault}")
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
    if not request.tracks:
        return assignment
    return assignment.limited_to(
        choice.attempted_problems(assignment.rubric, request.tracks, assignment.adapter_names)
    )


def ran_nothing(report: Report) -> bool:
    """Whether no check passed because there was nothing that could have been run."""
    judged = all(check.verdict is Verdict.FAILED for check in report.checks)
    return judged and report.isolation == NOT_MEASURED


def events(ledger: Ledger) -> Generator[Event | Measurement | Sighting, None, None]:
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
        yield Planned(len(ledger.checks))
        conditions = Conditions(Path(run), request.isolation, request.worker_python)
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
        return closed_here(staged, Conditions(Path(run), "auto", worker_python))
