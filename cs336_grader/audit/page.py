"""An audit as one HTML page that stands alone: which mistake fails which check."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cs336_grader.records import Tier
from cs336_grader.reports.html_report import made_plain

from . import terminal
from .records import Audit, CheckResult, ComparisonResult, Fault, MistakeResult

# Of the narrowest margins, this many are shown at the top.
MOST = 15


@dataclass(frozen=True, slots=True)
class Section:
    """A problem as the page shows it.

    Attributes:
        checks: its checks; the page numbers them.
        comparisons: in the order of their margins.
    """

    problem: str
    checks: list[CheckResult]
    mistakes: list[MistakeResult]
    comparisons: list[ComparisonResult]
    faults: list[Fault]
    twins: list[tuple[str, ...]]

    @property
    def caught(self) -> int:
        """How many mistakes cost points."""
        return sum(not mistake.survives for mistake in self.mistakes)

    @property
    def noise(self) -> float:
        """The farthest that anything right is off in a comparison."""
        return max((each.noise for each in self.comparisons), default=0.0)

    @property
    def nearest(self) -> float | None:
        """How far the nearest mistake is off where it is seen best."""
        return min((c.nearest for c in self.comparisons if c.nearest is not None), default=None)


def render(audit: Audit) -> str:
    """The page."""
    style = stylesheet("cs336_grader.reports", "report.css") + stylesheet(__package__, "audit.css")
    return (
        environment()
        .get_template("audit.html.jinja")
        .render(
            audit=audit,
            sections=list(sections(audit)),
            narrowest=terminal.narrowest(audit.comparisons)[:MOST],
            idle=terminal.idle(audit),
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
    found.globals.update(multiple=terminal.multiple, counted=terminal.counted, tiers=Tier)
    return found


def sections(audit: Audit) -> Iterator[Section]:
    """Each problem with what belongs to it."""
    for problem in terminal.problems(audit):
        mistakes = [mistake for mistake in audit.mistakes if mistake.problem == problem]
        names = {mistake.id for mistake in mistakes}
        yield Section(
            problem,
            [check for check in audit.checks if check.problem == problem],
            mistakes,
            list(terminal.narrowest(c for c in audit.comparisons if c.problem == problem)),
            [fault for fault in audit.faults if fault.problem == problem],
            [group for group in audit.twins if names.issuperset(group)],
        )
