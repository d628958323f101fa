"""Small runs to test training with, which take a second each."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from cs336_basics import encode, stories
from cs336_basics.training.config import TrainConfig
from cs336_basics.training.loop import Trainer
from cs336_basics.training.model_config import ModelConfig
from cs336_basics.training.optimizer_config import OptimizerConfig
from cs336_basics.training.processes import Processes
from cs336_basics.training.runs import Record

STEPS = 12
FAMILIES = {
    "modern": ModelConfig(
        family="modern", context_length=16, d_model=16, num_layers=2, num_heads=2
    ),
    # Dropout, so that there is more to be drawn than sequences.
    "classic": ModelConfig(
        family="classic", context_length=16, d_model=16, num_layers=2, num_heads=2, dropout=0.1
    ),
}
ALONE = Processes(0, 1, torch.device("cpu"))


def prepared(folder: Path) -> Path:
    """A folder with a few stories and their token files."""
    assert stories.main(["--out", str(folder), "--train", "40", "--valid", "3"]) == 0
    texts = [str(folder / "train.txt"), str(folder / "valid.txt")]
    options = ["--out", str(folder), "--vocab-size", "300", "--workers", "1"]
    assert encode.main([*texts, *options]) == 0
    return folder


def configured(data: Path, out: Path, family: str = "modern") -> TrainConfig:
    """A run of few steps, with everything in it that a run can have."""
    return TrainConfig(
        data=data,
        out=out,
        model=FAMILIES[family],
        optimizer=OptimizerConfig(warmup_steps=2),
        steps=STEPS,
        batch_size=4,
        accumulation=2,
        eval_every=5,
        eval_sequences=8,
        checkpoint_every=2,
        sample_tokens=4,
    )


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """As on a full disk, no file grows beyond a size."""
    resource = pytest.importorskip("resource", reason="this system has no limit for files")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Killer:
    """An observer that ends the run after some step as a kill would: nothing is saved."""

    class Killed(Exception):  # noqa: N818 - it is no error
        """The run is over."""

    def __init__(self, step: float = math.inf) -> None:
        self.last = step

    def step(self, record: Record) -> None:
        """End the run."""
        if record["step"] >= self.last:
            raise self.Killed

    def evaluation(self, record: Record) -> None:
        """Let an evaluation be."""


def train(config: TrainConfig, kill_after: float = math.inf) -> Trainer:
    """Train in this process, up to the end or to a step."""
    trainer = Trainer(config, ALONE)
    assert trainer.train(Killer(kill_after), lambda: False)
    return trainer


def resumed(config: TrainConfig) -> TrainConfig:
    """The same run, to be gone on with."""
    return replace(config, resume=True)


def final_state(folder: Path) -> dict[str, Tensor]:
    """All tensors of the last checkpoint by name, those of the optimizer too."""
    last = max(folder.glob("step-*.pt"))
    checkpoint = torch.load(last, weights_only=True)
    assert checkpoint["iteration"] == STEPS
    tensors = dict(checkpoint["model"])
    for index, state in checkpoint["optimizer"]["state"].items():
        tensors |= {f"{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
    return tensors


def assert_same_bits(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    """Every tensor equal, without any tolerance."""
    assert ours.keys() == theirs.keys()
    different = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    assert not different
