"""A class as one HTML page that stands alone; its links lead to the reports beside it."""

from urllib.parse import quote

from cs336_grader.grades.grading import ClassGrades, Standing
from cs336_grader.intake.sources import ENDINGS
from cs336_grader.reports import html_page, html_report, summary
from cs336_grader.reports.formats import FORMATS

from . import overview
from .records import GRADEBOOK, Status
from .submissions import Found, Submission

STYLE = html_report.STYLE + html_page.stylesheet(__package__, "class.css")
# Of each list, this many rows are shown from the start.
FIRST = 5
# Of the distribution: the width of a bar, the height of the picture, where its ground is, and what
# is left free at both sides for a label.
BIN_WIDTH, HEIGHT, GROUND, MARGIN = 60, 150, 124, 30


def render(
    title: str, seen: overview.Overview, found: Found, grades: ClassGrades | None = None
) -> str:
    """Return the page.

    Args:
        title: of the assignment.
        seen: the class.
        found: the submissions, and the files that are none.
        grades: of the students, where class.toml names them.
    """
    return html_page.page(
        __package__,
        "class.html.jinja",
        STYLE,
        title=title,
        seen=seen,
        grades=grades,
        standings=Standing,
        left_out=found.left_out,
        known={one.name: one for one in found.submissions},
        gradebook=GRADEBOOK,
        summary=summary,
        statuses=Status,
        link=link,
        bar=bar,
        first=FIRST,
        most=overview.MOST,
        seconds=overview.seconds,
        megabytes=overview.megabytes,
        handed_in_as=handed_in_as,
        margin=MARGIN,
        bin_width=BIN_WIDTH,
        height=HEIGHT,
        ground=GROUND,
    )


def link(name: str) -> str:
    """Where a submission's report is, from the page."""
    return f"{quote(name)}/{FORMATS['html'].file_name}"


def handed_in_as(submission: Submission) -> str:
    """The student's id, and the file's name where it is more than the submission's name."""
    name, file = submission.name, submission.file
    plain = file in {name + ending for ending in ("", *ENDINGS)}
    sid = f"id {submission.told.sid}" if submission.told.sid else ""
    return ", ".join(filter(None, (sid, "" if plain else file)))


def bar(count: int, most: int) -> int:
    """How high a bar of the distribution is."""
    return round((GROUND - 24) * count / most) if most else 0
