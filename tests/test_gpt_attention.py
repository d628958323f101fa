"""Checks of causal multi-head self-attention as GPT has it: with biases and dropout."""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.draws import Draws
from cs336_checks.properties import (
    assert_drawn_apart,
    assert_dropped,
    assert_leaves_arguments,
    gradient,
    without_dropout,
)
from cs336_checks.snapshots import Snapshot

# Batch, heads, length and head size all differ, so that no two axes can be mistaken.
D_MODEL, HEADS, LENGTH = 12, 2, 5
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "output_proj")

Weights = dict[str, Tensor]


def draw_attention(draw: Draws) -> Weights:
    """Weights and biases, the former large enough for attention to tell its keys apart."""
    weights = {f"{name}.weight": draw.weight(D_MODEL, D_MODEL) for name in PROJECTIONS}
    weights["q_proj.weight"] *= 2.0
    return weights | {f"{name}.bias": draw.normal(D_MODEL) for name in PROJECTIONS}


def without_biases(weights: Weights) -> Weights:
    """The same weights with zeros for all biases: a fault of theirs does not show."""
    return {
        name: torch.zeros_like(weight) if name.endswith("bias") else weight
        for name, weight in weights.items()
    }


def torch_attention(weights: Weights, x: Tensor, heads: int = HEADS) -> Tensor:
    """Causal multi-head self-attention by torch itself, of (batch, sequence, d_model)."""
    x = x.transpose(0, 1)
    stacked = {
        kind: torch.cat([weights[f"{name}.{kind}"] for name in PROJECTIONS[:3]])
        for kind in ("weight", "bias")
    }
    y, _ = functional.multi_head_attention_forward(
        *(x, x, x, x.shape[-1], heads, stacked["weight"], stacked["bias"], None, None),
        *(False, 0.0, weights["output_proj.weight"], weights["output_proj.bias"]),
        training=False,
        need_weights=False,
        attn_mask=torch.ones(len(x), len(x), dtype=torch.bool).triu(1),
    )
    return y.transpose(0, 1)


def attend(
    adapters: Any,
    weights: Weights,
    x: Tensor,
    heads: int = HEADS,
    *,
    dropout: float = 0.0,
    training: bool = False,
) -> Tensor:
    """The submission's attention."""
    d_model = x.shape[-1]
    y = adapters.run_gpt_attention(d_model, heads, dropout, weights, x, training)
    assert isinstance(y, Tensor), "A tensor is expected."
    assert y.shape == x.shape, f"Shape {tuple(x.shape)} is expected; yours is {tuple(y.shape)}."
    return y


