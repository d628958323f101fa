"""The command ``cs336 new``."""

from pathlib import Path

import click

from .commands import ended_in_words, to_type


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
def new(path: Path) -> None:
    """Write an assignment of one solved example problem to the folder PATH."""
    # Imported here because grading has no use for it.
    from . import new as assignments  # noqa: PLC0415

    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise click.UsageError(f"{path} exists and is no empty folder. Name another one.")
    with ended_in_words("Nothing was written.\n", (assignments.CouldNotMakeError, OSError)):
        assignments.make(path)
    click.echo(f"Written to {path}. In that folder, and in this order:")
    for words in (
        ("pytest",),
        ("cs336", "grade", ".", "--assignment", "."),
        ("cs336", "audit", "--assignment", ".", "--report-dir", "report"),
        ("cs336", "handout", "../students", "--assignment", "."),
    ):
        click.echo(f"    {to_type(*words)}")
    click.echo("README.md says how to make it yours.")
