"""Turns results into points. The rubric is the denominator: what is not known earns nothing."""

import math
from collections.abc import Container, Iterable, Mapping, Sequence

from cs336_checks.rubric import Assignment, Problem, Tier
from cs336_grader.records import (
    CheckResult,
    Consequence,
    Finding,
    ProblemResult,
    TrackResult,
    Verdict,
)
from cs336_grader.reports.summary import listed

DECIMALS = 2


def check_results(
    assignment: Assignment,
    problems: Iterable[str],
    results: Mapping[str, CheckResult],
    absent: str,
) -> tuple[CheckResult, ...]:
    """Every check of these problems with what became of it.

    Args:
        assignment: names the checks.
        problems: the problems to report on.
        results: what is known, by the check's id. What the rubric does not name is passed over.
        absent: why nothing is known of the other checks.
    """
    chosen = set(problems)
    return tuple(
        results.get(check.id, CheckResult.of(check, Verdict.NOT_JUDGED, absent))
        for check in assignment.checks.values()
        if check.problem in chosen
    )


def problem_results(
    assignment: Assignment,
    problems: Iterable[str],
    checks: Iterable[CheckResult],
    findings: Iterable[Finding] = (),
) -> tuple[ProblemResult, ...]:
    """Every one of these problems with its points; a finding may cost them, not the verdict."""
    charged = {
        finding.problem for finding in findings if finding.consequence is Consequence.COSTS_POINTS
    }
    found: dict[str, dict[str, CheckResult]] = {name: {} for name in problems}
    results = {check.id: check for check in checks}
    for check in assignment.checks.values():
        if check.id in results:
            found[check.problem][check.name] = results[check.id]
    scoring = assignment.rubric.scoring
    costing = mistakes_that_cost(results.values(), charged) if scoring.carry_forward else ()
    return tuple(
        problem_result(
            name,
            assignment.rubric.problems[name],
            scoring.edge_share,
            found[name],
            charged=name in charged,
            costing=costing,
            chapter=assignment.chapters.get(name, ""),
        )
        for name in problems
    )


def mistakes_that_cost(checks: Iterable[CheckResult], charged: Container[str]) -> frozenset[str]:
    """The known mistakes that checks of their own problem have found, so that they are paid for.

    One in a problem whose points the assignment's rules have taken excuses nothing.
    """
    return frozenset(
        mistake
        for check in checks
        if check.tier is not Tier.ADVICE and check.problem not in charged
        for mistake in check.mistakes
        if problem_of(mistake) == check.problem
    )


def left_uncarried(assignment: Assignment, checks: Iterable[CheckResult]) -> str:
    """Says which points would be carried if the problems that they come from were graded too."""
    results = list(checks)
    graded = {check.problem for check in results}
    blamed = {
        other
        for check in results
        if check.tier is not Tier.ADVICE
        for other in map(problem_of, check.mistakes)
        if other not in graded and other in assignment.rubric.problems[check.problem].built_on
    }
    if not blamed or not assignment.rubric.scoring.carry_forward:
        return ""
    names = [name for name in assignment.rubric.problems if name in blamed]
    options = " ".join(f"--only {name}" for name in names)
    return (
        f"No points are carried from {listed(names)}, which this run does not grade. "
        f"To have them carried, add {options}."
    )


def problem_of(mistake: str) -> str:
    """The problem that a mistake belongs to."""
    return mistake.partition("/")[0]


def problem_result(
    name: str,
    problem: Problem,
    edge_share: float,
    checks: Mapping[str, CheckResult],
    *,
    charged: bool = False,
    costing: Container[str] = (),
    chapter: str = "",
) -> ProblemResult:
    """A problem's points: those it earned, and those carried forward.

    A check that failed is excused where a mistake that another problem has paid for explains all of
    it; a share of the points that are then missing no more is carried. Nothing is earned by what
    the assignment's rules forbid.
    """
    verdicts = {check: result.verdict for check, result in checks.items()}
    passed = {check for check, verdict in verdicts.items() if verdict is Verdict.PASSED}
    excuses = {check: excuse(problem, result, costing) for check, result in checks.items()}
    excused = {check: other for check, other in excuses.items() if other is not None}
    earned = 0.0 if charged else problem.earned(passed, edge_share)
    excusable = 0.0 if charged else problem.earned(passed.union(excused), edge_share) - earned
    part = min((problem.built_on[other] for other in excused.values()), default=0.0)
    carried = round(excusable * part, DECIMALS)
    return ProblemResult(
        id=name,
        title=problem.title,
        score=min(max(round(earned + carried, DECIMALS), 0.0), problem.points),
        max_score=problem.points,
        verdict=problem_verdict(
            [verdicts[check] for tier, check in problem.checks() if tier is not Tier.ADVICE]
        ),
        carried=carried,
        carried_from=tuple(sorted(set(excused.values()))) if carried else (),
        track=problem.track,
        extra=problem.extra,
        chapter=chapter,
    )


def excuse(problem: Problem, check: CheckResult, costing: Container[str]) -> str | None:
    """The problem whose mistake, paid for there, is all that a failed check has found."""
    others = {problem_of(mistake) for mistake in check.mistakes if mistake in costing}
    built_on = [other for other in others if other in problem.built_on]
    if check.verdict is not Verdict.FAILED or not built_on:
        return None
    return max(built_on, key=lambda other: (problem.built_on[other], other))


def problem_verdict(verdicts: list[Verdict]) -> Verdict:
    """A problem's verdict from those of the checks that count."""
    if Verdict.NOT_JUDGED in verdicts:
        return Verdict.NOT_JUDGED
    return Verdict.FAILED if Verdict.FAILED in verdicts else Verdict.PASSED


def track_results(
    tracks: Mapping[str, str], problems: Sequence[ProblemResult]
) -> tuple[TrackResult, ...]:
    """The points of each track, given by its title, of which there is a problem."""
    own = {track: [one for one in problems if one.track == track] for track in tracks}
    return tuple(
        TrackResult(track, title, total_score(own[track]), total_maximum(own[track]))
        for track, title in tracks.items()
        if own[track]
    )


def total_score(problems: Iterable[ProblemResult]) -> float:
    """The points of these problems, extra ones included."""
    return total(problem.score for problem in problems)


def total_maximum(problems: Iterable[ProblemResult]) -> float:
    """Return full marks: extra problems come on top of them."""
    return total(problem.max_score for problem in problems if not problem.extra)


def total(points: Iterable[float]) -> float:
    """The sum of points, as exact as they are."""
    return round(math.fsum(points), DECIMALS)
