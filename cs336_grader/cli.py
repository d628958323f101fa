"""The command line: ``cs336 grade`` and ``cs336 doctor``; others have modules of their own."""

import contextlib
import difflib
import os
import secrets
import signal
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path, PurePosixPath

import click

from cs336_checks.rubric import RUBRIC, RubricError

from . import (
    audit_command,
    batch_command,
    export_command,
    handout_command,
    new_command,
    package_command,
    pipeline,
)
from .commands import (
    BELOW_THE_BAR,
    COULD_NOT_JUDGE,
    GRADED,
    INTERRUPTED,
    ISOLATION_LEVELS,
    MAX_SEED,
    USAGE,
    UnjudgedError,
    default_assignment,
    to_type,
    unknown_name,
    worker_python_option,
)
from .judging.choice import UnknownNameError
from .records import CouldNotJudgeError, Report, Verdict, WrongRequestError
from .reports import measurement, output, summary
from .reports.formats import FORMATS, Destination
from .reports.plain_text import plain_line
from .request import Request

MAX_ERROR = 1_000

EPILOG = f"""\b
Exit codes:
  {GRADED}  graded
  {BELOW_THE_BAR}  graded, and below --fail-under
  {USAGE}  the command line was wrong
  {COULD_NOT_JUDGE}  could not judge: a check that counts has no verdict, or nothing could be graded
  {INTERRUPTED}  interrupted; the report holds what was known
"""


def version() -> str:
    """The installed version."""
    try:
        return metadata.version("cs336")
    except metadata.PackageNotFoundError:
        return "0 (not installed)"


