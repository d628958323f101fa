"""Decides what of an assignment a submission is graded in."""

from dataclasses import dataclass

from cs336_checks.rubric import Assignment, Check
from cs336_grader.intake import submission_name
from cs336_grader.judging import choice
from cs336_grader.policy import Examination
from cs336_grader.records import Staged, SubmissionRecord
from cs336_grader.reports.plain_text import plain_line
from cs336_grader.request import Request

MAX_NAME = 200
MAX_NOTE = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """Says what of an assignment is graded.

    Attributes:
        assignment: the assignment; unless problems were named, as if it had no others.
        problems: the chosen problems.
        submission: the submission, by its title if it has one.
        notes: what is said of it beside its results.
        examination: finds what the assignment's rules are about; None before it is staged.
    """

    assignment: Assignment
    problems: tuple[str, ...]
    submission: SubmissionRecord
    notes: tuple[str, ...]
    examination: Examination | None = None

    @property
    def checks(self) -> dict[str, Check]:
        """The checks of the chosen problems by name, in the rubric's order."""
        checks = self.assignment.checks
        return {name: check for name, check in checks.items() if check.problem in self.problems}


def plan_before(request: Request, assignment: Assignment) -> Plan:
    """Plan the grading of a submission of which only the name is known.

    Raises:
        UnknownNameError: the assignment lacks a problem or a track that was asked for.
    """
    rubric = assignment.rubric
    problems = (
        choice.named_problems(rubric, request.only)
        if request.only
        else choice.attempted_problems(rubric, request.tracks, frozenset())
    )
    submission = record(request, submission_name(request.submission))
    return Plan(assignment, problems, submission, request.notes)


def plan(request: Request, assignment: Assignment, staged: Staged) -> Plan:
    """Plan the grading of a staged submission.

    Raises:
        UnknownNameError: as before.
    """
    rubric, notes = assignment.rubric, (*request.notes, *staged.notes)
    if request.only:
        problems = choice.named_problems(rubric, request.only)
    else:
        tracks, adapters, stubs = request.tracks, staged.adapters, staged.stubs
        problems = choice.attempted_problems(rubric, tracks, adapters, stubs)
        chosen = choice.choice_told(assignment.whole, tracks, adapters, stubs)
        notes = (*request.notes, *chosen, *staged.notes)
        assignment = assignment.limited_to(problems)
    return Plan(
        assignment,
        problems,
        record(request, staged.name, staged.sha256),
        tuple(plain_line(note, MAX_NOTE) for note in notes),
        Examination(staged, assignment),
    )


def record(request: Request, name: str, sha256: str = "") -> SubmissionRecord:
    """Which submission it is."""
    return SubmissionRecord(plain_line(request.title or name, MAX_NAME), sha256)
