"""The options of a training run: one dataclass, filled from a file and from the command line."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from cs336_basics.allowed import require_choice, require_utf8, require_whole
from cs336_basics.families import present_name
from cs336_basics.files import read_json
from cs336_basics.training.model_config import ModelConfig
from cs336_basics.training.optimizer_config import OptimizerConfig

PROGRAM = "python -m cs336_basics.train"


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train a language model on token files."""

    data: Path = Path("data/stories")
    """Folder that uv run python -m cs336_basics.encode wrote."""
    out: Path = Path("runs/stories")
    """Folder for checkpoints, metrics and curves."""
    model: ModelConfig = field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    steps: int = 1000
    batch_size: int = 16
    """Sequences in a step, those of all processes together."""
    accumulation: int = 1
    """Parts in which each process goes through its share, to need less memory."""
    eval_every: int = 100
    """Steps between evaluations."""
    eval_sequences: int = 64
    """Most sequences of validation text in an evaluation."""
    checkpoint_every: int = 100
    """Steps between checkpoints."""
    keep: int = 3
    """Numbered checkpoints to keep; the best one is kept besides."""
    prompt: str = ""
    """The beginning of the sample at each evaluation; by default a new text."""
    sample_tokens: int = 160
    within_documents: bool = False
    """Draw sequences that cross no end of text; documents shorter than one are left out."""
    seed: int = 0
    threads: int | None = None
    """Of the CPU; by default as many as there are cores."""
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Of matrix products; weights stay in float32."""
    fused: bool = False
    """Use PyTorch's fused functions instead of those that the course writes out."""
    compile: bool = False
    """Let torch.compile make it faster, where it can."""
    resume: bool = False
    """Go on from the last checkpoint in out, if there is one."""
    accept_changes: bool = False
    """Resume although options or text are others than the run's: the result is another one, too."""
    wandb: str | None = None
    """Project of Weights & Biases to report to."""

    def __post_init__(self) -> None:
        """Refuse values that make no sense, before anything is computed.

        Raises:
            ValueError: names the value and what it may be.
        """
        at_least_one = ("steps", "batch_size", "accumulation", "eval_every", "eval_sequences")
        for name in (*at_least_one, "checkpoint_every", "keep"):
            require_whole(name, getattr(self, name), 1)
        require_whole("sample_tokens", self.sample_tokens, 0)
        require_whole("seed", self.seed, 0)
        if self.threads is not None:
            require_whole("threads", self.threads, 1, 1024)
        require_choice("device", self.device, ("cpu", "cuda", "mps"))
        require_choice("dtype", self.dtype, ("float32", "bfloat16"))
        for name in ("prompt", "data", "out"):
            require_utf8(name, str(getattr(self, name)))
        if self.wandb == "":
            raise ValueError("wandb = '' must be the name of a project")
        if self.batch_size % self.accumulation:
            raise ValueError(
                f"batch_size = {self.batch_size} cannot be divided into accumulation = "
                f"{self.accumulation} parts"
            )
        decay = self.optimizer.decay_of(self.steps) if self.optimizer.schedule == "wsd" else 0
        if self.optimizer.warmup_steps + decay > self.steps:
            raise ValueError(
                f"optimizer.warmup_steps = {self.optimizer.warmup_steps}"
                + (f" and optimizer.decay_steps = {decay}" if decay else "")
                + f" must not be more than steps = {self.steps}, or the learning rate never "
                "reaches its maximum"
            )
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("there is no CUDA device here; use --device cpu")
        if self.device == "mps" and not torch.backends.mps.is_available():
            raise ValueError("there is no MPS device here; use --device cpu")


def parse(arguments: Sequence[str]) -> TrainConfig:
    """Read the command line. Its options win over those of --config FILE.

    Raises:
        OSError: there is no such file.
        ValueError: the file has an unknown key, or a value makes no sense.
    """
    parser = argparse.ArgumentParser(PROGRAM, add_help=False, allow_abbrev=False)
    parser.add_argument("--config", type=Path)
    file, rest = parser.parse_known_args(arguments)
    given = (
        as_arguments(read_json(file.config), TrainConfig(), f"{file.config}: ")
        if file.config
        else []
    )
    description = "Train a language model. --config FILE reads options from a run's run.json first."
    try:
        return tyro.cli(TrainConfig, prog=PROGRAM, args=given + rest, description=description)
    except SystemExit as ended:
        if ended.code and given:
            sys.stderr.write(f"Options were also read from {file.config}: look there, too.\n")
        raise


def as_arguments(values: Mapping[str, Any], config: Any, where: str, prefix: str = "") -> list[str]:
    """Return the options of a file as a command line, so that one set of rules checks both.

    Raises:
        ValueError: a key is not a field.
    """
    known = {each.name for each in fields(config)}
    arguments = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if key not in known:
            raise ValueError(f"{where}no option is called {name!r}; there are {sorted(known)}")
        inner = getattr(config, key)
        option = "--" + name.replace("_", "-")
        if is_dataclass(inner):
            if not isinstance(value, Mapping):
                raise ValueError(f"{where}{name} must be an object")
            arguments += as_arguments(value, inner, where, f"{name}.")
        elif isinstance(value, bool) and isinstance(inner, bool):
            stem, _, last = option.rpartition(".")
            negative = f"{stem}.no-{last}" if stem else "--no-" + option.removeprefix("--")
            arguments.append(option if value else negative)
        else:
            # In one word, because a prompt may begin like an option.
            arguments.append(f"{option}={present_name(value) if key == 'family' else value}")
    return arguments


def as_json(config: TrainConfig) -> dict[str, Any]:
    """Return the configuration as --config reads it."""
    resolved: dict[str, Any] = json.loads(json.dumps(asdict(config), default=str))
    return resolved
