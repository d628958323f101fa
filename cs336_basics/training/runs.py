"""The folder of a run: numbered checkpoints and the best one, metrics, configuration.

run.json           the configuration, as --config reads it
config.json        the model, as uv run python -m cs336_basics.generate reads it
vocab.json, merges.txt
step-00000100.pt   checkpoints, the last few
best.pt            the one of lowest validation loss
metrics.jsonl      one JSON object for every step and every evaluation
data.json          digests of the token files
loss.svg, loss.png
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cs336_basics.checkpoint import load_checkpoint, read_checkpoint, save_checkpoint
from cs336_basics.files import naming, write_text

Record = dict[str, Any]


def read_metrics(folder: Path) -> list[Record]:
    """Return the records of a run, without a last line that was cut off.

    Raises:
        OSError: there is no such run.
        ValueError: a line before the last is no record.
    """
    path = folder / "metrics.jsonl"
    # In bytes: lines end at b"\n" alone, and the last one may end within a character.
    lines = path.read_bytes().rstrip(b"\n").split(b"\n")
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and {"step", "seconds"} <= record.keys():
            records.append(record)
        elif number < len(lines):
            raise ValueError(f"{path}, line {number}, is no record of a step: remove the line")
    return records


def is_whole(checkpoint: Path) -> bool:
    """Tell whether a file is a checkpoint that can be read."""
    try:
        read_checkpoint(checkpoint)
    except ValueError:
        return False
    return True


class Run:
    """The folder of a run that is in progress.

    Args:
        folder: where; it is made.
        keep: how many numbered checkpoints stay.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self.keep = keep
        self.best_loss = math.inf
        self.seconds = 0.0
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def metrics(self) -> Path:
        """One JSON object a line."""
        return self.folder / "metrics.jsonl"

    @property
    def best(self) -> Path:
        """The checkpoint of lowest validation loss."""
        return self.folder / "best.pt"

    def numbered(self) -> list[Path]:
        """The numbered checkpoints, the last one last."""
        paths = [path for path in self.folder.glob("step-*.pt") if path.stem[5:].isdecimal()]
        return sorted(paths, key=lambda path: int(path.stem[5:]))

    def checkpoints(self) -> list[Path]:
        """The numbered checkpoints, or the best one where there are no others."""
        return self.numbered() or ([self.best] if self.best.exists() else [])

    def last_good(self) -> str:
        """Name the last checkpoint, for a message."""
        saved = self.checkpoints()
        return f"the last good checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Restore the last checkpoint and return its step.

        Raises:
            ValueError: the checkpoint is damaged or of another model.
        """
        last = self.checkpoints()[-1]
        try:
            return load_checkpoint(last, model, optimizer)
        except ValueError as error:
            if is_whole(last):
                raise ValueError(f"{last} cannot be resumed from: {error}") from error
            raise ValueError(f"{error}; {self.whole_ones()}") from error

    def whole_ones(self) -> str:
        """Name the checkpoints that can be read, for a message that the newest cannot."""
        best = [self.best] if self.best.exists() else []
        whole = [str(path) for path in (*best, *self.numbered()) if is_whole(path)]
        if not whole:
            return "no other checkpoint of the run is whole: begin anew with another --out"
        return (
            f"these checkpoints are whole: {', '.join(whole)}; remove the numbered ones that are "
            f"not, and --resume goes on from {whole[-1]}"
        )

    def forget_after(self, step: int) -> None:
        """Remove records of later steps, and take best loss and time from those that stay."""
        records = read_metrics(self.folder) if self.metrics.exists() else []
        records = [record for record in records if record["step"] <= step]
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
        write_text(self.metrics, "".join(lines))
        losses = [record["valid_loss"] for record in records if "valid_loss" in record]
        self.best_loss = min(losses, default=math.inf)
        self.seconds = max((record["seconds"] for record in records), default=0.0)

    def record(self, entry: Record) -> None:
        """Add a line to the metrics.

        Raises:
            OSError: it could not be written.
        """
        with self.saving(self.metrics), self.metrics.open("ab") as file:
            file.write(f"{json.dumps(entry, ensure_ascii=False)}\n".encode())

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> Path:
        """Write a numbered checkpoint, and only then remove the oldest.

        Raises:
            OSError: it could not be written; those before it are as they were.
        """
        path = self.folder / f"step-{step:08d}.pt"
        with self.saving(path):
            save_checkpoint(model, optimizer, step, path)
        for old in self.numbered()[: -self.keep]:
            old.unlink()
        return path

    def save_if_best(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, step: int, loss: float
    ) -> None:
        """Write best.pt where the validation loss is the lowest so far."""
        if loss < self.best_loss:
            with self.saving(self.best):
                save_checkpoint(model, optimizer, step, self.best)
            self.best_loss = loss

    @contextmanager
    def saving(self, path: Path) -> Iterator[None]:
        """Name the file and the last good checkpoint in an error of the system.

        Raises:
            OSError: the file could not be written.
        """
        try:
            with naming(path):
                yield
        except OSError as error:
            raise OSError(f"{error}; {self.last_good()}") from error
