"""Prints the report to whatever standard output is: a terminal, a file, a pipe that is closed."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from cs336_grader.records import Report

from .output import commands_stopped
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


def encodable(text: Text, encoding: str) -> Text:
    """The text with a question mark for each character that the terminal cannot show."""
    text.plain = text.plain.encode(encoding, "replace").decode(encoding)
    return text
