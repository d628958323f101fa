"""The report as one row of a gradebook, below a row of column names; or those of a class."""

import csv
import io
from collections.abc import Mapping, Sequence

from cs336_grader.records import Report, Verdict

from . import summary
from .plain_text import plain_line

MAX_CELL = 200
# What makes a spreadsheet take a text for a formula, the wide forms of East Asian input included.
FORMULA_STARTS = tuple("=+-@\t\r＝＋－＠")  # noqa: RUF001 (the wide forms are meant)


def render(report: Report) -> str:
    """The rows as CSV. What was not judged is left empty: a zero would be a grade."""
    return table([row(report)])


def row(report: Report) -> dict[str, object]:
    """What stands in each column."""
    complete = summary.is_complete(report)
    cells: dict[str, object] = {
        "submission": cell(report.submission.name),
        "status": "graded" if complete else "not judged",
        "score": report.score if complete else "",
        "max_score": report.max_score,
        "percent": round(summary.percent(report), 2) if complete else "",
        "findings": len(report.findings),
        "seed": report.seed,
        "isolation": cell(report.isolation.level),
        "sha256": cell(report.submission.sha256),
    }
    for track, problems in summary.by_track(report):
        if track is not None:
            judged = summary.all_judged(problems)
            cells[cell(f"track {track.id}")] = track.score if judged else ""
    for problem in report.problems:
        judged = problem.verdict is not Verdict.NOT_JUDGED
        cells[cell(problem.id)] = problem.score if judged else ""
    return cells


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows below the names of all their columns; what a row lacks is left empty."""
    text = io.StringIO()
    columns = dict.fromkeys(column for cells in rows for column in cells)
    writer = csv.DictWriter(text, list(columns), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def cell(text: str) -> str:
    """A text that every spreadsheet takes for a text.

    >>> cell("=HYPERLINK()"), cell("half_right")
    ("'=HYPERLINK()", 'half_right')
    """
    text = plain_line(text, MAX_CELL)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
