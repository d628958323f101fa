"""The report in the Common Test Report Format (CTRF).

Advice that was not followed is "other": it was neither passed nor does it fail anything. So are an
extra problem that was not solved, and what was not judged; ``rawStatus`` tells them apart.

Format: https://ctrf.io/docs/specification/root
"""

import json
from collections import Counter
from typing import Any

from cs336_grader.records import CheckResult, Report, Verdict

from . import summary
from .plain_text import plain_line
from .wording import MAX_TEXT, check_told

SPECIFICATION = "0.0.0"
MILLISECONDS = 1000


def render(report: Report) -> str:
    """The report as JSON text."""
    counts = Counter(status(report, check) for check in report.checks)
    start = report.started_at * MILLISECONDS
    results = {
        "tool": {"name": "cs336"},
        "summary": {
            "tests": len(report.checks),
            "passed": counts["passed"],
            "failed": counts["failed"],
            "skipped": 0,
            "pending": 0,
            "other": counts["other"],
            "suites": len(report.problems),
            "start": start,
            "stop": start + milliseconds(report.duration_seconds),
            "extra": extra(report),
        },
        "tests": [test(report, check) for check in report.checks],
    }
    whole = {"reportFormat": "CTRF", "specVersion": SPECIFICATION, "results": results}
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def status(report: Report, check: CheckResult) -> str:
    """What became of a check, in the format's words."""
    fails = check.verdict is Verdict.FAILED and summary.lossy(report, check)
    return "passed" if check.verdict is Verdict.PASSED else "failed" if fails else "other"


def test(report: Report, check: CheckResult) -> dict[str, Any]:
    """A check."""
    told = {} if check.verdict is Verdict.PASSED else {"trace": check_told(check)}
    return {
        "name": plain_line(check.id, MAX_TEXT) or "(without a name)",
        "status": status(report, check),
        "duration": milliseconds(check.duration_seconds),
        "suite": [plain_line(check.problem, MAX_TEXT)],
        "message": plain_line(check.requirement, MAX_TEXT),
        "rawStatus": check.verdict.value,
        "tags": [check.tier.value],
        "filePath": plain_line(check.id.partition("::")[0], MAX_TEXT),
        **told,
    }


def extra(report: Report) -> dict[str, Any]:
    """What the format has no place for."""
    return {
        "submission": plain_line(report.submission.name, MAX_TEXT),
        "sha256": plain_line(report.submission.sha256, MAX_TEXT),
        "seed": report.seed,
        "isolation": plain_line(report.isolation.level, MAX_TEXT),
        "complete": summary.is_complete(report),
        "score": report.score,
        "max_score": report.max_score,
        "points": {
            plain_line(problem.id, MAX_TEXT): [problem.score, problem.max_score]
            for problem in report.problems
        },
        "tracks": {
            plain_line(track.id, MAX_TEXT): [track.score, track.max_score]
            for track in report.tracks
        },
    }


def milliseconds(seconds: float) -> int:
    """A duration in the format's unit."""
    return round(max(0.0, seconds) * MILLISECONDS)
