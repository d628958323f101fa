"""Checks of what works on each position by itself: linear, embedding, RMSNorm, feed-forward."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.comparison import is_finite
from cs336_checks.draws import Draws
from cs336_checks.memory import MEBIBYTE, Memory
from cs336_checks.properties import assert_leaves_arguments, gradient
from cs336_checks.snapshots import Snapshot

LEADING_DIMENSIONS = [(), (2,), (1, 1), (2, 3, 4)]


def test_linear(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Multiplies each vector by the transposed weight and adds no bias: y = x Wᵀ."""
    weight, x = draw.weight(4, 6), draw.normal(3, 5, 6, scale=3.0)
    x[0, 0] = 0.0
    expected = functional.linear(x, weight)
    y = adapters.run_linear(6, 4, weight, x)
    snapshot.assert_close(y, expected, atol=2e-5, rtol=2e-5)
    snapshot.assert_match(y, atol=2e-5, rtol=2e-5)


def test_linear_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes an input with any number of dimensions before the last."""
    for leading in LEADING_DIMENSIONS:
        weight, x = draw.weight(4, 6), draw.normal(*leading, 6)
        expected = functional.linear(x, weight)
        y = adapters.run_linear(6, 4, weight, x)
        snapshot.assert_close(y, expected, f"input of shape {tuple(x.shape)}")


def test_linear_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input."""
    weight, x, upstream = draw.weight(4, 6), draw.normal(3, 5, 6), draw.normal(3, 5, 4)
    expected = gradient(lambda x: functional.linear(x, weight), x, upstream)
    found = gradient(lambda x: adapters.run_linear(6, 4, weight, x), x, upstream)
    snapshot.assert_close(found, expected, "gradient")


