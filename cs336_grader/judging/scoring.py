"""Turns outcomes into points. The rubric is the denominator: what is not known earns nothing."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

from cs336_grader.records import (
    CheckResult,
    Consequence,
    Finding,
    Outcome,
    ProblemResult,
    Tier,
    Verdict,
)
from cs336_grader.reports.plain_text import plain
from cs336_grader.rubric import Assignment, Check, Problem

MAX_MESSAGE = 8_000
DECIMALS = 2


def check_results(
    assignment: Assignment, problems: Iterable[str], outcomes: Mapping[str, Outcome], absent: str
) -> tuple[CheckResult, ...]:
    """Every check of these problems with what became of it.

    Args:
        assignment: names the checks.
        problems: the problems to report on.
        outcomes: what is known, by the check's name. What the rubric does not name is passed over.
        absent: why nothing is known of the other checks.
    """
    chosen = set(problems)
    return tuple(
        result(check, outcomes.get(check.name, Outcome(check.name, Verdict.NOT_JUDGED, absent, 0)))
        for check in assignment.checks.values()
        if check.problem in chosen
    )


@lru_cache(maxsize=10_000)
def result(check: Check, outcome: Outcome) -> CheckResult:
    """A check with its outcome, as the report has it; the report is made anew after every check."""
    seconds = outcome.duration_seconds
    message = plain(outcome.message, MAX_MESSAGE).removeprefix(check.requirement)
    return CheckResult(
        id=check.id,
        problem=check.problem,
        tier=check.tier,
        verdict=outcome.verdict,
        requirement=check.requirement,
        message=message.strip("\n"),
        duration_seconds=round(max(0.0, seconds), 3) if math.isfinite(seconds) else 0.0,
        picture=outcome.picture,
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
    results = {check.id: check for check in checks}
    verdicts: dict[str, dict[str, Verdict]] = {name: {} for name in problems}
    for check in assignment.checks.values():
        if check.id in results:
            verdicts[check.problem][check.name] = results[check.id].verdict
    return tuple(
        problem_result(
            name,
            assignment.rubric.problems[name],
            assignment.rubric.scoring.edge_share,
            verdicts[name],
            charged=name in charged,
        )
        for name in problems
    )


def problem_result(
    name: str,
    problem: Problem,
    edge_share: float,
    verdicts: Mapping[str, Verdict],
    *,
    charged: bool = False,
) -> ProblemResult:
    """A problem's points: those of its core, and of its edge as far as the core was earned.

    Every part of the core counts alike and is earned when all its checks passed. Nothing is earned
    by what the assignment's rules forbid.
    """
    passed = {check for check, verdict in verdicts.items() if verdict is Verdict.PASSED}
    core = share(passed.issuperset(part) for part in problem.core.values())
    edge = share(check in passed for check in problem.edge)
    reserved = edge_share if problem.edge else 0.0
    earned = 0.0 if charged else problem.points * core * (1 - reserved + reserved * edge)
    return ProblemResult(
        id=name,
        title=problem.title,
        score=min(max(round(earned, DECIMALS), 0.0), problem.points),
        max_score=problem.points,
        verdict=problem_verdict(
            [verdicts[check] for tier, check in problem.checks() if tier is not Tier.ADVICE]
        ),
    )


def share(held: Iterable[bool]) -> float:
    """Which part of these is true; all of them if there are none."""
    counted = list(held)
    return sum(counted) / len(counted) if counted else 1.0


def problem_verdict(verdicts: list[Verdict]) -> Verdict:
    """A problem's verdict from those of the checks that count."""
    if Verdict.NOT_JUDGED in verdicts:
        return Verdict.NOT_JUDGED
    return Verdict.FAILED if Verdict.FAILED in verdicts else Verdict.PASSED


def total(points: Iterable[float]) -> float:
    """The sum of points, as exact as they are."""
    return round(math.fsum(points), DECIMALS)
