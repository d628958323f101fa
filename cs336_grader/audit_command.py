"""The command ``cs336 audit``."""

import os
from pathlib import Path

import click

from cs336_checks.rubric import RubricError, load_assignment

from .commands import (
    BELOW_THE_BAR,
    COULD_NOT_JUDGE,
    GRADED,
    INTERRUPTED,
    USAGE,
    default_assignment,
    ended_in_words,
)
from .judging.choice import named_problems

EPILOG = f"""\b
Exit codes:
  {GRADED}  sound: all of this holds
  {BELOW_THE_BAR}  something does not hold
  {USAGE}  the command line was wrong
  {COULD_NOT_JUDGE}  the suite or a catalogue could not be run
  {INTERRUPTED}  interrupted; nothing was written
"""


@click.command(epilog=EPILOG)
@click.option(
    "--problem", "problems", multiple=True, metavar="PROBLEM", help="This one alone; repeatable."
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="one a core",
    help="How many processes do the work.",
)
@click.option(
    "--assignment",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the suite. Default: as for grade.",
)
@click.option(
    "--report-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("report"),
    show_default=True,
    help="Where audit.json and audit.html are written.",
)
@click.pass_context
def audit(
    context: click.Context,
    *,
    problems: tuple[str, ...],
    jobs: int,
    assignment: Path | None,
    report_dir: Path,
) -> None:
    """Grade the checks themselves, by what is known to be right and what is known to be wrong.

    The reference and every right variant have to pass, stubs and every known mistake to fail, and
    each comparison of numbers has to be ten times away from both.
    """
    # Imported here because grading has no use for it, nor for what it brings.
    from . import audit as auditing  # noqa: PLC0415

    with ended_in_words(
        "The checks could not be audited.\n",
        (RubricError, OSError, auditing.CouldNotAuditError),
        "Interrupted. Nothing was written.",
    ):
        # No submission is judged here, so there is none to keep away from.
        known = load_assignment(assignment or default_assignment(Path(os.devnull)))
        plan = auditing.AuditPlan(known, named_problems(known.rubric, problems), jobs)
        found = auditing.carry_out(plan, report_dir)
    context.exit(BELOW_THE_BAR if found.faults else GRADED)
