"""Checks of causal multi-head self-attention, with and without RoPE."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.draws import Draws
from cs336_checks.properties import assert_differs, assert_leaves_arguments, gradient
from cs336_checks.snapshots import Snapshot

# Batch, heads, length and head size all differ, so that no two axes can be mistaken.
D_MODEL, HEADS, LENGTH = 12, 2, 5


def draw_projections(draw: Draws) -> list[Tensor]:
    """The weights of the query, key, value and output projection."""
    query, key, value, output = (draw.weight(D_MODEL, D_MODEL) for _ in range(4))
    # Scores of size 2 make attention tell its keys apart.
    return [1.5 * query, 1.5 * key, value, output]


def torch_attention(weights: list[Tensor], x: Tensor, heads: int = HEADS) -> Tensor:
    """Causal multi-head self-attention by torch itself, of (batch, sequence, d_model)."""
    query, key, value, output = weights
    x = x.transpose(0, 1)
    hidden = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    y, _ = functional.multi_head_attention_forward(
        *(x, x, x, D_MODEL, heads, torch.cat([query, key, value]), None, None, None),
        *(False, 0.0, output, None),
        training=False,
        need_weights=False,
        attn_mask=hidden,
    )
    return y.transpose(0, 1)


def test_multihead_attention(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Splits the projections into heads, attends to the past in each and projects all of them."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    expected = torch_attention(weights, x)
    y = adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, x)
    snapshot.assert_close(y, expected)
    snapshot.assert_match(y)


def test_multihead_attention_causal(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets no position see a later one: changing the future changes nothing before it."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    before = adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, x)
    assert isinstance(before, Tensor), "A tensor is expected."
    for t in range(1, LENGTH):
        changed = x.clone()
        changed[:, t:] = draw.normal(3, LENGTH - t, D_MODEL, scale=3.0)
        y = adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, changed)
        name = f"outputs before position {t}, after a change there"
        snapshot.assert_close(y[:, :t], before[:, :t], name, atol=1e-5, rtol=1e-5)


def test_multihead_attention_first_position(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the first position see itself alone: it gets the projection of its own value."""
    weights = draw_projections(draw)
    for batch, length in [(3, LENGTH), (1, 1)]:
        x = draw.normal(batch, length, D_MODEL)
        expected = x[:, 0] @ (weights[3] @ weights[2]).T
        y = adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, x)
        name = f"first position of input {tuple(x.shape)}"
        snapshot.assert_close(y[:, 0], expected, name)


def test_multihead_attention_low_scores(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Hides the future where all scores are very low as well."""
    _, _, value, output = draw_projections(draw)
    x, query, key = draw.normal(3, LENGTH, D_MODEL), *torch.zeros(2, D_MODEL, D_MODEL)
    # Two features that no value has make every score of the first key far below zero, and that of
    # each later key far greater than the one before, so that each position attends to itself.
    x[..., -1], x[..., -2] = 4096.0, 4096.0 * torch.arange(LENGTH)
    query[:, -1], key[:, -1], key[:, -2], value[:, -2:] = 1.0, -1.0, 1.0, 0.0
    expected = x @ (output @ value).T
    weights = [query, key, value, output]
    y = adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, x)
    snapshot.assert_close(y, expected)
    y = attend_with_rope(adapters, weights, x, torch.arange(LENGTH)[None])
    snapshot.assert_close(y[:, 0], expected[:, 0], "with RoPE, first position")


def test_multihead_attention_two_configurations(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Builds heads and mask for the input at hand, however often it is called."""
    for heads, batch, length in [(2, 3, 5), (3, 3, 5), (1, 3, 3), (6, 3, 7), (2, 1, 1100)]:
        weights, x = draw_projections(draw), draw.normal(batch, length, D_MODEL)
        expected = torch_attention(weights, x, heads)
        y = adapters.run_multihead_self_attention(D_MODEL, heads, *weights, x)
        snapshot.assert_close(y, expected, f"{heads} heads, {length} positions")


def test_multihead_attention_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    upstream = draw.normal(3, LENGTH, D_MODEL)
    expected = gradient(lambda x: torch_attention(weights, x), x, upstream)
    found = gradient(
        lambda x: adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, x), x, upstream
    )
    snapshot.assert_close(found, expected, "gradient", atol=1e-3, rtol=1e-3)


def attend_with_rope(
    adapters: Any,
    weights: list[Tensor],
    x: Tensor,
    positions: Tensor | None,
    *,
    theta: float = 100.0,
    length: int = 16,
) -> Tensor:
    """The submission's multi-head self-attention with RoPE."""
    y: Tensor = adapters.run_multihead_self_attention_with_rope(
        D_MODEL, HEADS, length, theta, *weights, x, positions
    )
    return y


