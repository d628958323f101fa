"""Checks of dropout and of the feed-forward network that has it."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.comparison import assert_refuses
from cs336_checks.draws import Draws
from cs336_checks.properties import (
    assert_drawn_apart,
    assert_dropped,
    assert_leaves_arguments,
    gradient,
    without_dropout,
)
from cs336_checks.snapshots import Snapshot

# By chance a share is off by more than Hoeffding's bound once in this many runs.
RUNS = 1e10


def away_from_zero(draw: Draws, *shape: int) -> Tensor:
    """Numbers between 0.5 and 2, of either sign."""
    signs = 2.0 * draw.integers(*shape, high=2) - 1.0
    return signs * draw.uniform(*shape, low=0.5, high=2.0)


@pytest.mark.parametrize("p", [0.1, 0.6])
def test_dropout(adapters: Any, snapshot: Snapshot, draw: Draws, p: float) -> None:
    """In training, zeroes each element with probability p and divides the others by 1 - p."""
    x = away_from_zero(draw, 30, 20, 40)
    assert_dropped(snapshot, adapters.run_dropout(p, x, True), x, p)


def test_dropout_evaluation(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Drops elements in training alone, and none where p is 0."""
    x = away_from_zero(draw, 3, 5, 8)
    dropped = adapters.run_dropout(0.5, x, True) == 0
    assert 0 < dropped.sum() < x.numel(), (
        "With p=0.5 in training, about half must be dropped; yours drops all or none."
    )
    for p, training in [(0.5, False), (0.0, True), (0.0, False)]:
        y = without_dropout(partial(adapters.run_dropout, p, x, training))
        name = f"p={p}, in {'training' if training else 'evaluation'}"
        snapshot.assert_close(y, x, name, atol=1e-6, rtol=1e-6)


def test_dropout_elements(adapters: Any) -> None:
    """Draws anew for each element of each row and sequence, and at each call."""
    size, p = 300, 0.5
    shape = (2, size, size)
    first, second = (
        (adapters.run_dropout(p, torch.ones(shape), True) == 0).float() for _ in range(2)
    )
    assert first.shape == shape, "The shape of the input is expected."
    # All of these bounds hold in all runs but one in 10^10.
    share = math.sqrt(math.log(2 * 4 * size * RUNS) / (2 * size))
    for dim, what in [(-1, "row"), (-2, "column")]:
        off = (first.mean(dim) - p).abs().max().item()
        assert off <= share, (
            f"One {what} of {size} elements has {off:.0%} too many or too few dropped."
        )
    pairs = [
        ("calls", first, second),
        ("sequences", first[1:], first[:-1]),
        ("rows", first[:, 1:], first[:, :-1]),
    ]
    for what, one, other in pairs:
        alike = (one == other).float().mean().item()
        assert alike < 0.6, (
            f"Two neighbouring {what} agree in {alike:.0%} of what they drop; half is expected."
        )
    counts = {int((adapters.run_dropout(p, torch.ones(100), True) == 0).sum()) for _ in range(12)}
    # By chance 12 calls drop equally many once in 10^12 runs.
    assert len(counts) > 1, (
        "Every call drops the same number of elements: draw for each element by itself."
    )


def test_dropout_repeats(
    adapters: Any, snapshot: Snapshot, draw: Draws, manual_seed: Callable[[int], object]
) -> None:
    """Draws from torch's global generator: the same seed drops the same elements."""
    x = away_from_zero(draw, 30, 40)
    dropped = []
    for seed in (5, 6, 5):
        manual_seed(seed)
        dropped.append(adapters.run_dropout(0.5, x, True))
    snapshot.assert_close(dropped[2], dropped[0], "output with the same seed", atol=1e-6, rtol=1e-6)
    assert not torch.equal(dropped[1], dropped[0]), "Another seed dropped the same elements."


def test_dropout_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes a tensor of any number of dimensions."""
    for shape in [(40,), (1, 1), (2, 3, 4, 5)]:
        x = away_from_zero(draw, *shape)
        y = adapters.run_dropout(0.25, x, True)
        assert_dropped(snapshot, y, x, 0.25, f"input of shape {shape}")


def test_dropout_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back through the elements that were kept, divided by 1 - p."""
    x, upstream = away_from_zero(draw, 30, 40).requires_grad_(), draw.normal(30, 40)
    y = adapters.run_dropout(0.4, x * 1.0, True)
    assert isinstance(y, Tensor), "A tensor is expected."
    assert y.requires_grad, "Your output is cut off from the input."
    y.backward(upstream)  # type: ignore[no-untyped-call]  # torch's stub
    kept = (y.detach() != 0).float()
    assert 0 < kept.mean() < 1, "In training, your function drops all elements or none."
    snapshot.assert_close(x.grad, upstream * kept / 0.6, "gradient")


def test_dropout_arguments(adapters: Any, draw: Draws) -> None:
    """Leaves its argument as it was."""
    x = away_from_zero(draw, 30, 40)
    before = x.clone()
    y = adapters.as_given.run_dropout(0.5, x, True)
    assert isinstance(y, Tensor), "A tensor is expected."
    assert torch.equal(x, before), "Your function changed the tensor it was given."


def test_dropout_half_precision(adapters: Any, draw: Draws) -> None:
    """Returns the input's dtype."""
    for dtype in (torch.float16, torch.bfloat16):
        y = adapters.run_dropout(0.5, draw.normal(3, 5).to(dtype), True)
        assert y.dtype == dtype, f"The input is {dtype}, your output is {y.dtype}."


