"""Shows somebody who looks on how far an audit has come."""

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .records import Job, Trials


class Watch:
    """Shows how far the work has come; without a terminal, a line for each problem that is done."""

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
        self.left: dict[str, int] = {}

    def begun(self, jobs: list[Job]) -> None:
        """Learn what there is to do."""
        for job in jobs:
            self.left[job.problem] = self.left.get(job.problem, 0) + 1
        self.bar.update(self.task, total=len(jobs), description="")

    def finished(self, trials: Trials) -> None:
        """Count a job."""
        problem = trials.job.problem
        self.left[problem] -= 1
        self.bar.update(self.task, advance=1, description=problem)
        if self.plain and not self.left[problem]:
            done = sum(not count for count in self.left.values())
            click.echo(f"[{done} of {len(self.left)}] {problem}", err=True)
