"""Prints the report to whatever standard output is: a terminal, a file, a pipe that is closed."""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.text import Text

from cs336_grader.records import Report

from .terminal import Surroundings, render

# Without a terminal, lines are as long as this.
PLAIN_WIDTH = 100


class Output(Console):
    """A console that does not choose the exit code where nobody reads on."""

    def on_broken_pipe(self) -> None:
        """Pass on the exception that is being handled."""
        raise  # noqa: PLE0704 (rich calls this while it handles the exception)


def show(report: Report, *, repeat: str, saved: tuple[str, ...], look_closer: str) -> None:
    """Print the report.

    Args:
        report: what to print.
        repeat: as in ``Surroundings``.
        saved: as in ``Surroundings``.
        look_closer: as in ``Surroundings``.

    Raises:
        OSError: it cannot be printed.
    """
    show_text(
        lambda width, ascii_only: render(
            report, Surroundings(width, ascii_only, repeat, saved, look_closer)
        )
    )


def show_text(render_for: Callable[[int, bool], Text]) -> None:
    """Print what is rendered for so many columns, with or without other characters than ASCII.

    Raises:
        OSError: it cannot be printed.
    """
    console = Output(soft_wrap=True, highlight=False)
    encoding = console.encoding or "ascii"
    width = console.width if console.is_terminal else PLAIN_WIDTH
    text = render_for(width, not encoding.lower().startswith("utf"))
    with commands_stopped(lambda line: console.print(Text(line))):
        console.print(encodable(text, encoding))


@contextlib.contextmanager
def commands_stopped(say: Callable[[str], None]) -> Iterator[None]:
    """Where GitHub Actions reads along, let nothing that is printed be a command to it."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    resume = secrets.token_hex(16)
    say(f"::stop-commands::{resume}")
    yield
    say(f"::{resume}::")


def encodable(text: Text, encoding: str) -> Text:
    """The text with a question mark for each character that the terminal cannot show."""
    text.plain = text.plain.encode(encoding, "replace").decode(encoding)
    return text


def discard_output() -> None:
    """Print no more: what is left would fail again, with an exit code of Python's own."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
