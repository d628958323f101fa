"""The commands ``cs336 batch`` and ``cs336 regrade``."""

import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cs336_checks.rubric import Assignment, RubricError, load_assignment

from .commands import (
    COULD_NOT_JUDGE,
    GRADED,
    INTERRUPTED,
    ISOLATION_LEVELS,
    MAX_SEED,
    USAGE,
    UnjudgedError,
    default_assignment,
    ended_in_words,
    to_type,
    worker_python_option,
)
from .intake import own_adapters
from .judging.choice import attempted_problems, named_problems
from .records import CouldNotJudgeError

if TYPE_CHECKING:
    from .batch.overview import Overview
    from .batch.progress_bar import ClassProgress
    from .batch.settings import Settings
    from .batch.submissions import Found
    from .batch.whole_class import Runner

EPILOG = f"""\b
Exit codes:
  {GRADED}  every submission was graded
  {USAGE}  the command line was wrong
  {COULD_NOT_JUDGE}  at least one was not judged: the page says which, and why
  {INTERRUPTED}  interrupted; the same command goes on from there
"""

jobs_option = click.option(
    "--jobs",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="one a core",
    help="How many submissions are graded at a time.",
)

cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Grade on the workers of this dask scheduler, as in tcp://10.0.0.1:8786. Needs the extra "
    "cluster: see docs/classes.md.",
)


@click.command(epilog=EPILOG)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@jobs_option
@cluster_option
@click.option(
    "--report-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("class"),
    show_default=True,
    help="Where the reports, gradebook.csv and index.html are written.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MAX_SEED),
    help="What all inputs derive from. Default: a fresh one, which is kept with the reports.",
)
@click.option("--only", multiple=True, metavar="PROBLEM", help="As for grade; repeatable.")
@click.option("--track", "tracks", multiple=True, metavar="TRACK", help="As for grade; repeatable.")
@click.option(
    "--assignment",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the suite. Default: as for grade.",
)
@click.option(
    "--isolation",
    type=click.Choice(ISOLATION_LEVELS),
    default=ISOLATION_LEVELS[0],
    show_default=True,
    help="As for grade.",
)
@worker_python_option
@click.pass_context
def batch(
    context: click.Context,
    *,
    folder: Path,
    jobs: int,
    cluster: str | None,
    report_dir: Path,
    seed: int | None,
    only: tuple[str, ...],
    tracks: tuple[str, ...],
    assignment: Path | None,
    isolation: str,
    worker_python: str,
) -> None:
    """Grade all submissions in FOLDER: folders, archives, or what a course platform exports.

    All get the same seed. One that cannot be judged stops no other. Killed and started again, it
    goes on where it was.
    """
    # Imported here because grading one has no use for it, nor for what it brings.
    from .batch.settings import Settings  # noqa: PLC0415
    from .batch.submissions import find  # noqa: PLC0415
    from .batch.whole_class import grade_class  # noqa: PLC0415

    if only and tracks:
        raise click.UsageError("Use --only or --track, not both.")
    with graded_in_words():
        folder = folder.resolve()
        asked = Settings(
            submissions=str(folder),
            assignment=str((assignment or default_assignment(folder)).resolve()),
            digest="",
            seed=secrets.randbits(32) if seed is None else seed,
            tracks=tracks,
            only=only,
            isolation=isolation,
            worker_python=worker_python,
        )
        loaded = load_assignment(Path(asked.assignment))
        settings = as_before(checked(asked, loaded), report_dir, any_seed=seed is None)
        refuse_a_submission(folder, loaded)
        refuse_wrong_files(folder, loaded)
        found = find(folder, but=report_dir)
        if not found.submissions:
            raise click.UsageError(f"There is no folder and no archive in {folder}.")
        say_what_begins(found, settings, cluster or f"{jobs} at a time")
        with watched(found) as watch:
            seen = grade_class(found, settings, report_dir, runner_for(jobs, cluster), watch)
    show(seen, found, report_dir)
    context.exit(COULD_NOT_JUDGE if seen.unjudged else GRADED)


