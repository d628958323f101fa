"""Makes the report of what is known."""

from cs336_grader.judging import scoring
from cs336_grader.records import SCHEMA_VERSION, Report
from cs336_grader.request import Request

from .journal import Journal
from .plan import Plan


def scored(request: Request, plan: Plan, journal: Journal, absent: str) -> Report:
    """The report as it stands; `absent` says why nothing is known of the other checks."""
    assignment = plan.assignment
    checks = scoring.check_results(assignment, plan.problems, journal.results, absent)
    findings = (
        ()
        if plan.examination is None
        else plan.examination.findings(plan.problems, journal.forbidden_calls)
    )
    problems = scoring.problem_results(assignment, plan.problems, checks, findings)
    return Report(
        schema_version=SCHEMA_VERSION,
        submission=plan.submission,
        seed=request.seed,
        isolation=journal.isolation,
        score=scoring.total_score(problems),
        max_score=scoring.total_maximum(problems),
        problems=problems,
        checks=checks,
        notes=(*plan.notes, *filter(None, [scoring.left_uncarried(assignment, checks)])),
        findings=findings,
        duration_seconds=journal.seconds,
        started_at=journal.started_at,
        tracks=scoring.track_results(assignment.rubric.tracks, problems),
        options=request.options,
    )