def test_gpt_attention(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Splits the projections into heads, attends to the past in each and projects all of them."""
    weights, x = draw_attention(draw), draw.normal(3, LENGTH, D_MODEL)
    snapshot.assert_close(attend(adapters, weights, x), torch_attention(weights, x))


def test_gpt_attention_biases(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Adds each projection's own bias, that of the output after the heads are put together."""
    weights, x = draw_attention(draw), draw.normal(3, LENGTH, D_MODEL)
    for name in PROJECTIONS:
        others = {f"{other}.bias" for other in PROJECTIONS if other != name}
        alone = {
            key: torch.zeros_like(weight) if key in others else 2.0 * weight
            for key, weight in weights.items()
        }
        y = attend(adapters, alone, x)
        snapshot.assert_close(y, torch_attention(alone, x), f"{name}.bias alone", atol=5e-4)


def test_gpt_attention_causal(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets no position see a later one: changing the future changes nothing before it."""
    weights, x = draw_attention(draw), draw.normal(3, LENGTH, D_MODEL)
    before = attend(adapters, weights, x)
    for t in range(1, LENGTH):
        changed = x.clone()
        changed[:, t:] = draw.normal(3, LENGTH - t, D_MODEL, scale=3.0)
        y = attend(adapters, weights, changed)
        name = f"outputs before position {t}, after a change there"
        snapshot.assert_close(y[:, :t], before[:, :t], name, atol=1e-5, rtol=1e-5)


def test_gpt_attention_equal_scores(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets each position see itself and all before it: where scores are equal, it gets a mean."""
    weights, x = without_biases(draw_attention(draw)), draw.normal(3, LENGTH, D_MODEL)
    weights["q_proj.weight"] = torch.zeros(D_MODEL, D_MODEL)
    means = (x @ weights["v_proj.weight"].T).cumsum(1) / torch.arange(1, LENGTH + 1).view(LENGTH, 1)
    expected = means @ weights["output_proj.weight"].T
    snapshot.assert_close(attend(adapters, weights, x), expected)


def test_gpt_attention_permuted_past(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Uses no positions: the last output stays the same where the past is in another order."""
    weights, x = draw_attention(draw), draw.normal(3, LENGTH, D_MODEL)
    expected = attend(adapters, weights, x)[:, -1]
    for order in ([3, 2, 1, 0, 4], [1, 3, 0, 2, 4]):
        y = attend(adapters, weights, x[:, order])
        snapshot.assert_close(y[:, -1], expected, f"last position of x[:, {order}]")


def key_finder(draw: Draws) -> tuple[Weights, Tensor]:
    """Weights for 2 heads, and an input of 4 positions, with which attention gives probabilities.

    Feature k of each of the two halves of a head is the probability of key k, because the value of
    key k is 1 there and 0 elsewhere.
    """
    weights = {f"{name}.weight": torch.eye(16) for name in PROJECTIONS}
    weights |= {f"{name}.bias": torch.zeros(16) for name in PROJECTIONS}
    weights["q_proj.weight"] = draw.normal(16, 16)
    weights["k_proj.weight"] = draw.uniform(16, 16, low=-0.25, high=0.25)
    return weights, torch.eye(4).repeat(1, 4)


def test_gpt_attention_dropout(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """In training, drops attention probabilities, each by itself, and nothing else."""
    weights, x = key_finder(draw)
    p, batch = 0.3, 300
    # Batch, position, head, half of the head, key.
    shape = (batch, 4, 2, 2, 4)
    # Those without dropout: only what dropout does to them is looked at here.
    probabilities = attend(adapters, weights, x[None]).detach().expand(batch, 4, 16).reshape(shape)
    y = attend(adapters, weights, x.expand(batch, 4, 16), dropout=p, training=True)
    found = y.detach().reshape(shape)
    snapshot.assert_close(found[..., 1, :], found[..., 0, :], "the same probability, used twice")
    # Batch, head, query, key.
    found, expected = (tensor[..., 0, :].transpose(1, 2) for tensor in (found, probabilities))
    seen = torch.ones(4, 4, dtype=torch.bool).tril()
    name = "probabilities after dropout"
    assert_dropped(snapshot, found[..., seen], expected[..., seen], p, name)
    # The last two queries may attend to the first three keys.
    assert_drawn_apart(found[..., 2:, :3] == 0, "sequences", "heads", "queries", "keys")


def test_gpt_attention_evaluation(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Drops nothing in evaluation, nor in training without dropout."""
    weights, x = draw_attention(draw), draw.normal(3, LENGTH, D_MODEL)
    expected = attend(adapters, weights, x)
    for dropout, training in [(0.5, False), (0.0, True)]:
        call = partial(attend, adapters, weights, x, dropout=dropout, training=training)
        y = without_dropout(call)
        name = f"dropout={dropout}, in {'training' if training else 'evaluation'}"
        snapshot.assert_close(y, expected, name)


def test_gpt_attention_low_scores(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Hides the future where all scores are very low as well."""
    weights, x = without_biases(draw_attention(draw)), draw.normal(3, LENGTH, D_MODEL)
    # A feature that no value has makes every score of the first key far below zero, and that of
    # each later key far greater than the one before, so that each position attends to itself.
    x[..., -1], weights["v_proj.weight"][:, -1] = 4096.0 * torch.arange(LENGTH), 0.0
    for name in ("q_proj", "k_proj"):
        weights[f"{name}.weight"] = torch.zeros(D_MODEL, D_MODEL)
    weights["k_proj.weight"][:, -1] = 1.0
    weights["q_proj.bias"] += 4096.0
    weights["k_proj.bias"] -= 4096.0
    expected = x @ (weights["output_proj.weight"] @ weights["v_proj.weight"]).T
    snapshot.assert_close(attend(adapters, weights, x), expected)


def test_gpt_attention_two_configurations(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Builds heads and mask for the input at hand, however often it is called."""
    sizes = [(2, 3, 5), (3, 3, 5), (1, 3, 3), (6, 3, 7), (2, 3, 1), (2, 1, 1100)]
    for heads, batch, length in sizes:
        weights, x = draw_attention(draw), draw.normal(batch, length, D_MODEL)
        y = attend(adapters, weights, x, heads)
        name = f"{heads} heads, {length} positions"
        snapshot.assert_close(y, torch_attention(weights, x, heads), name)


def test_gpt_attention_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input."""
    weights, x = draw_attention(draw), draw.normal(3, LENGTH, D_MODEL)
    upstream = draw.normal(3, LENGTH, D_MODEL)
    expected = gradient(lambda x: torch_attention(weights, x), x, upstream)
    found = gradient(lambda x: attend(adapters, weights, x), x, upstream)
    snapshot.assert_close(found, expected, "gradient", atol=1e-3, rtol=1e-3)


def test_gpt_attention_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    weights = draw_attention(draw)
    assert_leaves_arguments(
        snapshot,
        lambda x, *given: adapters.as_given.run_gpt_attention(
            D_MODEL, HEADS, 0.0, dict(zip(weights, given, strict=True)), x
        ),
        draw.normal(3, LENGTH, D_MODEL),
        *weights.values(),
    )


def test_gpt_attention_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes an input with any number of dimensions before the last two."""
    weights = draw_attention(draw)
    for leading in [(), (2, 3)]:
        x = draw.normal(*leading, LENGTH, D_MODEL)
        expected = torch_attention(weights, x.view(-1, LENGTH, D_MODEL)).reshape(x.shape)
        y = attend(adapters, weights, x)
        snapshot.assert_close(y, expected, f"input of shape {tuple(x.shape)}")
