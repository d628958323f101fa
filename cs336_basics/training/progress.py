"""The display of a run: a progress bar, and a line and a sample for each evaluation."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from cs336_basics.training.runs import Record

# The time of a run is estimated after this many of its steps.
TIMED_STEPS = 5


def plain_console(*, quiet: bool = False) -> Console:
    """Return a console that prints paths unchanged: without markup and without line breaks."""
    return Console(quiet=quiet, markup=False, emoji=False, highlight=False, soft_wrap=True)


class Watcher:
    """Shows a progress bar, and prints a line and a sample for each evaluation.

    Args:
        progress: the bar.
        total: steps of the whole run.
        done: steps that were there already.
        wandb: a run of Weights & Biases that gets the same records, or None.
    """

    def __init__(self, progress: Progress, total: int, done: int, wandb: Any) -> None:
        self.progress = progress
        self.wandb = wandb
        self.total = total
        self.times: list[float] = []
        self.task = progress.add_task("", total=total, completed=done, numbers="")

    def step(self, record: Record) -> None:
        """Move the bar, and print once how long the run will take."""
        self.times.append(record["seconds"])
        if len(self.times) == TIMED_STEPS:
            seconds = median(later - earlier for earlier, later in pairwise(self.times))
            left = self.total - record["step"]
            minutes = seconds * left / 60
            self.progress.console.print(
                f"About {minutes:,.1f} minutes for the {left:,} steps left, without evaluations"
            )
        numbers = (
            f"loss {record['loss']:.3f}  {record['tokens_per_second']:,.0f} tokens/s  "
            f"rate {record['learning_rate']:.2e}  gradient {record['gradient_norm']:.2f}"
        )
        self.progress.update(self.task, completed=record["step"], numbers=numbers)
        self.log(record)

    def evaluation(self, record: Record) -> None:
        """Print the loss on unseen text and what the model writes."""
        bits, floor = record["bits_per_byte"], record["floor"]
        line = (
            f"step {record['step']}: validation loss {record['valid_loss']:.3f} "
            f"(perplexity {record['perplexity']:.2f}"
            + ("" if bits is None else f", {bits:.3f} bits per byte")
            + ("" if floor is None else f", floor {floor:.3f}")
            + f"), {record['seconds']:.0f} s"
        )
        self.progress.console.print(Text(line, style="bold"))
        self.progress.console.print(Text(record["sample"], style="dim"))
        self.log(record)

    def log(self, record: Record) -> None:
        """Pass a record on."""
        if self.wandb is not None:
            self.wandb.log(record, step=record["step"])


@contextmanager
def watching(console: Console, total: int, done: int, wandb: Any = None) -> Iterator[Watcher]:
    """A bar with loss, tokens a second, learning rate, gradient norm and the time left."""
    columns = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[numbers]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield Watcher(progress, total, done, wandb)
