"""What a training run is told: one dataclass, filled from a file and from the command line."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
import torch
import tyro

from cs336_basics.families import FAMILIES, build_model, present_name
from cs336_basics.files import read_json
from cs336_basics.model import DecoderLM, swiglu_d_ff
from cs336_basics.optimizer import get_lr_cosine_schedule, get_lr_wsd_schedule
from cs336_basics.training.command_line import (
    require_choice,
    require_number,
    require_utf8,
    require_whole,
)

PROGRAM = "python -m cs336_basics.train"


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The model, of either family."""

    family: Literal["modern", "classic"] = "modern"
    """LLaMA's or GPT's."""
    context_length: int = 256
    d_model: int = 128
    num_layers: int = 4
    num_heads: int = 4
    d_ff: int | None = None
    """By default 8/3 d_model (modern) or 4 d_model (classic)."""
    tie_weights: bool | None = None
    """The output projection is the embedding; by default only in the classic family."""
    rope_theta: float = 10_000.0
    """Only of the modern one, as is the following."""
    num_kv_heads: int | None = None
    """Heads of keys and values, which the other heads share; by default each has its own."""
    dropout: float = 0.0
    """Only of the classic one, as is the following."""
    positions: Literal["learned", "sinusoidal"] = "learned"

    def __post_init__(self) -> None:
        """Refuse sizes that make no sense, and what the family does not have.

        Raises:
            ValueError: names the option, its value and what it may be.
        """
        require_choice("model.family", self.family, FAMILIES)
        require_choice("model.positions", self.positions, ("learned", "sinusoidal"))
        for name in ("context_length", "d_model", "num_layers", "num_heads"):
            require_whole(f"model.{name}", getattr(self, name), 1)
        for name in ("d_ff", "num_kv_heads"):
            if getattr(self, name) is not None:
                require_whole(f"model.{name}", getattr(self, name), 1)
        if self.num_heads % (self.num_kv_heads or 1):
            raise ValueError(
                f"model.num_kv_heads = {self.num_kv_heads} must divide model.num_heads = "
                f"{self.num_heads}"
            )
        require_number("model.rope_theta", self.rope_theta, "greater than 0", lambda x: x > 0)
        require_number(
            "model.dropout", self.dropout, "at least 0 and less than 1", lambda x: 0 <= x < 1
        )
        unit, parts = ("pairs", 2) if self.family == "modern" else ("features", 1)
        if self.d_model % (parts * self.num_heads):
            raise ValueError(
                f"model.d_model = {self.d_model} cannot be divided among model.num_heads = "
                f"{self.num_heads}: each head needs the same number of {unit}, so d_model must be "
                f"a multiple of {parts * self.num_heads}"
            )
        others = {"modern": ("dropout", "positions"), "classic": ("rope_theta", "num_kv_heads")}
        for name in others[self.family]:
            value, default = getattr(self, name), type(self).__dataclass_fields__[name].default
            if value != default:
                raise ValueError(
                    f"model.{name} = {value!r} has no effect on the family {self.family!r}: leave "
                    f"the option out, or choose the other with --model.family"
                )

    def arguments(self, vocab_size: int) -> dict[str, Any]:
        """What builds the model, with its family: the content of config.json."""
        modern = self.family == "modern"
        chosen: dict[str, Any] = {
            "family": self.family,
            "vocab_size": vocab_size,
            "context_length": self.context_length,
            "d_model": self.d_model,
            "num_layers": self.num_layers,
            "num_heads": self.num_heads,
            "tie_weights": not modern if self.tie_weights is None else self.tie_weights,
        }
        if modern:
            chosen["d_ff"] = swiglu_d_ff(self.d_model) if self.d_ff is None else self.d_ff
            chosen["rope_theta"] = self.rope_theta
            chosen["num_kv_heads"] = self.num_kv_heads or self.num_heads
        else:
            chosen["d_ff"] = 4 * self.d_model if self.d_ff is None else self.d_ff
            chosen["dropout"] = self.dropout
            chosen["positions"] = self.positions
        return chosen

    def build(self, vocab_size: int) -> DecoderLM:
        """The model with fresh weights.

        Raises:
            ValueError: a part refuses its size.
        """
        arguments = self.arguments(vocab_size)
        self.require_memory(arguments)
        try:
            return build_model(arguments)
        except (RuntimeError, TypeError, OverflowError) as error:
            # Where memory is short or sizes overflow, torch raises any of these.
            reason = str(error).splitlines()[0]
            raise ValueError(f"a model of these sizes cannot be built: {reason}") from error

    def require_memory(self, arguments: Mapping[str, Any]) -> None:
        """Refuse a model that this machine cannot hold, before the system ends the process for it.

        Raises:
            ValueError: gives both sizes.
        """
        d_model, d_ff = arguments["d_model"], arguments["d_ff"]
        least = self.num_layers * d_model * (2 * d_model + 2 * d_ff)
        least += arguments["vocab_size"] * d_model
        # A weight, its gradient and two moments, in float32.
        needed, there = 16 * least, psutil.virtual_memory().total
        if needed > there:
            raise ValueError(
                f"a model of these sizes has at least {least:,} parameters: to train it takes "
                f"{needed / 2**30:,.0f} GiB, and this machine has {there / 2**30:,.0f} GiB"
            )


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """AdamW, its learning rate over time, and clipping."""

    learning_rate: float = 3e-3
    """The highest one, after the warm-up."""
    min_learning_rate: float = 3e-4
    """The one at the end."""
    warmup_steps: int = 50
    schedule: Literal["cosine", "wsd"] = "cosine"
    """Down from the warm-up on, or only in the last decay_steps (warm-up, stable, decay)."""
    decay_steps: int | None = None
    """Only of wsd; by default a fifth of all steps."""
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1
    """Of matrices; gains and biases do not decay."""
    max_norm: float = 1.0
    """Of all gradients as one vector; larger ones are clipped."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            ValueError: names the option, its value and what it may be.
        """
        share, positive = "greater than 0 and at most 1", lambda x: 0 < x <= 1
        require_number("optimizer.learning_rate", self.learning_rate, share, positive)
        require_number("optimizer.eps", self.eps, share, positive)
        require_number("optimizer.max_norm", self.max_norm, "greater than 0", lambda x: x > 0)
        for name in ("min_learning_rate", "weight_decay"):
            value = getattr(self, name)
            require_number(f"optimizer.{name}", value, "at least 0", lambda x: x >= 0)
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            require_number(
                f"optimizer.{name}", value, "at least 0 and less than 1", lambda x: 0 <= x < 1
            )
        require_whole("optimizer.warmup_steps", self.warmup_steps, 0)
        require_choice("optimizer.schedule", self.schedule, ("cosine", "wsd"))
        if self.decay_steps is not None:
            require_whole("optimizer.decay_steps", self.decay_steps, 0)
            if self.schedule != "wsd":
                raise ValueError(
                    f"optimizer.decay_steps = {self.decay_steps} has no effect on the schedule "
                    f"{self.schedule!r}: leave the option out, or choose --optimizer.schedule wsd"
                )
        if self.min_learning_rate > self.learning_rate:
            raise ValueError(
                f"optimizer.min_learning_rate = {self.min_learning_rate} must not be greater than "
                f"optimizer.learning_rate = {self.learning_rate}"
            )
        if self.weight_decay * self.learning_rate > 1:
            raise ValueError(
                f"optimizer.weight_decay = {self.weight_decay} must be at most 1 / learning_rate = "
                f"{1 / self.learning_rate:g}: a step with more reverses their signs"
            )

    def decay_of(self, steps: int) -> int:
        """How many of a run's steps the decay of wsd takes."""
        return -(-steps // 5) if self.decay_steps is None else self.decay_steps

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step; the first is step 1, for with a rate of 0 it is wasted."""
        bounds = (self.learning_rate, self.min_learning_rate, self.warmup_steps)
        if self.schedule == "wsd":
            start = steps - self.decay_of(steps)
            return get_lr_wsd_schedule(step, *bounds, decay_start=start, decay_end=steps)
        return get_lr_cosine_schedule(step, *bounds, steps)


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
    """What the sample at each evaluation begins with; by default a new text."""
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
        """Refuse what makes no sense before anything is computed.

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
    """Read the command line; --config FILE comes first and says what the others do not.

    Raises:
        OSError: there is no such file.
        ValueError: the file has a key that means nothing, or a value makes no sense.
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
            sys.stderr.write(f"The options in {file.config} were read, too: look there as well.\n")
        raise


def as_arguments(values: Mapping[str, Any], config: Any, where: str, prefix: str = "") -> list[str]:
    """The command line that says what a file says, so that both are checked by the same rules.

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
    """The configuration for a file that --config reads."""
    resolved: dict[str, Any] = json.loads(json.dumps(asdict(config), default=str))
    return resolved
