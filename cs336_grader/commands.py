"""What the commands share: how they end, which assignment they are about, what to type next."""

import contextlib
import difflib
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from cs336_checks.rubric import RUBRIC

from .judging.choice import UnknownNameError

MAX_SEED = 2**63 - 1
ISOLATION_LEVELS = ("auto", "strict", "none")
GRADED, BELOW_THE_BAR, USAGE, COULD_NOT_JUDGE, INTERRUPTED = 0, 1, 2, 3, 130

worker_python_option = click.option(
    "--worker-python",
    metavar="PATH",
    type=click.Path(exists=True, dir_okay=False),
    callback=lambda _context, _option, path: str(Path(path).absolute()) if path else "",
    help="The Python that runs the submission, with the packages that it needs. Default: this one.",
)


class UnjudgedError(click.ClickException):
    """Ends the program with "could not judge"."""

    exit_code = COULD_NOT_JUDGE


@contextlib.contextmanager
def ended_in_words(
    failed: str, expected: tuple[type[Exception], ...], interrupted: str = "Interrupted."
) -> Iterator[None]:
    """Turn every way in which a command ends early into a sentence and an exit code.

    Args:
        failed: what is said before an error that was to be expected.
        expected: these errors.
        interrupted: what is said of an interruption.
    """
    try:
        yield
    except click.ClickException:
        raise
    except UnknownNameError as error:
        raise unknown_name(error.kind, error.name, error.known) from error
    except expected as error:
        raise UnjudgedError(f"{failed}{error}") from error
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"\n{interrupted}", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        # Python's own exit code would say that something does not hold.
        raise UnjudgedError(f"A fault of this program: {type(error).__name__}: {error}") from error


def unknown_name(kind: str, name: str, known: Sequence[str]) -> click.UsageError:
    """Says that there is no such problem or track, and which one was probably meant."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(known) or 'none'}."
    return click.UsageError(f"There is no {kind} {name!r}. {hint}")


def to_type(*words: object) -> str:
    """A command of this environment, for a person to type."""
    return shlex.join([*called_by(), *map(str, words)])


def called_by() -> tuple[str, ...]:
    """What stands before a command of this environment: "uv run", where that began this one."""
    if "UV_RUN_RECURSION_DEPTH" not in os.environ:
        return ()
    if shutil.which("uv"):
        return "uv", "run"
    # The Makefile's own copy is not on the path.
    own = Path(os.environ["UV"])
    return str(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own), "run"


def default_assignment(submission: Path) -> Path:
    """The assignment to grade with where none is named.

    A submission may hold a copy of the suite, and must not be judged by it: its own folder and
    those within it are passed over, unless they are where this program lies.
    """
    here = Path.cwd()
    beside = Path(__file__).resolve().parent.parent
    for folder in (here, *here.parents):
        if (folder / RUBRIC).is_file() and not folder.is_relative_to(submission):
            return folder
    if (beside / RUBRIC).is_file():
        return beside
    raise click.UsageError(
        f"No folder above this one holds {RUBRIC.as_posix()}. Name the assignment: --assignment DIR"
    )
