"""Shows somebody who looks on how far an audit has come."""

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .records import Job, Trials

# Without a terminal, this many lines tell how far the work has come.
LINES = 10


class Watch:
    """Shows how far the work has come."""

    def __init__(self, console: Console) -> None:
        self.plain = not console.is_terminal
        self.bar = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=self.plain,
        )
        self.task = self.bar.add_task("importing the catalogues", total=None)
        self.jobs = 0
        self.done = 0

    def begun(self, jobs: list[Job]) -> None:
        """Learn what there is to do."""
        self.jobs = len(jobs)
        self.bar.update(self.task, total=self.jobs, description="")

    def finished(self, trials: Trials) -> None:
        """Count a job."""
        self.done += 1
        self.bar.update(self.task, advance=1, description=trials.job.problem)
        tenths = self.done * LINES // self.jobs
        if self.plain and tenths > (self.done - 1) * LINES // self.jobs:
            click.echo(f"{self.done} of {self.jobs} jobs done", err=True)
