"""The report as Gradescope's results.json.

One test a problem, with its points and what was found; advice in one test without points. A report
that is not complete has no score at all: Gradescope asks for one and so records no grade, where a
zero or a part of the points would stand until somebody noticed.

Format: https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

import json
from collections.abc import Iterator
from typing import Any

from cs336_grader.records import Consequence, ProblemResult, Report, Verdict

from . import summary
from .plain_text import plain, plain_line
from .wording import MAX_TEXT, problem_told

Entry = dict[str, Any]


def render(report: Report, worth: float | None = None) -> str:
    """The report as JSON text; whatever students are not to see is in ``extra_data``.

    No test is hidden: where one is, Gradescope shows no total to students.

    Args:
        report: the report.
        worth: the score for full marks; if None, the maximum of the report.
    """
    complete = summary.is_complete(report)
    score = report.score if worth is None else round(summary.percent(report) * worth / 100, 2)
    results: Entry = {
        **({"score": score} if complete else {}),
        "execution_time": round(report.duration_seconds),
        "output": plain(overview(report, score, worth), MAX_TEXT),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            *(
                entry(report, problem, number, scored=complete)
                for number, problem in enumerate(report.problems, start=1)
            ),
            *advice(report),
        ],
        "extra_data": extra_data(report),
    }
    return json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def overview(report: Report, score: float, worth: float | None) -> str:
    """What is said of the submission as a whole."""
    lines = []
    if not summary.is_complete(report):
        lines += [
            f"No score yet, {summary.incomplete_line(report)}. That is not known to be your fault;"
            " the course staff can run it again.",
            summary.common_reason(report),
        ]
    else:
        lines.append(f"Total {summary.total_line(report)}.")
        if worth not in {None, report.max_score}:
            lines.append(f"Gradescope's score is {score:g} of {worth:g}: the same share.")
        lines += [
            f"{track.title}: {summary.track_points(track, problems)}"
            for track, problems in summary.by_track(report)
            if track is not None
        ]
    return "\n".join([*filter(None, lines), *report.notes])


def entry(report: Report, problem: ProblemResult, number: int, *, scored: bool) -> Entry:
    """A problem's test."""
    judged = problem.verdict is not Verdict.NOT_JUDGED
    passed = "passed" if problem.verdict is Verdict.PASSED else "failed"
    return {
        **({"score": problem.score, "max_score": problem.max_score} if scored else {}),
        **({"status": passed} if judged else {}),
        "name": plain_line(summary.title(problem), MAX_TEXT),
        "number": str(number),
        "output": problem_told(report, problem),
        "tags": [plain_line(problem.id, MAX_TEXT)],
        "visibility": "visible",
    }


def advice(report: Report) -> Iterator[Entry]:
    """A test of what could be better and costs nothing, if anything could."""
    if lines := summary.advice_told(report):
        yield {
            "name": "Advice, no points",
            "number": str(len(report.problems) + 1),
            "output": plain("\n".join(lines), MAX_TEXT),
            "tags": ["advice"],
            "visibility": "visible",
        }


def extra_data(report: Report) -> Entry:
    """What a later run or the course staff may want to know."""
    return {
        "schema_version": report.schema_version,
        "sha256": plain_line(report.submission.sha256, MAX_TEXT),
        "seed": report.seed,
        "isolation": plain_line(report.isolation.level, MAX_TEXT),
        "complete": summary.is_complete(report),
        "earned": report.score,
        "maximum": report.max_score,
        "tracks": {
            plain_line(track.id, MAX_TEXT): [track.score, track.max_score]
            for track in report.tracks
        },
        "human_look": [
            plain_line(f"{summary.place(finding)}: {finding.message}", MAX_TEXT)
            for finding in report.findings
            if finding.consequence is Consequence.HUMAN_LOOK
        ],
    }
