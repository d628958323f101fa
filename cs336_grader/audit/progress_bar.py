"""Shows somebody who looks on how far an audit has come."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .records import Job, Trials


class AuditProgress:
    """Shows how far the work has come, on a terminal alone."""

    def __init__(self, console: Console) -> None:
        self.bar = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("importing the catalogues", total=None)

    def begun(self, jobs: list[Job]) -> None:
        """Learn what there is to do."""
        self.bar.update(self.task, total=len(jobs), description="")

    def finished(self, trials: Trials) -> None:
        """Count a job."""
        self.bar.update(self.task, advance=1, description=trials.job.problem)
