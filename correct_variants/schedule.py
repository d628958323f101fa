"""The cosine learning-rate schedule with warm-up."""

import math

import numpy as np
import torch

from .catalogue import variant


@variant("learning_rate_schedule", "run_get_lr_cosine_schedule")
def warmup_up_to_its_end(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Counts both borders to the part before them."""
    if it <= warmup_iters and warmup_iters > 0:
        return it / warmup_iters * max_learning_rate
    if it <= cosine_cycle_iters:
        progress = (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
        swing = 0.5 * (1 + math.cos(math.pi * progress))
        return min_learning_rate + swing * (max_learning_rate - min_learning_rate)
    return min_learning_rate


@variant("learning_rate_schedule", "run_get_lr_cosine_schedule")
def end_first(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Asks for the end first, and writes the cosine by means of its half angle."""
    if it >= max(cosine_cycle_iters, warmup_iters):
        return min_learning_rate
    if it < warmup_iters:
        return max_learning_rate * (it / warmup_iters)
    angle = math.pi / 2 * (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    return min_learning_rate + math.cos(angle) ** 2 * (max_learning_rate - min_learning_rate)


@variant("learning_rate_schedule", "run_get_lr_cosine_schedule")
def clamped_progress(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Clamps the progress of the cosine instead of asking for the end."""
    if it < warmup_iters:
        return max_learning_rate * it / max(1, warmup_iters)
    progress = (it - warmup_iters) / max(1, cosine_cycle_iters - warmup_iters)
    swing = (1.0 + math.cos(math.pi * min(1.0, progress))) / 2
    return swing * max_learning_rate + (1 - swing) * min_learning_rate


@variant("learning_rate_schedule", "run_get_lr_cosine_schedule")
def numpy_number(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> np.float64:
    """Returns a number of NumPy's."""
    return np.float64(
        end_first(it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters)
    )


@variant("learning_rate_schedule", "run_get_lr_cosine_schedule")
def tensor(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> torch.Tensor:
    """Returns a float32 tensor."""
    rate = clamped_progress(
        it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
    )
    return torch.tensor(rate)