def test_dropout_refuses(adapters: Any, draw: Draws) -> None:
    """Refuses a p that is no probability with an exception."""
    for p in (-0.1, 1.5):
        x = draw.normal(3, 5)
        call = partial(adapters.run_dropout, in_features=x, training=True)
        assert_refuses(call, 0.5, p, f"p = {p}")


def draw_feed_forward(draw: Draws, d_model: int = 16, d_ff: int = 64) -> dict[str, Tensor]:
    """The weights of a feed-forward network."""
    return {
        "fc1.weight": 2.0 * draw.weight(d_ff, d_model),
        "fc1.bias": draw.normal(d_ff),
        "fc2.weight": draw.weight(d_model, d_ff),
        "fc2.bias": draw.normal(d_model),
    }


def torch_feed_forward(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """The feed-forward network by torch itself."""
    hidden = functional.gelu(functional.linear(x, weights["fc1.weight"], weights["fc1.bias"]))
    return functional.linear(hidden, weights["fc2.weight"], weights["fc2.bias"])


def feed_forward(
    adapters: Any,
    weights: dict[str, Tensor],
    x: Tensor,
    *,
    dropout: float = 0.0,
    training: bool = False,
) -> Tensor:
    """The submission's feed-forward network."""
    d_ff, d_model = weights["fc1.weight"].shape
    y: Tensor = adapters.run_gpt_feed_forward(d_model, d_ff, dropout, weights, x, training)
    return y


def test_gpt_feed_forward(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Applies the first linear map, GELU and the second linear map, both maps with their biases."""
    weights, x = draw_feed_forward(draw), draw.normal(3, 5, 16)
    x[0, 0] = 0.0
    expected = torch_feed_forward(weights, x)
    snapshot.assert_close(feed_forward(adapters, weights, x), expected, atol=2e-5, rtol=2e-5)


def test_gpt_feed_forward_widths(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Has as many hidden features as it is told, not only a multiple of d_model or of 64."""
    for d_model, d_ff in [(12, 20), (8, 8)]:
        weights, x = draw_feed_forward(draw, d_model, d_ff), draw.normal(3, 5, d_model)
        expected = torch_feed_forward(weights, x)
        y = feed_forward(adapters, weights, x)
        snapshot.assert_close(y, expected, f"d_model={d_model}, d_ff={d_ff}")


def test_gpt_feed_forward_dropout(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """In training, applies dropout between GELU and the second linear map, and nowhere else."""
    weights = draw_feed_forward(draw)
    # The second map gives each of eight hidden features twice, so what is dropped after it shows.
    weights["fc2.weight"] = torch.eye(8, 64).repeat(2, 1)
    weights["fc2.bias"] = torch.zeros(16)
    # The first map passes the input on, so that none of the eight is 0 before dropout.
    weights["fc1.weight"], weights["fc1.bias"] = torch.eye(64, 16), torch.zeros(64)
    x = draw.uniform(400, 16, low=0.5, high=1.5)
    # Those without dropout: only what dropout does to them is looked at here.
    hidden = feed_forward(adapters, weights, x)
    y = feed_forward(adapters, weights, x, dropout=0.3, training=True)
    assert isinstance(y, Tensor), "A tensor is expected."
    assert y.shape == hidden.shape == (400, 16), f"Your output has shape {tuple(y.shape)}."
    found, hidden = y.detach(), hidden.detach()
    snapshot.assert_close(found[:, 8:], found[:, :8], "the second copy of each hidden feature")
    name = "hidden features after dropout"
    assert_dropped(snapshot, found[:, :8], hidden[:, :8], 0.3, name)
    assert_drawn_apart(found[:, :8] == 0, "vectors", "hidden features")


def test_gpt_feed_forward_evaluation(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Drops nothing in evaluation, nor in training without dropout."""
    weights, x = draw_feed_forward(draw), draw.normal(3, 5, 16)
    expected = feed_forward(adapters, weights, x)
    for dropout, training in [(0.5, False), (0.0, True)]:
        call = partial(feed_forward, adapters, weights, x, dropout=dropout, training=training)
        y = without_dropout(call)
        name = f"dropout={dropout}, in {'training' if training else 'evaluation'}"
        snapshot.assert_close(y, expected, name)


def test_gpt_feed_forward_leading_dimensions(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Takes an input with any number of dimensions before the last."""
    for leading in [(), (2,), (1, 1), (2, 3, 4)]:
        weights, x = draw_feed_forward(draw), draw.normal(*leading, 16)
        expected = torch_feed_forward(weights, x)
        y = feed_forward(adapters, weights, x)
        snapshot.assert_close(y, expected, f"input of shape {tuple(x.shape)}")


def test_gpt_feed_forward_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input through both maps and GELU."""
    weights, x, upstream = draw_feed_forward(draw), draw.normal(3, 5, 16), draw.normal(3, 5, 16)
    expected = gradient(lambda x: torch_feed_forward(weights, x), x, upstream)
    found = gradient(lambda x: feed_forward(adapters, weights, x), x, upstream)
    snapshot.assert_close(found, expected, "gradient", atol=1e-3, rtol=1e-3)


def test_gpt_feed_forward_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    weights = draw_feed_forward(draw)
    assert_leaves_arguments(
        snapshot,
        lambda x, *given: adapters.as_given.run_gpt_feed_forward(
            16, 64, 0.0, dict(zip(weights, given, strict=True)), x
        ),
        draw.normal(3, 5, 16),
        *weights.values(),
    )