class Program(click.Group):
    """All commands; each exits alike where it is interrupted, whatever it is doing."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that is asked for."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            # Click's own exit code would say that the submission is below the bar.
            click.echo("\nInterrupted.", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), prog_name="cs336")
def main() -> None:
    """Grade submissions of a programming assignment."""


@main.command(epilog=EPILOG)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--assignment",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"Folder that holds {RUBRIC.as_posix()} and the reference. Default: the nearest one above "
    "the current folder, else the one beside this program.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MAX_SEED),
    help="What all inputs derive from. Default: a fresh one, which is printed and recorded.",
)
@click.option(
    "--only", multiple=True, metavar="PROBLEM", help="Grade this problem alone; repeatable."
)
@click.option(
    "--track",
    "tracks",
    multiple=True,
    metavar="TRACK",
    help="Grade this track of the assignment; repeatable. Default: each track that the submission "
    "attempts.",
)
@click.option(
    "--revision",
    metavar="REV",
    help="PATH is a git repository, with files or bare: grade this branch, tag or commit.",
)
@click.option(
    "--adapters",
    type=PurePosixPath,
    metavar="FILE",
    help="Where in the submission the adapters are. Default: the adapters.py with most filled in.",
)
@click.option(
    "--report-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("report"),
    show_default=True,
    help=f"Where {FORMATS['json'].file_name} is written, also as checks end.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME[=PATH]",
    callback=lambda _context, _option, values: tuple(map(asked_format, values)),
    help="Write the report in this format too, to PATH or to the report folder; repeatable. There "
    f"are: {', '.join(FORMATS)}.",
)
@click.option(
    "--isolation",
    type=click.Choice(ISOLATION_LEVELS),
    default=ISOLATION_LEVELS[0],
    show_default=True,
    help="What to close to the submission: what can be closed here; that and refuse where files, "
    "network or processes stay open; or nothing, for code of your own.",
)
@worker_python_option
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help=f"Exit with {BELOW_THE_BAR} if the score is below this share of the maximum.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the total alone.")
@click.pass_context
def grade(
    context: click.Context,
    *,
    path: Path,
    assignment: Path | None,
    seed: int | None,
    only: tuple[str, ...],
    tracks: tuple[str, ...],
    revision: str | None,
    adapters: PurePosixPath | None,
    report_dir: Path,
    formats: tuple[tuple[str, Path | None], ...],
    isolation: str,
    worker_python: str,
    fail_under: float | None,
    quiet: bool,
) -> None:
    """Grade the submission at PATH: a folder, a zip, tar or tar.gz archive, or a git repository.

    Its code runs in a process of its own that never sees an expected value. The report names each
    check that failed, what it asks for and what was found.
    """
    if only and tracks:
        raise click.UsageError("Use --only or --track, not both.")
    if not path.exists():
        file = report_dir / FORMATS["json"].file_name
        raise click.UsageError(f"Path '{path}' does not exist.{earlier_report(file)}")
    request = Request(
        submission=path,
        assignment=assignment or default_assignment(path.resolve()),
        seed=secrets.randbits(32) if seed is None else seed,
        only=only,
        report_folder=report_dir,
        tracks=tracks,
        isolation=isolation,
        worker_python=worker_python,
        formats=destinations(formats, report_dir),
        revision=revision,
        adapters=adapters,
    )
    report = graded(request, quiet=quiet)
    tell(report, request, repeat_command(request, named_assignment=assignment), quiet=quiet)
    context.exit(exit_code(report, fail_under))


@main.command(
    epilog=f"Exits with {GRADED} where strict isolation is to be had, else with {COULD_NOT_JUDGE}."
)
@worker_python_option
@click.pass_context
def doctor(context: click.Context, *, worker_python: str) -> None:
    """Say what can be closed to a submission here, by what, and what is missing."""
    try:
        found = pipeline.examine(worker_python)
    except CouldNotJudgeError as reason:
        raise UnjudgedError(str(reason)) from reason
    click.echo(measurement.render(found))
    context.exit(GRADED if found.isolation.level == "strict" else COULD_NOT_JUDGE)


def graded(request: Request, *, quiet: bool) -> Report:
    """Grade, and turn every way to end early into a sentence and an exit code."""
    # Being told to end is an interruption like any other.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with watching(request, quiet=quiet) as watch:
            return pipeline.grade(request, watch)
    except UnknownNameError as error:
        told = unknown_name(error.kind, error.name, error.known).message
        raise click.UsageError(f"{told}{earlier_report(request.report_file)}") from error
    except WrongRequestError as error:
        raise click.UsageError(f"{one_line(error)}.") from error
    except RubricError as error:
        told = f"The assignment cannot be used.\n{error}{earlier_report(request.report_file)}"
        raise UnjudgedError(told) from error
    except OSError as error:
        raise UnjudgedError(f"Could not read or write a file: {one_line(error)}") from error
    except Exception as error:
        # Python's own exit code would say that the submission is below the bar.
        *_, last = traceback.extract_tb(error.__traceback__)
        where = f"{Path(last.filename).name}, line {last.lineno}"
        raise UnjudgedError(
            f"A fault of this program, not of the submission: {type(error).__name__} in {where}: "
            f"{one_line(error)}"
        ) from error
    except KeyboardInterrupt:
        saved = request.report_file
        click.echo(f"\nInterrupted. What was known by then is in {saved}.", err=True)
        sys.exit(INTERRUPTED)


def earlier_report(file: Path) -> str:
    """What is said where nothing was written, of a report that could be taken for this run's."""
    if not file.is_file():
        return ""
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return f"\nNothing was written: {file} is of an earlier run, {written:%Y-%m-%d %H:%M} UTC."


@contextlib.contextmanager
def watching(request: Request, *, quiet: bool) -> Iterator[pipeline.Watch]:
    """Show which check is running, where a person is looking on; else say that it has begun."""
    if quiet:
        yield lambda _event: None
        return
    from rich.console import Console  # noqa: PLC0415 (with --quiet, nothing has a use for it)

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda event: say_what_begins(request, event)
        return
    from .progress_bar import progress_shown  # noqa: PLC0415

    with progress_shown(console) as watch:
        yield watch


def say_what_begins(request: Request, event: pipeline.Event) -> None:
    """Say once that the submission is graded."""
    if isinstance(event, pipeline.Planned):
        click.echo(f"Grading {request.submission} with seed {request.seed}.", err=True)


