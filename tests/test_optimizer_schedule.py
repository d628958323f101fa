"""Checks of the learning-rate schedule."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot


def rates_of(adapters: Any, steps: Sequence[int], **settings: float) -> Tensor:
    """The learning rates at some steps."""
    rates = [adapters.run_get_lr_cosine_schedule(it=step, **settings) for step in steps]
    assert None not in rates, "The schedule returned None: is a return statement missing?"
    return torch.tensor([float(rate) for rate in rates], dtype=torch.float64)


def test_learning_rate_schedule(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Warms up linearly from 0, follows half a cosine down, then stays at the minimum."""
    warmup_iters = int(draw.integers(low=3, high=8))
    cosine_cycle_iters = warmup_iters + int(draw.integers(low=8, high=15))
    rates = rates_of(
        adapters,
        range(30),
        max_learning_rate=float(draw.uniform(low=2.0, high=3.0)),
        min_learning_rate=float(draw.uniform(low=0.5, high=1.0)),
        warmup_iters=warmup_iters,
        cosine_cycle_iters=cosine_cycle_iters,
    )
    snapshot.assert_match(rates, atol=1e-5, rtol=1e-5)


def test_learning_rate_schedule_by_hand(adapters: Any, snapshot: Snapshot) -> None:
    """Is 0, then the maximum after the warm-up, halfway down at half the cosine, then minimal."""
    steps = [0, 1, 3, 4, 6, 8, 10, 12, 13, 20, 1000]
    rates = rates_of(
        adapters,
        steps,
        max_learning_rate=8.0,
        min_learning_rate=2.0,
        warmup_iters=4,
        cosine_cycle_iters=12,
    )
    # At a quarter of the way down the cosine is the root of one half.
    by_hand = [0.0, 2.0, 6.0, 8.0, 7.121320, 5.0, 2.878680, 2.0, 2.0, 2.0, 2.0]
    expected = torch.tensor(by_hand, dtype=torch.float64)
    snapshot.assert_close(rates, expected, f"learning rates at {steps}", atol=1e-5, rtol=1e-5)


def test_learning_rate_schedule_cosine(adapters: Any, snapshot: Snapshot) -> None:
    """Follows the cosine as PyTorch's CosineAnnealingLR does, from the end of the warm-up on."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=3.0)
    annealing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=17, eta_min=1.0)
    expected = []
    for _ in range(18):
        expected.append(annealing.get_last_lr()[0])
        optimizer.step()
        annealing.step()
    rates = rates_of(
        adapters,
        range(5, 5 + 18),
        max_learning_rate=3.0,
        min_learning_rate=1.0,
        warmup_iters=5,
        cosine_cycle_iters=5 + 17,
    )
    wanted = torch.tensor(expected, dtype=torch.float64)
    snapshot.assert_close(rates, wanted, "learning rates", atol=1e-5, rtol=1e-5)


def test_learning_rate_schedule_without_warmup(adapters: Any, snapshot: Snapshot) -> None:
    """Starts at the maximum where the warm-up takes no steps."""
    rates = rates_of(
        adapters,
        [0, 4, 8, 9],
        max_learning_rate=8.0,
        min_learning_rate=2.0,
        warmup_iters=0,
        cosine_cycle_iters=8,
    )
    expected = torch.tensor([8.0, 5.0, 2.0, 2.0], dtype=torch.float64)
    snapshot.assert_close(rates, expected, "learning rates", atol=1e-5, rtol=1e-5)


def test_learning_rate_schedule_without_cosine(adapters: Any, snapshot: Snapshot) -> None:
    """Goes from the warm-up to the minimum where the cosine takes no steps."""
    rates = rates_of(
        adapters,
        [0, 2, 4, 5],
        max_learning_rate=8.0,
        min_learning_rate=2.0,
        warmup_iters=4,
        cosine_cycle_iters=4,
    )
    # Where both meet, warm-up and cosine end at once: the maximum is as right as the minimum.
    expected, alternative = torch.tensor(
        [[0.0, 4.0, 2.0, 2.0], [0.0, 4.0, 8.0, 2.0]], dtype=torch.float64
    )
    snapshot.assert_close(
        rates, expected, "learning rates", alternatives=(alternative,), atol=1e-5, rtol=1e-5
    )
