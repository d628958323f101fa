"""An audit as one HTML page that stands alone: which mistake fails which check."""

from cs336_checks.rubric import Tier
from cs336_grader.reports import html_page, html_report

from . import findings, summary
from .records import Audit

# Of the narrowest margins, this many are shown at the top.
MOST = 15
STYLE = html_report.STYLE + html_page.stylesheet(__package__, "audit.css")


def render(audit: Audit) -> str:
    """The page."""
    return html_page.page(
        __package__,
        "audit.html.jinja",
        STYLE,
        audit=audit,
        sections=list(summary.sections(audit)),
        narrowest=summary.narrowest(audit.comparisons)[:MOST],
        idle=summary.idle(audit),
        best_paid=summary.best_paid(audit),
        most_earned=findings.MOST_EARNED,
        multiple=summary.multiple,
        counted=summary.counted,
        tiers=Tier,
    )
