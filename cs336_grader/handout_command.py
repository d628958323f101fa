"""The command ``cs336 handout``."""

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cs336_checks.rubric import Assignment, RubricError, load_assignment

from .commands import (
    BELOW_THE_BAR,
    COULD_NOT_JUDGE,
    GRADED,
    INTERRUPTED,
    USAGE,
    default_assignment,
    ended_in_words,
)

if TYPE_CHECKING:
    from .handout import Handout

EPILOG = f"""\b
Exit codes:
  {GRADED}  handed out, or brought up to date
  {BELOW_THE_BAR}  it does not prove itself; nothing was written
  {USAGE}  the command line was wrong
  {COULD_NOT_JUDGE}  it could not be made or tried; nothing was written
  {INTERRUPTED}  interrupted
"""


@click.command(epilog=EPILOG)
@click.argument("out", required=False, type=click.Path(path_type=Path))
@click.option(
    "--track",
    "tracks",
    multiple=True,
    metavar="TRACK",
    help="Hand out this track alone; repeatable. Default: all. With --update, those handed out.",
)
@click.option(
    "--update",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="REPOSITORY",
    help="Bring what is the author's in a student's repository up to date, instead of making one.",
)
@click.option(
    "--assignment",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The author's folder. Default: as for grade.",
)
def handout(
    *,
    out: Path | None,
    tracks: tuple[str, ...],
    update: Path | None,
    assignment: Path | None,
) -> None:
    """Make the students' repository in the folder OUT, which must be empty or not there.

    Before anything is written, it is tried in a fresh environment without network: the stubs pass
    no check, the reference passes all, and nothing of the solution is in it. That takes somewhat
    longer than the checks take on the reference.
    """
    if (out is None) == (update is None):
        raise click.UsageError("Name either a folder OUT or a repository to --update.")
    # Imported here because grading has no use for it, nor for what it brings.
    from . import handout as making  # noqa: PLC0415

    with ended_in_words(
        "Nothing was handed out.\n", (RubricError, OSError, making.ProofError, SyntaxError)
    ):
        known = load_assignment(assignment or default_assignment(Path(os.devnull)))
        if update is not None:
            try:
                bring_up_to_date(known, update.resolve(), tracks)
            except making.ManifestError as error:
                raise click.UsageError(f"{error}.") from error
        elif out is not None:
            check_place(out, known.folder)
            made = proved(known, tracks)
            making.hand_out(made, out.absolute())
            click.echo(f"{len(made.files)} files in {out}.")
            click.echo(f"Begin as a student does: cd {shlex.quote(str(out))} && uv run pytest")


def check_place(out: Path, author: Path) -> None:
    """See that a student's repository can be made there.

    Raises:
        UsageError: something is there, or it would become a part of the author's.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise click.UsageError(f"{out} is not empty. Name another folder, or --update it.")
    if out.resolve().is_relative_to(author.resolve()):
        raise click.UsageError(f"{out} is within the author's folder. Name one outside of it.")


def proved(known: Assignment, tracks: tuple[str, ...]) -> "Handout":
    """Make a student's repository, and end the program where it does not prove itself."""
    from . import handout as making  # noqa: PLC0415

    started = time.monotonic()
    made = making.build(known, tracks)
    faults = making.prove(known, made, click.echo)
    for fault in faults:
        click.echo(f"  {fault}", err=True)
    if faults:
        click.echo("This does not hold, so nothing was handed out.", err=True)
        sys.exit(BELOW_THE_BAR)
    checks, seconds = len(made.assignment.checks), time.monotonic() - started
    click.echo(
        f"Proved in {seconds:.0f} s: {checks} checks fail on stubs and pass on the reference."
    )
    return made


def bring_up_to_date(known: Assignment, repository: Path, tracks: tuple[str, ...]) -> None:
    """Update a student's repository and say what changed."""
    from . import handout as making  # noqa: PLC0415

    before = making.read_manifest(repository)
    made = proved(known, tracks or before.tracks)
    changes = making.plan(made, before, repository)
    making.carry_out(changes, made, repository)
    for change in changes:
        click.echo(f"{change.action}: {change.file}{f' ({change.why})' if change.why else ''}")
    if not changes:
        click.echo("All of it was up to date.")
    stubs = list(making.missing_adapters(made, repository))
    if stubs:
        click.echo("\nThe student's tests/adapters.py lacks these; add them there:\n")
        click.echo("\n\n\n".join(stubs))
