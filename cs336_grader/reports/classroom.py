"""The report as the result that GitHub Classroom's graders hand to its reporter.

The reporter adds up the tests' scores and publishes the sum wherever ``max_score`` is above zero:
a report that is not complete has a ``max_score`` of 0 and the status "error", so that the step
fails and nothing is published.
"""

import json
from typing import Any

from cs336_grader.records import ProblemResult, Report, Verdict

from . import summary
from .plain_text import plain, plain_line
from .wording import problem_told

RESULT_VERSION = 3
# As long as the graders that Classroom comes with leave it.
MAX_OUTPUT = 500
STATUS = {Verdict.PASSED: "pass", Verdict.FAILED: "fail", Verdict.NOT_JUDGED: "error"}


def render(report: Report) -> str:
    """The result as JSON text."""
    return json.dumps(result(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def result(report: Report) -> dict[str, Any]:
    """The result; one test a problem."""
    complete = summary.is_complete(report)
    counting = [problem for problem in report.problems if not problem.extra]
    passed = all(problem.verdict is Verdict.PASSED for problem in counting)
    message = summary.total_line(report) if complete else summary.incomplete_line(report)
    return {
        "version": RESULT_VERSION,
        "status": ("pass" if passed else "fail") if complete else "error",
        "message": message,
        "max_score": report.max_score if complete else 0,
        "tests": [test(report, problem, scored=complete) for problem in report.problems],
    }


def test(report: Report, problem: ProblemResult, *, scored: bool) -> dict[str, Any]:
    """A problem as a test."""
    checks = [check for check in report.checks if check.problem == problem.id]
    first = next(iter(summary.open_checks(report, problem) or checks), None)
    told = "" if problem.verdict is Verdict.PASSED else problem_told(report, problem)
    return {
        "name": plain_line(summary.title(problem), MAX_OUTPUT),
        "status": STATUS[problem.verdict],
        "score": problem.score if scored else 0,
        "message": plain(told, MAX_OUTPUT),
        "test_code": plain_line(summary.run_alone(first), MAX_OUTPUT) if first else "",
        "filename": plain_line(first.id.partition("::")[0], MAX_OUTPUT) if first else "",
        "line_no": 0,
        "duration": round(sum(check.duration_seconds for check in checks), 3),
    }
