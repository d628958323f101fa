"""The folder of a run: checkpoints by number and the best, metrics, what builds the model.

run.json           the configuration, as --config reads it
config.json        the model, as python -m cs336_basics.generate reads it
vocab.json, merges.txt
step-00000100.pt   checkpoints, the last few
best.pt            the one of lowest validation loss
metrics.jsonl      one JSON object for every step and every evaluation
loss.svg, loss.png
"""

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cs336_basics.checkpoint import load_checkpoint, save_checkpoint
from cs336_basics.families import present_name
from cs336_basics.files import write_text

Record = dict[str, Any]


def read_metrics(folder: Path) -> list[Record]:
    """What a run has written so far; a line that was cut off while it was written is no record.

    Raises:
        OSError: there is no such run.
        ValueError: a line before the last is no JSON object.
    """
    path = folder / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            if number < len(lines):
                raise ValueError(f"{path}, line {number}, is no JSON: {error}") from error
    return records


def require_same_model(saved: Record, wanted: Record) -> None:
    """Refuse to resume with another model, naming what differs.

    Raises:
        ValueError: something differs.
    """
    saved = {**saved, "family": present_name(saved.get("family"))}
    differences = [
        f"{key} is {saved.get(key)!r} in the run and {wanted.get(key)!r} now"
        for key in {**saved, **wanted}
        if saved.get(key) != wanted.get(key)
    ]
    if differences:
        raise ValueError("the run is of another model: " + "; ".join(differences))


class Run:
    """A run's folder while the run goes on.

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

    def checkpoints(self) -> list[Path]:
        """The numbered checkpoints, the last one last."""
        return sorted(self.folder.glob("step-*.pt"))

    def last_good(self) -> str:
        """What to say of the last checkpoint in a message."""
        saved = self.checkpoints()
        return f"the last good checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Restore the last checkpoint, forget what was measured after it, and return its step.

        Raises:
            ValueError: the checkpoint is damaged or of another model.
        """
        saved = self.checkpoints()
        if not saved:
            return 0
        try:
            step = load_checkpoint(saved[-1], model, optimizer)
        except ValueError as error:
            raise ValueError(f"{saved[-1]} cannot be resumed from: {error}") from error
        records = [record for record in read_metrics(self.folder) if record["step"] <= step]
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
        write_text(self.folder / "metrics.jsonl", "".join(lines))
        losses = [record["valid_loss"] for record in records if "valid_loss" in record]
        self.best_loss = min(losses, default=math.inf)
        self.seconds = max((record["seconds"] for record in records), default=0.0)
        return step

    def record(self, entry: Record) -> None:
        """Add a line to the metrics.

        Raises:
            OSError: it could not be written.
        """
        path = self.folder / "metrics.jsonl"
        try:
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        except OSError as error:
            raise OSError(f"{path} could not be written ({error}); {self.last_good()}") from error

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> Path:
        """Write a numbered checkpoint, and only then remove the oldest.

        Raises:
            OSError: it could not be written; those before it are as they were.
        """
        path = self.folder / f"step-{step:08d}.pt"
        self.write(path, model, optimizer, step)
        for old in self.checkpoints()[: -self.keep]:
            old.unlink()
        return path

    def save_if_best(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, step: int, loss: float
    ) -> None:
        """Write best.pt where the validation loss is the lowest so far."""
        if loss < self.best_loss:
            self.write(self.folder / "best.pt", model, optimizer, step)
            self.best_loss = loss

    def write(
        self, path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, step: int
    ) -> None:
        """Write one checkpoint whole or not at all."""
        try:
            save_checkpoint(model, optimizer, step, path)
        except (OSError, RuntimeError) as error:
            # torch raises RuntimeError where its writer of archives is refused.
            raise OSError(f"{path} could not be saved ({error}); {self.last_good()}") from error