def test_embedding(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Looks up the weight's row for each token id."""
    weight, ids = draw.normal(11, 4, scale=3.0), draw.integers(3, 5, high=11)
    weight[::2] *= 0.1
    ids[0, :2], ids[2, 3:] = 10, 0
    expected = functional.embedding(ids, weight)
    rows = adapters.run_embedding(11, 4, weight, ids)
    snapshot.assert_close(rows, expected, atol=1e-6, rtol=1e-6)
    snapshot.assert_match(rows, atol=1e-6, rtol=1e-6)


def test_embedding_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes token ids in a tensor of any number of dimensions."""
    for leading in [(5,), (2, 3), (1, 1), (2, 3, 4)]:
        weight, ids = draw.normal(11, 4), draw.integers(*leading, high=11)
        expected = functional.embedding(ids, weight)
        rows = adapters.run_embedding(11, 4, weight, ids)
        snapshot.assert_close(rows, expected, f"ids of shape {leading}", atol=1e-6, rtol=1e-6)


def test_embedding_int32(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes token ids of type int32 as well."""
    weight, ids = draw.normal(11, 4), draw.integers(3, 5, high=11)
    expected = functional.embedding(ids, weight)
    rows = adapters.run_embedding(11, 4, weight, ids.to(torch.int32))
    snapshot.assert_close(rows, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.fresh_worker
def test_embedding_memory(adapters: Any, draw: Draws, memory: Memory) -> None:
    """Needs memory for the rows it returns, not for the whole vocabulary at every position."""
    weight, ids = draw.normal(50_000, 2), draw.integers(400, high=50_000)
    with memory.watch() as growth:
        rows = adapters.run_embedding(50_000, 2, weight, ids)
    assert isinstance(rows, Tensor), "A tensor is expected."
    # One number a position and vocabulary entry is 80 MB even in float32.
    allowed = 40
    assert growth.bytes < allowed * MEBIBYTE, (
        f"Looking up 400 rows of 2 numbers took more than {allowed} MiB of memory: "
        "index the weight with the ids and build no one-hot vectors."
    )


def test_rmsnorm(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Divides each vector by its root mean square and multiplies by the gain."""
    gain = draw.uniform(6, low=0.5, high=2.0)
    x = draw.normal(3, 5, 6) * draw.uniform(3, 5, 1, low=0.2, high=5.0) + 0.5
    expected = functional.rms_norm(x, (6,), gain, 1e-5)
    y = adapters.run_rmsnorm(6, 1e-5, gain, x)
    snapshot.assert_close(y, expected)
    snapshot.assert_match(y)


def test_rmsnorm_epsilon(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Adds the epsilon it is given to the mean square, inside the root."""
    gain = draw.uniform(6, low=0.5, high=2.0)
    for eps, scale in [(0.1, 0.3), (1e-5, 1e-3), (1e-8, 1e-4)]:
        x = draw.normal(3, 5, 6, scale=scale)
        x[1, 2] = 0.0
        expected = functional.rms_norm(x, (6,), gain, eps)
        y = adapters.run_rmsnorm(6, eps, gain, x)
        snapshot.assert_close(y, expected, f"eps={eps}, inputs of size {scale}")


def test_rmsnorm_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes an input with any number of dimensions before the last."""
    for leading in LEADING_DIMENSIONS:
        gain, x = draw.uniform(6, low=0.5, high=2.0), draw.normal(*leading, 6)
        expected = functional.rms_norm(x, (6,), gain, 1e-5)
        y = adapters.run_rmsnorm(6, 1e-5, gain, x)
        snapshot.assert_close(y, expected, f"input of shape {tuple(x.shape)}")


def test_rmsnorm_float16_range(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Computes in float32, so that a float16 input whose square overflows comes out right."""
    gain = draw.uniform(6, low=0.5, high=2.0)
    x = draw.normal(3, 5, 6, scale=300.0).to(torch.float16)
    expected = functional.rms_norm(x.float(), (6,), gain, 1e-5)
    y = adapters.run_rmsnorm(6, 1e-5, gain, x)
    # Two roundings to float16 are right as well: each is off by up to 5e-4 of the number.
    snapshot.assert_close(y, expected, atol=1e-3, rtol=1e-2)


def test_rmsnorm_half_precision(adapters: Any, draw: Draws) -> None:
    """Returns the input's dtype."""
    for dtype in (torch.float16, torch.bfloat16):
        y = adapters.run_rmsnorm(6, 1e-5, torch.ones(6), draw.normal(3, 5, 6).to(dtype))
        assert y.dtype == dtype, f"The input is {dtype}, your output is {y.dtype}."


def test_rmsnorm_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input, through the root mean square too."""
    gain, x = draw.uniform(6, low=0.5, high=2.0), draw.normal(3, 5, 6)
    upstream = draw.normal(3, 5, 6)
    expected = gradient(lambda x: functional.rms_norm(x, (6,), gain, 1e-5), x, upstream)
    found = gradient(lambda x: adapters.run_rmsnorm(6, 1e-5, gain, x), x, upstream)
    snapshot.assert_close(found, expected, "gradient", atol=1e-3, rtol=1e-3)


def test_rmsnorm_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    gain, x = draw.uniform(6, low=0.5, high=2.0), draw.normal(3, 5, 6)
    assert_leaves_arguments(
        snapshot, lambda gain, x: adapters.as_given.run_rmsnorm(6, 1e-5, gain, x), gain, x
    )


def test_silu(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Multiplies each number by its sigmoid, negative numbers too: x · sigmoid(x)."""
    x = torch.cat([torch.linspace(-20.0, 20.0, 41), draw.normal(39, scale=2.0)]).view(2, 5, 8)
    expected = functional.silu(x)
    y = adapters.run_silu(x)
    snapshot.assert_close(y, expected, atol=2e-5, rtol=2e-5)
    snapshot.assert_match(y, atol=2e-5, rtol=2e-5)


def test_silu_extremes(adapters: Any, snapshot: Snapshot) -> None:
    """Stays finite for numbers of any size, and gives 0 for 0."""
    x = torch.tensor([-1e4, -200.0, -90.0, 0.0, 90.0, 200.0, 1e4])
    expected = functional.silu(x)
    y = adapters.run_silu(x)
    assert is_finite(y), "Your output has NaN or infinity: an exponential overflowed."
    snapshot.assert_close(y, expected)


def test_silu_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input, through the sigmoid too."""
    x, upstream = draw.normal(3, 5, scale=2.0), draw.normal(3, 5)
    expected = gradient(functional.silu, x, upstream)
    found = gradient(adapters.run_silu, x, upstream)
    snapshot.assert_close(found, expected, "gradient")


def test_silu_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its argument as it was and gives the same result when called again."""
    assert_leaves_arguments(snapshot, adapters.as_given.run_silu, draw.normal(3, 5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
def test_silu_half_precision(adapters: Any, draw: Draws, dtype: torch.dtype) -> None:
    """Returns the input's dtype."""
    y = adapters.run_silu(draw.normal(3, 5).to(dtype))
    assert y.dtype == dtype, f"The input is {dtype}, your output is {y.dtype}."


def test_swiglu(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gates W₃x with SiLU(W₁x) and projects the product with W₂."""
    w1, w2, w3 = draw.weight(64, 6), draw.weight(6, 64), draw.weight(64, 6)
    snapshot.assert_match(adapters.run_swiglu(6, 64, w1, w2, w3, draw.normal(3, 5, 6)))


def test_swiglu_width(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Has as many hidden features as it is told, not only a multiple of 64."""
    w1, w2, w3 = draw.weight(10, 6), draw.weight(6, 10), draw.weight(10, 6)
    snapshot.assert_match(adapters.run_swiglu(6, 10, w1, w2, w3, draw.normal(3, 5, 6)))


def moving_weights() -> tuple[Tensor, Tensor, Tensor]:
    """SwiGLU's weights of size 64 that only move features: W₁ by none, W₂ by two, W₃ by one."""
    identity = torch.eye(64)
    return identity, identity.roll(2, 0), identity.roll(1, 0)


def moving_swiglu(x: Tensor) -> Tensor:
    """What SwiGLU gives with ``moving_weights``."""
    return (functional.silu(x) * x.roll(1, -1)).roll(2, -1)


def test_swiglu_square(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives each of its three weights its own place, also where all are square."""
    x = draw.normal(3, 5, 64)
    # Where an exponential would overflow, the gate is 0 or what it is given.
    x[0, 0, :2] = torch.tensor([200.0, -200.0])
    expected = moving_swiglu(x)
    snapshot.assert_close(adapters.run_swiglu(64, 64, *moving_weights(), x), expected)


def test_swiglu_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes an input with any number of dimensions before the last."""
    for leading in LEADING_DIMENSIONS:
        x = draw.normal(*leading, 64)
        expected = moving_swiglu(x)
        y = adapters.run_swiglu(64, 64, *moving_weights(), x)
        snapshot.assert_close(y, expected, f"input of shape {tuple(x.shape)}")


def test_swiglu_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input through both branches."""
    x, upstream = draw.normal(3, 5, 64), draw.normal(3, 5, 64)
    expected = gradient(moving_swiglu, x, upstream)
    found = gradient(lambda x: adapters.run_swiglu(64, 64, *moving_weights(), x), x, upstream)
    snapshot.assert_close(found, expected, "gradient")
