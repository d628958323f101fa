"""Grades what Gradescope hands over, in the container that it starts for each submission.

The platform's folder holds ``source`` (what was packed), ``submission``, ``results`` and
``submission_metadata.json``. A run that is still going when the time is up is stopped by the
platform, which then keeps nothing: this one stops itself before, and what it knows stands in
``results.json`` at any moment.

Formats: https://gradescope-autograders.readthedocs.io/en/latest/
"""

import secrets
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import click
from pydantic import AwareDatetime, BaseModel, ValidationError

from cs336_grader import pipeline
from cs336_grader.records import Report
from cs336_grader.reports import gradescope, printing, summary
from cs336_grader.reports.formats import Destination, Format
from cs336_grader.request import Request

# The platform starts and ends a container within its time.
RESERVE_SECONDS = 30
# Of the time; the rest is for starting, and for the reference.
SUBMISSION_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Results(Format):
    """Gradescope's format for an assignment that has this score for full marks."""

    worth: float = 0.0

    def render(self, report: Report) -> str:
        """The report in this format."""
        return gradescope.render(report, self.worth)


class Terms(BaseModel):
    """What the platform says of the assignment.

    Attributes:
        total_points: those that are given by hand included.
    """

    due_date: AwareDatetime | None = None
    late_due_date: AwareDatetime | None = None
    total_points: float | None = None


class Metadata(BaseModel):
    """What the platform says of a submission."""

    created_at: AwareDatetime
    assignment: Terms = Terms()

    def lateness(self) -> Iterator[str]:
        """What there is to say of the time it was handed in."""
        due, last = self.assignment.due_date, self.assignment.late_due_date
        if due is not None and self.created_at > due:
            late = f"Handed in {spell(self.created_at, due)} after the assignment's due date"
            if last is not None and self.created_at > last:
                late += f", and {spell(self.created_at, last)} after the last date for late work"
            yield f"{late}. The score here does not depend on that; an extension is not known here."


def spell(later: datetime, earlier: datetime) -> str:
    """The time between two moments, to the minute: "2 days, 1:05 hours"."""
    minutes = max(1, round((later - earlier) / timedelta(minutes=1)))
    return str(timedelta(minutes=minutes)).removesuffix(":00") + " hours"


def read_metadata(path: Path) -> Metadata | None:
    """What the platform says, if it can be read; grading does not depend on it."""
    try:
        return Metadata.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        click.echo(f"{path.name} is passed over: {error}")
        return None


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--minutes", type=click.FloatRange(min=0), required=True)
@click.option("--worth", type=click.FloatRange(min=0, min_open=True), required=True)
@click.option("--track", "tracks", multiple=True)
def main(*, folder: Path, minutes: float, worth: float, tracks: tuple[str, ...]) -> None:
    """Grade the submission in the platform's FOLDER within its time."""
    seconds = max(1, minutes * 60 - RESERVE_SECONDS)
    for stop in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    metadata = read_metadata(folder / "submission_metadata.json")
    results = folder / "results"
    written = Results("gradescope", "results.json", "Gradescope", partial=True, worth=worth)
    request = Request(
        submission=folder / "submission",
        assignment=folder / "source",
        seed=secrets.randbits(32),
        only=(),
        tracks=tracks,
        report_folder=results,
        formats=(Destination(written, results / written.file_name),),
        most_seconds=seconds * SUBMISSION_SHARE,
        notes=() if metadata is None else tuple(metadata.lateness()),
    )
    try:
        report = pipeline.grade(request, lambda _: None)
    except KeyboardInterrupt:
        known = "The time was up. What was known by then is in the results."
        raise click.ClickException(known) from None
    printing.show(report, repeat=summary.repeat(report), saved=(), look_closer="")
    warn_of_points(worth, metadata)


def warn_of_points(worth: float, metadata: Metadata | None) -> None:
    """Warn the course staff if the assignment has too few points; students do not see it."""
    total = None if metadata is None else metadata.assignment.total_points
    if total is not None and total < worth:
        click.echo(
            f"This assignment is worth {total:g} points on the platform, and full marks are "
            f"{worth:g} here: give it {worth:g} autograder points there."
        )


if __name__ == "__main__":
    main()