def test_multihead_attention_with_rope(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Rotates the queries and keys of each head by their positions, and leaves the values."""
    for theta in (100.0, 500000.0):
        weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
        y = attend_with_rope(adapters, weights, x, torch.arange(LENGTH)[None], theta=theta)
        snapshot.assert_match(y, f"theta={theta:g}", atol=5e-4, rtol=5e-4)


def test_multihead_attention_equal_positions(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Is attention without RoPE where all positions are equal."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    expected = torch_attention(weights, x)
    # A fault of the heads is not one of positions.
    own = adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, x)
    for position in (0, 9):
        y = attend_with_rope(adapters, weights, x, torch.full((1, LENGTH), position))
        name = f"all at position {position}"
        snapshot.assert_close(y, expected, name, alternatives=(own,), atol=1e-3, rtol=1e-3)


def test_multihead_attention_distance(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Depends on the distances of positions alone: shifting all of them changes nothing."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    positions = torch.tensor([[0, 2, 3, 7, 9]])
    expected = attend_with_rope(adapters, weights, x, positions)
    y = attend_with_rope(adapters, weights, x, positions + 6)
    snapshot.assert_close(y, expected, "all positions six later", atol=1e-3, rtol=1e-3)
    apart = attend_with_rope(adapters, weights, x, torch.tensor([[0, 1, 2, 3, 4]]))
    assert_differs(
        apart, expected, "Your output stays the same if the distances between positions change."
    )


def test_multihead_attention_positions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Rotates by positions in any order, also where two are the same."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    y = attend_with_rope(adapters, weights, x, torch.tensor([[7, 3, 3, 0, 15]]))
    snapshot.assert_match(y, atol=5e-4, rtol=5e-4)


def test_multihead_attention_rope_configurations(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Builds its angles for the theta and the length it is given, however often it is called."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    for theta, length in [(100.0, 16), (500000.0, 16), (100.0, 40)]:
        positions = torch.tensor([[0, 1, 3, 8, length - 1]])
        y = attend_with_rope(adapters, weights, x, positions, theta=theta, length=length)
        snapshot.assert_match(y, f"theta={theta:g}, length={length}", atol=1e-3, rtol=1e-3)


def test_multihead_attention_positions_by_row(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Takes positions of shape (batch, sequence) that differ from row to row."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    positions = torch.stack([draw.permutation(16)[:LENGTH] for _ in range(3)])
    y = attend_with_rope(adapters, weights, x, positions)
    snapshot.assert_match(y, atol=5e-4, rtol=5e-4)
    alone = [attend_with_rope(adapters, weights, x[[i]], positions[[i]]) for i in range(3)]
    snapshot.assert_close(y, torch.cat(alone), "three rows at once", atol=5e-4, rtol=5e-4)


def test_multihead_attention_no_positions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Counts positions from 0 where none are given."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    y = attend_with_rope(adapters, weights, x, None)
    snapshot.assert_match(y, atol=5e-4, rtol=5e-4)


def test_multihead_attention_rope_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input through the rotation."""
    weights, x = draw_projections(draw), draw.normal(3, LENGTH, D_MODEL)
    positions, upstream = torch.tensor([[1, 2, 5, 11, 15]]), draw.normal(3, LENGTH, D_MODEL)
    found = gradient(lambda x: attend_with_rope(adapters, weights, x, positions), x, upstream)
    snapshot.assert_match(found, "gradient", atol=2e-3, rtol=2e-3)


def test_multihead_attention_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    assert_leaves_arguments(
        snapshot,
        lambda *tensors: adapters.as_given.run_multihead_self_attention(D_MODEL, HEADS, *tensors),
        *draw_projections(draw),
        draw.normal(3, LENGTH, D_MODEL),
    )


def test_multihead_attention_leading_dimensions(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Takes an input with any number of dimensions before the last two."""
    weights = draw_projections(draw)
    for leading in [(), (2, 3)]:
        x = draw.normal(*leading, LENGTH, D_MODEL)
        expected = torch_attention(weights, x.view(-1, LENGTH, D_MODEL)).view(x.shape)
        y = adapters.run_multihead_self_attention(D_MODEL, HEADS, *weights, x)
        snapshot.assert_close(y, expected, f"input of shape {tuple(x.shape)}")
        y = attend_with_rope(adapters, weights, x, torch.full((LENGTH,), 7))
        name = f"with RoPE, all at position 7, input of shape {tuple(x.shape)}"
        snapshot.assert_close(y, expected, name, atol=1e-3, rtol=1e-3)