def asked_format(value: str) -> tuple[str, Path | None]:
    """A format's name and, where one is given, its path.

    Raises:
        BadParameter: there is no such format, or the path is that of no file.
    """
    name, given, path = value.partition("=")
    if name not in FORMATS:
        close = difflib.get_close_matches(name, FORMATS, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(FORMATS)}."
        raise click.BadParameter(f"there is no format {name!r}. {hint}")
    if given and not path:
        raise click.BadParameter(f"no path follows {value!r}")
    if path == "-" or path.endswith(("/", os.sep)) or Path(path or "-").is_dir():
        file = f"{name}=FOLDER/{FORMATS[name].file_name}"
        raise click.BadParameter(f"{value!r} names no file. Name one, as in {file}")
    return name, Path(path) if given else None


def one_line(error: Exception) -> str:
    """What an exception says, which may be made of what a student wrote."""
    return plain_line(str(error), MAX_ERROR)


def tell(report: Report, request: Request, repeat: str, *, quiet: bool) -> None:
    """Print the report or its total, and ask about the path where it holds nothing to run."""
    try:
        if quiet:
            say_total(report)
        else:
            from .reports import printing  # noqa: PLC0415 (as above)

            printing.show(
                report,
                repeat=repeat,
                saved=tuple(str(destination.path) for destination in request.destinations),
                look_closer=look_closer_command(request),
            )
    except OSError as error:
        # A full disk, or a reader that has seen enough: what was judged is judged.
        output.discard()
        saved = request.report_file
        click.echo(f"The report could not be printed ({error.strerror}). It is {saved}.", err=True)
    if summary.ran_nothing(report):
        path = request.submission
        warning = f"nothing in {path} could be run, so it has 0 points. Is that the submission?"
        click.echo(f"Warning: {warning}", err=True)


def say_total(report: Report) -> None:
    """Print the total alone, and beside it why it is none, or why it is nothing."""
    click.echo(summary.total_line(report))
    reason = summary.common_reason(report) or summary.first_reason(report)
    if reason:
        with output.commands_stopped(lambda line: click.echo(line, err=True)):
            click.echo(reason, err=True)


def repeat_command(request: Request, *, named_assignment: Path | None) -> str:
    """The command that gives the same report again."""
    words = ["cs336", "grade", str(request.submission), "--seed", str(request.seed)]
    if named_assignment is not None:
        words += ["--assignment", str(named_assignment)]
    words += request.options
    if request.isolation != ISOLATION_LEVELS[0]:
        words += ["--isolation", request.isolation]
    if request.worker_python:
        words += ["--worker-python", request.worker_python]
    return to_type(*words)


def look_closer_command(request: Request) -> str:
    """The command that runs a check on the submission where it lies, if one does from here."""
    lies_there = request.submission.is_dir() and request.revision is None
    if not lies_there or request.assignment.resolve() != Path.cwd():
        return ""
    options = [f"--adapters-from={request.submission}", f"--seed={request.seed}"]
    return f"{to_type('pytest', *options)} CHECK"


def destinations(
    asked: tuple[tuple[str, Path | None], ...], folder: Path
) -> tuple[Destination, ...]:
    """Where each format that was asked for is written: where it says, else in the report folder.

    Raises:
        UsageError: two of them would be written to the same file.
    """
    taken = {folder / FORMATS["json"].file_name: "json"}
    chosen = [(name, path or folder / FORMATS[name].file_name) for name, path in asked]
    for name, path in chosen:
        if taken.setdefault(path, name) != name:
            raise click.UsageError(f"{taken[path]} and {name} would both be written to {path}")
    return tuple(Destination(FORMATS[name], path) for name, path in chosen)


def exit_code(report: Report, fail_under: float | None) -> int:
    """What the program says to the one that started it."""
    if any(problem.verdict is Verdict.NOT_JUDGED for problem in report.problems):
        return COULD_NOT_JUDGE
    # Rounded, because 20 % of 3 points would be a little more than 0.6.
    if fail_under is not None and report.score < round(fail_under / 100 * report.max_score, 9):
        return BELOW_THE_BAR
    return GRADED


main.add_command(audit_command.audit)
main.add_command(batch_command.batch)
main.add_command(batch_command.regrade)
main.add_command(export_command.export)
main.add_command(handout_command.handout)
main.add_command(new_command.new)
main.add_command(package_command.package)

if __name__ == "__main__":
    main()
