"""The command ``cs336 package``."""

import os
from importlib import metadata
from pathlib import Path

import click

from cs336_checks.rubric import RubricError, load_assignment

from .commands import UnjudgedError, default_assignment, ended_in_words
from .judging.choice import known_names

MEBIBYTE = 2**20


@click.group()
def package() -> None:
    """Pack the grader and the assignment for a course platform."""


@package.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--minutes",
    type=click.IntRange(2, 40),
    default=10,
    show_default=True,
    help="The time limit that is set on the platform: a run ends itself before.",
)
@click.option(
    "--track",
    "tracks",
    multiple=True,
    metavar="TRACK",
    help="Grade this track; repeatable. Default: each track that a submission attempts.",
)
@click.option(
    "--assignment",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The author's folder. Default: as for grade.",
)
def gradescope(
    *, out: Path, minutes: int, tracks: tuple[str, ...], assignment: Path | None
) -> None:
    """Write an autograder for Gradescope to the archive OUT.

    It holds the reference: give it to nobody but the platform.
    """
    # Imported here because grading has no use for it.
    from .platforms import archive  # noqa: PLC0415

    with ended_in_words("Nothing was packed.\n", (RubricError, OSError)):
        known = load_assignment(assignment or default_assignment(Path(os.devnull)))
        known_names("track", tracks, tuple(known.rubric.tracks))
        try:
            files = archive.gradescope(known, minutes, tracks)
        except metadata.PackageNotFoundError as error:
            told = f"Nothing was packed: {error.name} is not installed here."
            raise UnjudgedError(told) from error
        archive.write(files, out)
    size = out.stat().st_size / MEBIBYTE
    click.echo(
        f"{len(files)} files, {size:.1f} MB in {out}. It holds the reference: keep it private."
    )
    worth = archive.worth(known, tracks)
    click.echo(
        f"On the platform: {worth:g} autograder points, 2 GB of memory or more, "
        f"{minutes} minutes or more."
    )
    if worth != known.rubric.full_marks(tracks):
        click.echo(
            "A submission is graded in the tracks that it attempts. Its score is the percentage of "
            "their points. To grade one track by its points instead: --track TRACK."
        )