@click.command(epilog=EPILOG)
@click.argument("report_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@jobs_option
@cluster_option
@click.option("--write", is_flag=True, help="Replace the reports without asking.")
@click.pass_context
def regrade(
    context: click.Context, *, report_dir: Path, jobs: int, cluster: str | None, write: bool
) -> None:
    """Grade the class in REPORT_DIR again, with its seed, and show who changes and why.

    Nothing of it is replaced before you say so.
    """
    from .batch import regrade as again  # noqa: PLC0415
    from .batch import settings as kept  # noqa: PLC0415
    from .batch.submissions import find  # noqa: PLC0415
    from .reports import printing  # noqa: PLC0415 (only some commands print)

    with graded_in_words():
        before = kept.saved_settings(report_dir)
        if before is None:
            raise click.UsageError(f"{report_dir} holds no class that cs336 batch has graded.")
        settings = checked(before, load_assignment(Path(before.assignment)))
        found = find(Path(before.submissions), but=report_dir)
        runner = runner_for(jobs, cluster)
        say_what_begins(found, settings, cluster or f"{jobs} at a time")
        with watched(found) as watch:
            seen, changes = again.grade_again(found, settings, report_dir, runner, watch)
        printing.show_text(
            lambda width, ascii_only: again.render(changes, len(seen.done), width, ascii_only)
        )
        if not (write or (sys.stdin.isatty() and click.confirm("\nReplace the reports?"))):
            replace_them = to_type("cs336", "regrade", report_dir, "--write")
            click.echo(f"\nNothing was replaced. To replace the reports: {replace_them}")
        else:
            seen = again.replace_reports(seen, settings, found, report_dir)
            show(seen, found, report_dir)
    context.exit(COULD_NOT_JUDGE if seen.unjudged else GRADED)


def refuse_a_submission(folder: Path, assignment: Assignment) -> None:
    """Take no submission for a class of its folders.

    Raises:
        UsageError: the folder is one, by the place of its adapters.
    """
    found = own_adapters(folder, assignment.adapter_names, assignment.rubric.package)
    if found is not None:
        raise click.UsageError(
            f"{folder} is one submission: its adapters are {found}. Name the folder that holds "
            f"all: {folder.parent}. To grade this one alone: {to_type('cs336', 'grade', folder)}"
        )


def refuse_wrong_files(folder: Path, assignment: Assignment) -> None:
    """Read class.toml and the files that it names, before anything is graded.

    Raises:
        UsageError: something in them is wrong.
    """
    from .batch.class_grades import course_of  # noqa: PLC0415
    from .grades.tables import GradesError  # noqa: PLC0415

    try:
        course_of(folder, assignment.rubric)
    except GradesError as error:
        raise click.UsageError(f"{error}\nNothing was graded.") from error


def say_what_begins(found: "Found", settings: "Settings", how: str) -> None:
    """Say what is graded, and with which seed."""
    count = len(found.submissions)
    click.echo(
        f"Grading {count} submission{'' if count == 1 else 's'} of {settings.submissions} "
        f"with seed {settings.seed}, {how}.",
        err=True,
    )


def as_before(asked: "Settings", out: Path, *, any_seed: bool) -> "Settings":
    """The settings of the class in a folder, if they are those that are asked for.

    Args:
        asked: what is asked for.
        out: the folder; where it holds no class, all that is asked for can be had.
        any_seed: whether no seed was asked for.
    """
    from .batch import settings as kept  # noqa: PLC0415

    before = kept.saved_settings(out)
    if before is None:
        return asked
    if any_seed:
        asked = replace(asked, seed=before.seed)
    if before != asked:
        told = [f"{out} holds a class that was graded differently:"]
        told += [f"  {line}" for line in kept.differences(before, asked)]
        told += ["To grade beside it, name another --report-dir."]
        if (before.digest, before.points) != (asked.digest, asked.points):
            again = to_type("cs336", "regrade", out)
            told += [f"To see whose grade changes, with the settings of then: {again}"]
        else:
            told += ["To go on with it, leave the settings as they were."]
        raise click.UsageError("\n".join(told))
    return before


def runner_for(jobs: int, cluster: str | None) -> "Runner":
    """What grades: this machine, or a cluster."""
    if cluster is None:
        from .batch.whole_class import Local  # noqa: PLC0415

        return Local(jobs)
    try:
        from .batch.cluster import Cluster  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise click.UsageError("--cluster needs the extra: uv sync --extra cluster") from error
    return Cluster(cluster)


def checked(asked: "Settings", assignment: Assignment) -> "Settings":
    """The settings with the digest of what grades.

    Raises:
        UnknownNameError: it lacks a problem or a track that was asked for.
    """
    from .batch.settings import with_digest  # noqa: PLC0415

    named_problems(assignment.rubric, asked.only)
    attempted_problems(assignment.rubric, asked.tracks, assignment.adapter_names)
    return with_digest(asked, assignment)


def watched(found: "Found") -> "ClassProgress":
    """What shows how far the class has come."""
    from rich.console import Console  # noqa: PLC0415 (only some commands print)

    from .batch.progress_bar import ClassProgress  # noqa: PLC0415

    return ClassProgress(Console(stderr=True), len(found.submissions))


def show(seen: "Overview", found: "Found", out: Path) -> None:
    """Print what a class looks like from above."""
    from .batch import terminal  # noqa: PLC0415
    from .batch.records import GRADEBOOK, PAGE  # noqa: PLC0415
    from .reports import printing  # noqa: PLC0415 (only some commands print)

    names = (str(out / GRADEBOOK), str(out / PAGE))
    printing.show_text(
        lambda width, ascii_only: terminal.render(seen, found, width, ascii_only, names)
    )


@contextlib.contextmanager
def graded_in_words() -> Iterator[None]:
    """Turn every way in which a class is not graded into a sentence and an exit code."""
    from .batch.slots import CouldNotGradeError  # noqa: PLC0415
    from .grades.tables import GradesError  # noqa: PLC0415

    # Being told to end is an interruption like any other.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ended_in_words(
        "The class could not be graded: ",
        (CouldNotGradeError, CouldNotJudgeError, OSError),
        "Interrupted. The same command goes on from there.",
    ):
        try:
            yield
        except RubricError as error:
            raise UnjudgedError(f"The assignment cannot be used.\n{error}") from error
        except GradesError as error:
            raise click.UsageError(f"The reports are written, and no grades:\n{error}") from error
