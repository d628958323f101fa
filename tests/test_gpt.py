"""Checks of what works on each position by itself: GELU, LayerNorm, embedding, positions, GLU."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.comparison import assert_refuses, is_finite
from cs336_checks.draws import Draws
from cs336_checks.properties import assert_leaves_arguments, gradient
from cs336_checks.snapshots import Snapshot

LEADING_DIMENSIONS = [(), (2,), (1, 1), (2, 3, 4)]


def test_gelu(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Multiplies each number by the normal distribution function at it: x · Φ(x)."""
    spread = [torch.linspace(-20.0, 20.0, 40), torch.linspace(-4.0, 4.0, 80), draw.normal(40)]
    x = torch.cat(spread).view(2, 5, 16)
    expected = functional.gelu(x)
    y = adapters.run_gelu(x)
    # The approximation by tanh is off by up to 5e-4.
    snapshot.assert_close(y, expected, atol=1e-5, rtol=1e-5)


def test_gelu_extremes(adapters: Any, snapshot: Snapshot) -> None:
    """Stays finite for numbers of any size, and gives 0 for 0."""
    x = torch.tensor([-1e20, -1e4, -40.0, 0.0, 40.0, 1e4, 1e20])
    expected = functional.gelu(x)
    y = adapters.run_gelu(x)
    assert is_finite(y), "Your output has NaN or infinity."
    snapshot.assert_close(y, expected)


