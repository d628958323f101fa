"""Shows somebody who looks on which check is running."""

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from .pipeline import Event, Planned, Watch
from .records import CheckResult, Progress


@contextlib.contextmanager
def progress_shown(console: Console) -> Iterator[Watch]:
    """Show on a terminal how far a run is."""
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def watch(event: Event) -> None:
            match event:
                case Planned(checks=checks):
                    bar.update(task, total=checks)
                case Progress(check=check):
                    bar.update(task, description=check)
                case CheckResult():
                    bar.advance(task)

        yield watch
