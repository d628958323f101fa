"""Optimizers that do not learn, batches that are not drawn, checkpoints that hold nothing."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .catalogue import degenerate

Change = Callable[[nn.Parameter], object]


def optimizer(change: Change) -> type[torch.optim.Optimizer]:
    """An optimizer class whose step changes each parameter like this, whatever its gradient."""

    class Degenerate(torch.optim.Optimizer):
        """Takes what AdamW takes."""

        def __init__(self, params: Any, lr: float = 1e-3, **options: Any) -> None:
            super().__init__(params, {"lr": lr, **options})

        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:
            """Change each parameter."""
            for group in self.param_groups:
                for parameter in group["params"]:
                    change(parameter)
            return None if closure is None else closure()

    return Degenerate


@degenerate("adamw", "get_adamw_cls")
def steps_nowhere() -> type[torch.optim.Optimizer]:
    """Changes no parameter."""
    return optimizer(nn.Parameter.numel)


@degenerate("adamw", "get_adamw_cls")
def walks_at_random() -> type[torch.optim.Optimizer]:
    """Moves each parameter by a random number."""
    return optimizer(lambda parameter: parameter.add_(torch.randn_like(parameter), alpha=1e-3))


@degenerate("adamw", "get_adamw_cls")
def zeroes_parameters() -> type[torch.optim.Optimizer]:
    """Sets each parameter to 0."""
    return optimizer(lambda parameter: parameter.zero_())


@degenerate("gradient_clipping", "run_gradient_clipping")
def zeroes_gradients(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Sets each gradient to 0."""
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)


@degenerate("learning_rate_schedule", "run_get_lr_cosine_schedule")
def always_the_minimum(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Gives the lowest learning rate at every step."""
    return min_learning_rate


def windows(
    dataset: npt.NDArray[np.integer], starts: Iterable[int], length: int, device: str
) -> tuple[Tensor, Tensor]:
    """Inputs and targets from these places."""
    tokens = torch.tensor(np.stack([dataset[i : i + length + 1] for i in starts]).astype(np.int64))
    return tokens[:, :-1].to(device), tokens[:, 1:].to(device)


@degenerate("data_loading", "run_get_batch")
def first_window(
    dataset: npt.NDArray[np.integer], batch_size: int, context_length: int, device: str
) -> tuple[Tensor, Tensor]:
    """Gives the beginning of the data set in every row."""
    return windows(dataset, [0] * batch_size, context_length, device)


@degenerate("data_loading", "run_get_batch")
def first_windows(
    dataset: npt.NDArray[np.integer], batch_size: int, context_length: int, device: str
) -> tuple[Tensor, Tensor]:
    """Gives the places 0, 1, 2 and so on in every batch."""
    places = len(dataset) - context_length
    return windows(dataset, (i % places for i in range(batch_size)), context_length, device)


LAST_ITERATION = [0]


def load_nothing(*_: Any, **__: Any) -> int:
    """The iteration that was saved last in this process."""
    return LAST_ITERATION[0]


@degenerate("checkpointing", "run_save_checkpoint", run_load_checkpoint=load_nothing)
def saves_nothing(model: Any, optimizer: Any, iteration: int, out: Any) -> None:
    """Writes nothing and remembers the iteration."""
    LAST_ITERATION[0] = iteration


def get_no_gpt(*_: Any) -> nn.Module:
    """A model without parameters."""
    return nn.Identity()


@degenerate("parameter_count", "run_count_parameters", get_gpt=get_no_gpt)
def counts_nothing(model: nn.Module) -> int:
    """Builds a model without parameters, and counts none in any."""
    return 0
