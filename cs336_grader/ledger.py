"""What is known of a submission while it is graded."""

import time

from .intake import submission_name
from .judging import choice, scoring
from .policy import Examination
from .records import (
    SCHEMA_VERSION,
    Finding,
    ForbiddenCall,
    Isolation,
    Measurement,
    Outcome,
    Report,
    Staged,
    SubmissionRecord,
    Verdict,
)
from .reports.plain_text import plain_line
from .request import Request
from .rubric import Assignment

# Until a worker has tried.
NOT_MEASURED = Isolation("not measured")
MAX_NAME = 200
MAX_NOTE = 500
MAX_FORBIDDEN_CALLS = 1000


class Ledger:
    """What is known so far, and the report it makes.

    Raises:
        UnknownNameError: the assignment lacks a problem or a track that was asked for.
    """

    def __init__(self, request: Request, assignment: Assignment) -> None:
        self.request = request
        self.assignment = assignment
        self.problems = self.chosen_problems()
        self.started_at = int(time.time())
        self.started = time.monotonic()
        self.submission = self.called(submission_name(request.submission), "")
        self.notes = request.notes
        self.outcomes: dict[str, Outcome] = {}
        self.isolation = NOT_MEASURED
        self.examination: Examination | None = None
        self.forbidden_calls: set[ForbiddenCall] = set()
        self.told: tuple[Finding, ...] | None = None

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks of the chosen problems, in the rubric's order."""
        return tuple(
            check.name
            for check in self.assignment.checks.values()
            if check.problem in self.problems
        )

    def chosen_problems(
        self, adapters: frozenset[str] = frozenset(), stubs: frozenset[str] = frozenset()
    ) -> tuple[str, ...]:
        """The problems to grade in a submission that has filled in these adapters."""
        rubric, request = self.assignment.rubric, self.request
        if request.only:
            return choice.named_problems(rubric, request.only)
        return choice.attempted_problems(rubric, request.tracks, adapters, stubs)

    def admit(self, staged: Staged) -> None:
        """Note what was taken of the submission, and what it is graded in."""
        self.problems = self.chosen_problems(staged.adapters, staged.stubs)
        chosen: tuple[str, ...] = ()
        if not self.request.only:
            asked, whole = self.request.tracks, self.assignment.whole
            chosen = choice.choice_told(whole, asked, staged.adapters, staged.stubs)
        if not self.request.only:
            self.assignment = self.assignment.limited_to(self.problems)
        self.submission = self.called(staged.name, staged.sha256)
        notes = (*self.request.notes, *chosen, *staged.notes)
        self.notes = tuple(plain_line(note, MAX_NOTE) for note in notes)
        self.examination = Examination(staged, self.assignment)

    def called(self, name: str, sha256: str) -> SubmissionRecord:
        """The submission, by its title if it has one."""
        return SubmissionRecord(plain_line(self.request.title or name, MAX_NAME), sha256)

    def note(self, event: object) -> None:
        """Note what an event tells; of very many things that the run entered, a part is enough."""
        match event:
            case Measurement():
                self.isolation = event.isolation
            case Outcome():
                self.outcomes.setdefault(event.check, event)
            case ForbiddenCall() if event not in self.forbidden_calls:
                if len(self.forbidden_calls) < MAX_FORBIDDEN_CALLS:
                    self.forbidden_calls.add(event)
                    self.told = None

    def fail_everything(self, reason: str) -> None:
        """Note that nothing could be run, and that this is the submission's fault."""
        for check in self.checks:
            self.outcomes[check] = Outcome(check, Verdict.FAILED, reason, 0.0, nothing_ran=True)

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
            options=self.request.options,
        )

    def findings(self) -> tuple[Finding, ...]:
        """What the assignment's rules have to say so far."""
        if self.examination is None:
            return ()
        if self.told is None:
            self.told = self.examination.findings(self.problems, self.forbidden_calls)
        return self.told
