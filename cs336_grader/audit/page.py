"""An audit as one HTML page that stands alone: which mistake fails which check."""

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cs336_grader.records import Tier
from cs336_grader.reports.html_report import made_plain

from . import summary
from .records import Audit

# Of the narrowest margins, this many are shown at the top.
MOST = 15


def render(audit: Audit) -> str:
    """The page."""
    style = stylesheet("cs336_grader.reports", "report.css") + stylesheet(__package__, "audit.css")
    return (
        environment()
        .get_template("audit.html.jinja")
        .render(
            audit=audit,
            sections=list(summary.sections(audit)),
            narrowest=summary.narrowest(audit.comparisons)[:MOST],
            idle=summary.idle(audit),
            style=Markup(style),  # noqa: S704 (files of this package, and no part of an audit)
            style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        )
    )


def stylesheet(package: str, name: str) -> str:
    """A style sheet that lies in a package."""
    return resources.files(package).joinpath("templates", name).read_text("utf-8")


@cache
def environment() -> Environment:
    """Where the page's template finds what it needs."""
    found = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=made_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals.update(multiple=summary.multiple, counted=summary.counted, tiers=Tier)
    return found
