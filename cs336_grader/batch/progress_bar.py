"""Shows somebody who looks on how far a class has come, and how long it will take."""

from types import TracebackType

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cs336_grader.reports import summary

from .records import Graded, Status

# What is left is guessed from the last so many seconds: a class takes long.
SPEED_SECONDS = 600


class ClassProgress:
    """Shows each submission that is done: as a bar on a terminal, else as a line each."""

    def __init__(self, console: Console, total: int) -> None:
        self.total = total
        self.count = 0
        self.bar = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            speed_estimate_period=SPEED_SECONDS,
        )
        self.task = self.bar.add_task("getting ready", total=total)

    def __enter__(self) -> "ClassProgress":
        """Begin to show."""
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Show no more."""
        self.bar.stop()

    def begin(self, done: int) -> None:
        """Say how many are done already, if any."""
        self.count = done
        self.bar.update(self.task, completed=done)
        if done:
            told = f"{done} of {self.total} are done already."
            self.bar.console.print(told, highlight=False)

    def finished(self, one: Graded) -> None:
        """Show one that is done."""
        self.count += 1
        told = f"{one.record.name}: {result(one)}"
        self.bar.update(self.task, advance=1, description=told)
        if self.bar.disable:
            click.echo(f"[{self.count}/{self.total}] {told}", err=True)


def result(one: Graded) -> str:
    """What became of a submission, in short."""
    if one.record.status is Status.GRADED:
        nothing = ", but nothing of it ran" if one.record.ran_nothing else ""
        return f"{summary.percent(one.report):.1f} %{nothing}"
    return f"{one.record.status.value}: {one.record.reason}"
