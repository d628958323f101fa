"""Checks of rotary position embeddings."""

from typing import Any

import pytest
import torch
from torch import Tensor

from cs336_checks.draws import Draws
from cs336_checks.properties import assert_differs, assert_leaves_arguments, gradient
from cs336_checks.snapshots import Snapshot

# Unordered, repeated, with the first and the last of 16 positions.
POSITIONS = [7, 3, 3, 0, 15]
# Angles of a few radians, computed in float32 in another order, differ by 1e-5 or so.
TOLERANCE = 5e-4


def pair_lengths(x: Tensor) -> Tensor:
    """The length of each pair of neighbouring features."""
    pairs = x.detach().reshape(*x.shape[:-1], -1, 2)
    return pairs.square().sum(-1).sqrt()


@pytest.mark.parametrize("theta", [100.0, 500000.0])
@pytest.mark.parametrize("d_k", [6, 8])
def test_rope(adapters: Any, snapshot: Snapshot, draw: Draws, d_k: int, theta: float) -> None:
    """Rotates each adjacent pair of features by the angle of its position."""
    x = draw.normal(3, 16, d_k, scale=1.5)
    y = adapters.run_rope(d_k, theta, 16, x, torch.arange(16))
    snapshot.assert_match(y, atol=TOLERANCE)


def test_rope_worked_example(adapters: Any, snapshot: Snapshot) -> None:
    """Turns the first pair by one radian a position, the next by Θ^(-2/d) radians, and so on."""
    x = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]])
    # cos 0, sin 0; cos 1, sin 1, cos 0.1, sin 0.1; -sin 2, cos 2, -sin 0.2, cos 0.2.
    expected = [
        [1.0, 0.0, 1.0, 0.0],
        [0.540302, 0.841471, 0.995004, 0.099833],
        [-0.909297, -0.416147, -0.198669, 0.980067],
    ]
    y = adapters.run_rope(4, 100.0, 16, x, torch.arange(3))
    snapshot.assert_close(y, torch.tensor([expected]), atol=TOLERANCE)


