"""Metrics to Weights & Biases, for those who want them there."""

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from cs336_basics.training.config import TrainConfig, as_json


def logging_to_wandb(config: TrainConfig) -> AbstractContextManager[Any]:
    """A wandb run to log to while this lasts, or None where none is wanted.

    Raises:
        ValueError: one is wanted, but the package is not installed.
    """
    if config.wandb is None:
        return nullcontext()
    try:
        wandb = importlib.import_module("wandb")
    except ImportError as error:
        raise ValueError("--wandb needs the package wandb: install the extra wandb") from error
    run: AbstractContextManager[Any] = wandb.init(
        project=config.wandb, name=config.out.name, config=as_json(config)
    )
    return run
