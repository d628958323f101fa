"""The report as one row of a gradebook, below a row of column names; or those of a class."""

import csv
import io
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from cs336_grader.records import Report, Verdict

from . import summary
from .plain_text import plain_line

MAX_CELL = 200
# Tells Excel that the letters are UTF-8.
BYTE_ORDER_MARK = "\ufeff"
# Where a formula begins, the wide forms of East Asian input included: at the start of a cell, also
# behind blanks and quotation marks, or where a spreadsheet that guesses another separator sees one.
FORMULA = re.compile(r"""((?:^|[,;|\t])(?=[\s"]*[=+\-@＝＋－＠]))""")  # noqa: RUF001 (wide forms)


def render(report: Report) -> str:
    """The rows as CSV. What was not judged is left empty: a zero would be a grade."""
    cells = row(report)
    return table([cells], cells)


def row(report: Report) -> dict[str, object]:
    """What stands in each column."""
    complete = summary.is_complete(report)
    cells: dict[str, object] = {
        "submission": report.submission.name,
        "status": "graded" if complete else "not judged",
        "score": report.score if complete else "",
        "max_score": report.max_score,
        "percent": round(summary.percent(report), 2) if complete else "",
        "findings": len(report.findings),
        "seed": report.seed,
        "isolation": report.isolation.level,
        "sha256": report.submission.sha256,
    }
    for track in report.tracks:
        judged = summary.all_judged(one for one in report.problems if one.track == track.id)
        cells[track_column(track.id)] = track.score if judged else ""
    for problem in report.problems:
        judged = problem.verdict is not Verdict.NOT_JUDGED
        cells[problem.id] = problem.score if judged else ""
    return cells


def track_column(track: str) -> str:
    """The name of the column with a track's points."""
    return f"track {track}"


def table(rows: Sequence[Mapping[str, object]], columns: Collection[str]) -> str:
    """Rows below the names of the columns; what a row lacks is left empty."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(map(cell, columns))
    writer.writerows([cell(cells.get(column, "")) for column in columns] for cells in rows)
    return BYTE_ORDER_MARK + text.getvalue()


def cell(value: object) -> object:
    """A number as it is; a text that every spreadsheet takes for a text, its accents composed.

    >>> cell("=HYPERLINK()"), cell("half_right; @SUM(A1)"), cell("007"), cell(-1.5)
    ("'=HYPERLINK()", "half_right;' @SUM(A1)", '007', -1.5)
    """
    if not isinstance(value, str):
        return value
    text = unicodedata.normalize("NFC", plain_line(value, MAX_CELL))
    return FORMULA.sub(r"\1'", text)