def test_rope_lengths(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps the length of each adjacent pair, and everything at position 0."""
    x = draw.normal(3, 5, 8)
    y = adapters.run_rope(8, 100.0, 16, x, torch.arange(5))
    assert y.shape == x.shape, f"Shape {tuple(x.shape)} is expected; yours is {tuple(y.shape)}."
    snapshot.assert_close(pair_lengths(y), pair_lengths(x), "length of each pair", atol=TOLERANCE)
    snapshot.assert_close(y[:, 0], x[:, 0], "the vectors at position 0", atol=TOLERANCE)
    assert_differs(y[:, 3], x[:, 3], "The vectors at position 3 did not turn.")


def test_rope_positions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Turns a vector by the position it is given, wherever in the sequence it stands."""
    x, positions = draw.normal(3, 16, 8), torch.tensor(POSITIONS)
    in_order = adapters.run_rope(8, 100.0, 16, x, torch.arange(16))
    y = adapters.run_rope(8, 100.0, 16, x[:, positions], positions)
    snapshot.assert_close(y, in_order[:, positions], "against positions in order", atol=TOLERANCE)
    later = adapters.run_rope(8, 100.0, 16, x[:, positions], torch.arange(5, 10))
    assert_differs(later[:, 1:3], y[:, 1:3], "Your output stays the same at other positions.")


def test_rope_distance(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Makes the score of a query and a key depend on the distance of their positions alone."""
    query, key = (
        adapters.run_rope(8, 100.0, 16, draw.normal(3, 1, 8).repeat(1, 16, 1), torch.arange(16))
        for _ in range(2)
    )
    # Query i and key j.
    scores = query @ key.mT
    before = scores[:, :10, :10]
    later = scores[:, 6:, 6:]
    snapshot.assert_close(later, before, "scores six positions later", atol=2e-3)
    moved = scores[:, 6:, :10]
    assert_differs(moved, before, "The score stayed the same when only the query moved.")


def test_rope_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes an input with any number of dimensions before the last two."""
    positions = torch.tensor(POSITIONS)
    x = draw.normal(1, 5, 8)
    expected = adapters.run_rope(8, 100.0, 16, x, positions)[0]
    for leading in [(), (3, 2), (2, 3, 4)]:
        y = adapters.run_rope(8, 100.0, 16, x[0].expand(*leading, 5, 8), positions)
        name = f"input of shape {(*leading, 5, 8)}"
        snapshot.assert_close(y, expected.expand(*leading, 5, 8), name, atol=TOLERANCE)
    snapshot.assert_match(expected, atol=TOLERANCE)


def test_rope_positions_by_row(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes positions that differ from row to row."""
    x = draw.normal(3, 5, 8)
    positions = draw.integers(3, 5, high=16)
    expected = torch.cat(
        [adapters.run_rope(8, 100.0, 16, x[i : i + 1], positions[i]) for i in range(3)]
    )
    y = adapters.run_rope(8, 100.0, 16, x, positions)
    snapshot.assert_close(y, expected, "three rows at once, against each alone", atol=TOLERANCE)
    snapshot.assert_match(y, atol=TOLERANCE)


def test_rope_two_configurations(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Builds its angles for the theta, size and length it is given, however often it is called."""
    for theta, d_k, length in [(100.0, 8, 16), (100.0, 6, 16), (500000.0, 8, 16), (100.0, 8, 40)]:
        x, positions = draw.normal(3, 5, d_k), draw.integers(5, high=length)
        positions[-1] = length - 1
        y = adapters.run_rope(d_k, theta, length, x, positions)
        name = f"theta={theta:g}, d_k={d_k}, max_seq_len={length}"
        snapshot.assert_match(y, name, atol=2e-3, rtol=1e-3)


def test_rope_far_positions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Turns by the right angle at positions of several thousand."""
    x, positions = draw.normal(3, 5, 8), torch.tensor([2049, 2051, 3001, 4093, 4095])
    y = adapters.run_rope(8, 10000.0, 4096, x, positions)
    # An angle of 4,095 radians in float32 is right to 3e-4, and the frequencies to 1e-6 each.
    snapshot.assert_match(y, atol=0.03, rtol=0.0)


def test_rope_half_precision_far_positions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Computes its angles in float32 for half-precision inputs too."""
    x, positions = draw.normal(3, 5, 8), torch.tensor([2049, 2051, 3001, 4093, 4095])
    x = x.to(torch.float16)
    exact = adapters.run_rope(8, 10000.0, 4096, x.float(), positions)
    y = adapters.run_rope(8, 10000.0, 4096, x, positions)
    snapshot.assert_close(y, exact, atol=0.03, rtol=0.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
def test_rope_half_precision(adapters: Any, draw: Draws, dtype: torch.dtype) -> None:
    """Returns the input's dtype."""
    y = adapters.run_rope(8, 100.0, 16, draw.normal(3, 5, 8).to(dtype), torch.tensor(POSITIONS))
    assert y.dtype == dtype, f"The input is {dtype}, your output is {y.dtype}."


def test_rope_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Turns gradients back: rotating the input's gradient gives the output's."""
    x, upstream, positions = draw.normal(3, 5, 8), draw.normal(3, 5, 8), torch.tensor(POSITIONS)

    def rope(x: Tensor) -> Tensor:
        turned: Tensor = adapters.run_rope(8, 100.0, 16, x, positions)
        return turned

    snapshot.assert_close(rope(gradient(rope, x, upstream)), upstream, atol=TOLERANCE)
    found = gradient(rope, x, upstream)
    assert_differs(found, upstream, "The gradient was not turned.")


def test_rope_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    assert_leaves_arguments(
        snapshot,
        lambda x, positions: adapters.as_given.run_rope(8, 100.0, 16, x, positions),
        draw.normal(3, 5, 8),
        torch.tensor(POSITIONS),
    )