def test_gelu_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input, through the distribution function too."""
    x, upstream = draw.normal(3, 5, scale=2.0), draw.normal(3, 5)
    expected = gradient(functional.gelu, x, upstream)
    found = gradient(adapters.run_gelu, x, upstream)
    snapshot.assert_close(found, expected, "gradient")


def test_gelu_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its argument as it was and gives the same result when called again."""
    assert_leaves_arguments(snapshot, adapters.as_given.run_gelu, draw.normal(3, 5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
def test_gelu_half_precision(adapters: Any, draw: Draws, dtype: torch.dtype) -> None:
    """Returns the input's dtype."""
    y = adapters.run_gelu(draw.normal(3, 5).to(dtype))
    assert y.dtype == dtype, f"The input is {dtype}, your output is {y.dtype}."


def draw_norm(draw: Draws, size: int = 6) -> dict[str, Tensor]:
    """Gain and bias of LayerNorm."""
    return {"weight": draw.uniform(size, low=0.5, high=2.0), "bias": draw.normal(size)}


def torch_norm(weights: dict[str, Tensor], x: Tensor, eps: float = 1e-5) -> Tensor:
    """LayerNorm by torch itself."""
    return functional.layer_norm(x, x.shape[-1:], weights["weight"], weights["bias"], eps)


def normalized(adapters: Any, weights: dict[str, Tensor], x: Tensor, eps: float = 1e-5) -> Tensor:
    """The submission's LayerNorm."""
    y: Tensor = adapters.run_layer_norm(x.shape[-1], eps, weights, x)
    return y


def test_layer_norm(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes off each vector's mean, divides by its biased deviation, and applies gain and bias."""
    weights = draw_norm(draw)
    x = draw.normal(3, 5, 6) * draw.uniform(3, 5, 1, low=0.2, high=5.0) + draw.normal(3, 5, 1)
    snapshot.assert_close(normalized(adapters, weights, x), torch_norm(weights, x))


def test_layer_norm_epsilon(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Adds the epsilon it is given to the variance, inside the root."""
    for eps, scale in [(0.1, 0.3), (1e-5, 1e-3), (1e-8, 1e-4)]:
        weights, x = draw_norm(draw), draw.normal(3, 5, 6, scale=scale)
        # Whose mean is rounded where it is large; the root of a small epsilon would make that show.
        x[1, 2], x[2, 0] = 0.0, 3.0 * scale
        y = normalized(adapters, weights, x, eps)
        name = f"eps={eps}, inputs of size {scale}"
        snapshot.assert_close(y, torch_norm(weights, x, eps), name)


def test_layer_norm_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes an input with any number of dimensions before the last."""
    for leading in LEADING_DIMENSIONS:
        weights, x = draw_norm(draw), draw.normal(*leading, 6)
        y = normalized(adapters, weights, x)
        snapshot.assert_close(y, torch_norm(weights, x), f"input of shape {tuple(x.shape)}")


def test_layer_norm_float16_range(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Computes in float32, so that a float16 input whose square overflows comes out right."""
    weights, x = draw_norm(draw), draw.normal(3, 5, 6, scale=300.0).to(torch.float16)
    y = normalized(adapters, weights, x)
    # Two roundings to float16 are right as well: each is off by up to 5e-4 of the number.
    snapshot.assert_close(y, torch_norm(weights, x.float()), atol=0.02, rtol=0.02)


def test_layer_norm_half_precision(adapters: Any, draw: Draws) -> None:
    """Returns the input's dtype."""
    for dtype in (torch.float16, torch.bfloat16):
        y = normalized(adapters, draw_norm(draw), draw.normal(3, 5, 6).to(dtype))
        assert y.dtype == dtype, f"The input is {dtype}, your output is {y.dtype}."


def test_layer_norm_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input, through mean and variance too."""
    weights, x, upstream = draw_norm(draw), draw.normal(3, 5, 6), draw.normal(3, 5, 6)
    expected = gradient(lambda x: torch_norm(weights, x), x, upstream)
    found = gradient(lambda x: normalized(adapters, weights, x), x, upstream)
    snapshot.assert_close(found, expected, "gradient", atol=1e-3, rtol=1e-3)


def test_layer_norm_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    weights = draw_norm(draw)
    assert_leaves_arguments(
        snapshot,
        lambda *given: adapters.as_given.run_layer_norm(
            6, 1e-5, dict(zip(("weight", "bias"), given, strict=False)), given[2]
        ),
        *(weights["weight"], weights["bias"], draw.normal(3, 5, 6)),
    )


def test_layer_norm_far_from_zero(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Finds the variance of numbers that are far from zero, where their squares are too coarse."""
    weights, x = draw_norm(draw), draw.normal(3, 5, 6) + 3000.0
    y = normalized(adapters, weights, x)
    # Numbers of 3,000 and their mean are known to 1e-4 in float32.
    snapshot.assert_close(y, torch_norm(weights, x), atol=0.03, rtol=0.03)


def test_scaled_embedding(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Looks up the weight's row for each token id and multiplies it by √d_model."""
    for d_model, root in [(6, 2.449490), (9, 3.0)]:
        weight, ids = draw.normal(11, d_model), draw.integers(3, 5, high=11)
        expected = root * functional.embedding(ids, weight)
        rows = adapters.run_scaled_embedding(11, d_model, weight, ids)
        snapshot.assert_close(rows, expected, f"d_model={d_model}", atol=1e-5, rtol=1e-5)


def test_scaled_embedding_leading_dimensions(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Takes token ids in a tensor of any number of dimensions."""
    for leading in [(5,), (2, 3), (1, 1), (2, 3, 4)]:
        weight, ids = draw.normal(11, 4), draw.integers(*leading, high=11)
        expected = 2.0 * functional.embedding(ids, weight)
        rows = adapters.run_scaled_embedding(11, 4, weight, ids)
        snapshot.assert_close(rows, expected, f"ids of shape {leading}", atol=1e-5, rtol=1e-5)


def test_scaled_embedding_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves weight and ids as they were and gives the same result when called again."""
    assert_leaves_arguments(
        snapshot,
        lambda weight, ids: adapters.as_given.run_scaled_embedding(11, 4, weight, ids),
        draw.normal(11, 4),
        draw.integers(3, 5, high=11),
    )


def test_scaled_embedding_int32(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes token ids of type int32 as well."""
    weight, ids = draw.normal(11, 4), draw.integers(3, 5, high=11)
    expected = 2.0 * functional.embedding(ids, weight)
    rows = adapters.run_scaled_embedding(11, 4, weight, ids.to(torch.int32))
    snapshot.assert_close(rows, expected, atol=1e-5, rtol=1e-5)


def test_learned_positions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Adds to each vector the row of the table that belongs to its position, from 0 on."""
    for batch, length in [(3, 5), (5, 3)]:
        table, x = draw.normal(16, 8), draw.normal(batch, length, 8)
        y = adapters.run_learned_positions(16, 8, table, x)
        name = f"input of shape {tuple(x.shape)}"
        snapshot.assert_close(y, x + table[:length], name, atol=1e-5, rtol=1e-5)


def test_learned_positions_leading_dimensions(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Takes an input with any number of dimensions before the last two."""
    for leading in LEADING_DIMENSIONS:
        table, x = draw.normal(16, 8), draw.normal(*leading, 5, 8)
        y = adapters.run_learned_positions(16, 8, table, x)
        name = f"input of shape {tuple(x.shape)}"
        snapshot.assert_close(y, x + table[:5], name, atol=1e-5, rtol=1e-5)


def test_learned_positions_whole_table(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes one position as well as all that there are."""
    for length in (1, 16):
        table, x = draw.normal(16, 8), draw.normal(3, length, 8)
        y = adapters.run_learned_positions(16, 8, table, x)
        snapshot.assert_close(y, x + table[:length], f"{length} positions", atol=1e-5, rtol=1e-5)


def test_learned_positions_too_long(adapters: Any, draw: Draws) -> None:
    """Refuses a sequence longer than the table with an exception."""
    table, x = draw.normal(16, 8), draw.normal(3, 17, 8)
    assert_refuses(
        lambda length: adapters.run_learned_positions(16, 8, table, x[:, :length]),
        16,
        17,
        "A sequence of 17 vectors, where the table has 16 positions,",
    )


def test_learned_positions_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    assert_leaves_arguments(
        snapshot,
        lambda table, x: adapters.as_given.run_learned_positions(16, 8, table, x),
        draw.normal(16, 8),
        draw.normal(3, 5, 8),
    )


def torch_glu(gate: Tensor, value: Tensor, x: Tensor) -> Tensor:
    """The gated linear unit by torch itself, which takes the gate from the second half."""
    return functional.glu(functional.linear(x, torch.cat([value, gate])), -1)


def test_glu(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Multiplies W₂x by the sigmoid of W₁x, feature by feature."""
    gate, value = 2.0 * draw.weight(10, 6), draw.weight(10, 6)
    x = draw.normal(3, 5, 6)
    expected = torch_glu(gate, value, x)
    snapshot.assert_close(adapters.run_glu(gate, value, x), expected, atol=2e-5, rtol=2e-5)


def test_glu_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes an input with any number of dimensions before the last."""
    for leading in LEADING_DIMENSIONS:
        gate, value, x = draw.weight(6, 6), draw.weight(6, 6), draw.normal(*leading, 6)
        expected = torch_glu(gate, value, x)
        name = f"input of shape {tuple(x.shape)}"
        snapshot.assert_close(adapters.run_glu(gate, value, x), expected, name)


def test_glu_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input through gate and value."""
    gate, value, x = draw.weight(10, 6), draw.weight(10, 6), draw.normal(3, 5, 6)
    upstream = draw.normal(3, 5, 10)
    expected = gradient(lambda x: torch_glu(gate, value, x), x, upstream)
    found = gradient(lambda x: adapters.run_glu(gate, value, x), x, upstream)
    snapshot.assert_close(found, expected, "gradient")


def test_sinusoidal_positions(adapters: Any, snapshot: Snapshot) -> None:
    """Gives sines at even features and cosines at odd ones, slower from pair to pair."""
    table = adapters.run_sinusoidal_positions(40, 6)
    snapshot.assert_match(table, "40 positions, d_model=6")
    table = adapters.run_sinusoidal_positions(3, 4)
    # sin 0, cos 0; sin 1, cos 1, sin 0.01, cos 0.01; sin 2, cos 2, sin 0.02, cos 0.02.
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.841471, 0.540302, 0.0099998, 0.99995],
        [0.909297, -0.416147, 0.0199987, 0.9998],
    ]
    snapshot.assert_close(table, torch.tensor(expected), "3 positions, d_model=4", atol=1e-5)


def test_sinusoidal_positions_distance(adapters: Any, snapshot: Snapshot) -> None:
    """Makes the product of two rows depend on the distance of their positions alone."""
    table = adapters.run_sinusoidal_positions(30, 8)
    products = table @ table.T
    snapshot.assert_close(products[10:, 10:], products[:20, :20], "ten positions later", atol=1e-3)
    assert (products[0, 1:] < products[0, 0] - 0.1).all(), "Two positions have the same row."


def test_sinusoidal_positions_far_away(adapters: Any, snapshot: Snapshot) -> None:
    """Is right at positions of several thousand, too."""
    table = adapters.run_sinusoidal_positions(4096, 8)
    # An angle of 4,095 radians in float32 is right to 3e-4, and the frequencies to 1e-6 each.
    snapshot.assert_match(table[-7:], "the last of 4,096 positions", atol=0.03, rtol=0.0)
