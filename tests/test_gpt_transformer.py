"""Checks of GPT's block and of the language model made of them."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from cs336_checks.comparison import assert_refuses
from cs336_checks.draws import Draws
from cs336_checks.properties import (
    assert_differs,
    assert_drawn_apart,
    assert_dropped,
    gradient,
    without_dropout,
)
from cs336_checks.snapshots import Snapshot

# Batch, heads, length, head size, d_ff and vocabulary all differ, so that no two can be mistaken.
D_MODEL, HEADS, D_FF, LENGTH, CONTEXT, VOCABULARY = 16, 2, 64, 5, 24, 23
UNCHANGED = "Your output did not change at positions whose input changed."
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "output_proj")
# With zeros for these, attention and feed-forward network add nothing.
OUTPUTS = ("output_proj.weight", "output_proj.bias", "fc2.weight", "fc2.bias")

Weights = dict[str, Tensor]


def draw_norm(draw: Draws) -> Weights:
    """Gain and bias of LayerNorm."""
    bias = draw.normal(D_MODEL, scale=0.5)
    return {"weight": draw.uniform(D_MODEL, low=0.5, high=1.5), "bias": bias}


def draw_block(draw: Draws, d_ff: int = D_FF) -> Weights:
    """The weights of one block, large enough for attention to tell its keys apart."""
    weights = {f"attn.{name}.weight": draw.weight(D_MODEL, D_MODEL) for name in PROJECTIONS}
    weights["attn.q_proj.weight"] *= 2.0
    weights |= {f"attn.{name}.bias": draw.normal(D_MODEL, scale=0.5) for name in PROJECTIONS}
    weights["ffn.fc1.weight"] = draw.weight(d_ff, D_MODEL)
    weights["ffn.fc1.bias"] = draw.normal(d_ff, scale=0.5)
    weights["ffn.fc2.weight"] = draw.weight(D_MODEL, d_ff)
    weights["ffn.fc2.bias"] = draw.normal(D_MODEL, scale=0.5)
    for norm in ("ln1", "ln2"):
        weights |= {f"{norm}.{name}": weight for name, weight in draw_norm(draw).items()}
    return weights


def draw_model(draw: Draws, num_layers: int, *, tied: bool = False, d_ff: int = D_FF) -> Weights:
    """The weights of a language model."""
    weights = {
        "token_embeddings.weight": draw.weight(VOCABULARY, D_MODEL),
        "position_embeddings.weight": draw.normal(CONTEXT, D_MODEL, scale=0.5),
        "lm_head.weight": draw.weight(VOCABULARY, D_MODEL),
    }
    if tied:
        weights["lm_head.weight"] = weights["token_embeddings.weight"].clone()
    for i in range(num_layers):
        block = draw_block(draw, d_ff)
        weights |= {f"layers.{i}.{name}": weight for name, weight in block.items()}
    return weights | {f"ln_final.{name}": weight for name, weight in draw_norm(draw).items()}


def copy_of(weights: Weights, *, without: tuple[str, ...] = ()) -> Weights:
    """Copies of the weights, with zeros for those whose names end as said."""
    return {
        name: torch.zeros_like(weight) if without and name.endswith(without) else weight.clone()
        for name, weight in weights.items()
    }


def block_output(
    adapters: Any, weights: Weights, x: Tensor, *, dropout: float = 0.0, training: bool = False
) -> Tensor:
    """The submission's block."""
    d_ff = len(weights["ffn.fc1.weight"])
    output = adapters.run_gpt_block(D_MODEL, HEADS, d_ff, dropout, weights, x, training)
    assert isinstance(output, Tensor), "A tensor is expected."
    return output


def gpt_logits(
    adapters: Any,
    weights: Weights,
    ids: Tensor,
    *,
    layers: int = 3,
    dropout: float = 0.0,
    tied: bool = False,
    training: bool = False,
) -> Tensor:
    """The submission's language model."""
    d_ff = len(weights["layers.0.ffn.fc1.weight"])
    sizes = (VOCABULARY, CONTEXT, D_MODEL, layers, HEADS, d_ff)
    logits = adapters.run_gpt(*sizes, dropout, weights, ids, tie_weights=tied, training=training)
    assert isinstance(logits, Tensor), "A tensor is expected."
    return logits


def torch_block(weights: Weights, x: Tensor) -> Tensor:
    """The block by torch itself."""
    # On the meta device nothing is drawn for weights that are replaced anyway.
    sizes = D_MODEL, HEADS, len(weights["ffn.fc1.bias"])
    options: dict[str, Any] = {"batch_first": True, "norm_first": True, "device": "meta"}
    layer = nn.TransformerEncoderLayer(*sizes, 0.0, functional.gelu, **options)
    places = {"ln1": "norm1", "ln2": "norm2", "ffn.fc1": "linear1", "ffn.fc2": "linear2"}
    places["attn.output_proj"] = "self_attn.out_proj"
    parameters = {}
    for kind in ("weight", "bias"):
        stacked = torch.cat([weights[f"attn.{name}.{kind}"] for name in PROJECTIONS[:3]])
        parameters[f"self_attn.in_proj_{kind}"] = stacked
        for name, place in places.items():
            parameters[f"{place}.{kind}"] = weights[f"{name}.{kind}"]
    hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    y: Tensor = torch.func.functional_call(layer, parameters, (x, hidden))
    return y


def test_gpt_block(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Adds attention and then the feed-forward network, each of the normalized input, to x."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    snapshot.assert_close(block_output(adapters, weights, x), torch_block(weights, x))


def test_gpt_block_residual(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Passes x on unchanged where attention and feed-forward network give zero."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL, scale=2.0)
    silent = copy_of(weights, without=OUTPUTS)
    snapshot.assert_close(block_output(adapters, silent, x), x)


def test_gpt_block_scale(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Normalizes what each part sees: scaling and shifting x changes nothing in what is added."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL, scale=4.0)
    for part in ("output_proj", "fc2"):
        alone = copy_of(weights, without=(f"{part}.weight", f"{part}.bias"))
        added = block_output(adapters, alone, x) - x
        more = 8.0 * x + 3.0
        added_to_more = block_output(adapters, alone, more) - more
        name = f"what is added where {part} is zero"
        snapshot.assert_close(added_to_more, added, name, atol=1e-3, rtol=1e-3)
        assert added.abs().max() > 0.05, f"Your block adds nothing to x where only {part} is zero."


def test_gpt_block_causal(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets no position see a later one."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    before = block_output(adapters, weights, x)
    changed = x.clone()
    changed[:, 3:] = draw.normal(3, LENGTH - 3, D_MODEL, scale=3.0)
    after = block_output(adapters, weights, changed)
    snapshot.assert_close(after[:, :3], before[:, :3], "before a change", atol=1e-5, rtol=1e-5)
    assert_differs(after[:, 3:], before[:, 3:], UNCHANGED)


# In training: what is added by one part, where the other adds nothing.
PARTS = {
    "attention": ("attn.output_proj", "ffn.fc2"),
    "the feed-forward network": ("ffn.fc2", "attn.output_proj"),
}


def test_gpt_block_dropout(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Hands dropout on to attention and feed-forward network, in training alone."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    expected = block_output(adapters, weights, x)
    y = without_dropout(partial(block_output, adapters, weights, x, dropout=0.5))
    snapshot.assert_close(y, expected, "output in evaluation, against that without dropout")
    for part, (_, other) in PARTS.items():
        alone = copy_of(weights, without=(f"{other}.weight", f"{other}.bias"))
        added = block_output(adapters, alone, x) - x
        found = block_output(adapters, alone, x, dropout=0.5, training=True) - x
        # Dropout inside of the part changes what is left, otherwise than by one factor.
        left = found.abs() > 1e-4
        assert left.any(), f"In training, {part} adds nothing to x."
        message = f"In training, dropout changes nothing in {part}."
        for factor in (1.0, 2.0):
            assert_differs(found[left], factor * added[left], message)


def test_gpt_block_dropout_branches(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """In training, drops elements of what each part gives, before it is added to x."""
    weights, x = draw_block(draw), draw.normal(40, LENGTH, D_MODEL)
    for part, (output, other) in PARTS.items():
        # The part gives its last bias, whatever is dropped inside of it.
        silent = (f"{output}.weight", f"{other}.weight", f"{other}.bias")
        constant = copy_of(weights, without=silent)
        constant[f"{output}.bias"] = bias = draw.uniform(D_MODEL, low=0.5, high=1.5)
        added = block_output(adapters, constant, x, dropout=0.3, training=True).detach() - x
        given = bias.expand(added.shape)
        assert_dropped(snapshot, added, given, 0.3, f"what is added by {part}")
        assert_drawn_apart(added.abs() < 0.25, "sequences", "positions", "features")


def test_gpt_block_dropout_nowhere_else(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Drops nothing of x itself."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    silent = copy_of(weights, without=OUTPUTS)
    y = block_output(adapters, silent, x, dropout=0.5, training=True)
    snapshot.assert_close(y, x, "output in training, where both parts give zero")


def test_gpt_block_epsilon(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Normalizes with an epsilon of 1e-5, which shows in small inputs."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL, scale=3e-3)
    for part in ("output_proj", "fc2"):
        alone = copy_of(weights, without=(f"{part}.weight", f"{part}.bias"))
        y = block_output(adapters, alone, x)
        snapshot.assert_close(y, torch_block(alone, x), f"output where {part} is zero")


def test_gpt_block_sizes(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Works on each row by itself, on one position as well as on many, and with any d_ff."""
    weights, x = draw_block(draw, d_ff=20), draw.normal(3, CONTEXT, D_MODEL)
    expected = torch_block(weights, x)
    snapshot.assert_close(block_output(adapters, weights, x), expected, f"{CONTEXT} positions")
    y = block_output(adapters, weights, x[1:2])
    snapshot.assert_close(y, expected[1:2], "a row by itself")
    y = block_output(adapters, weights, x[1:2, :1])
    snapshot.assert_close(y, expected[1:2, :1], "a position by itself")


def test_gpt_block_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input through every part."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    upstream = draw.normal(3, LENGTH, D_MODEL)
    expected = gradient(lambda x: torch_block(weights, x), x, upstream)
    found = gradient(lambda x: block_output(adapters, weights, x), x, upstream)
    snapshot.assert_close(found, expected, "gradient", atol=1e-3, rtol=1e-3)


def test_gpt_block_arguments(adapters: Any, draw: Draws) -> None:
    """Leaves the weights it is given as they were: no name and no number changes."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    before = copy_of(weights)
    y = adapters.as_given.run_gpt_block(D_MODEL, HEADS, D_FF, 0.0, weights, x)
    assert isinstance(y, Tensor), "A tensor is expected."
    assert_same_weights(weights, before)


def assert_same_weights(weights: Weights, before: Weights) -> None:
    """Names and numbers are what they were."""
    assert weights.keys() == before.keys(), "Your function changed names in the given weights."
    changed = [name for name in weights if not torch.equal(weights[name], before[name])]
    assert not changed, f"Your function changed {changed[0]} in the given weights."


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_gpt(adapters: Any, snapshot: Snapshot, draw: Draws, tied: bool) -> None:
    """Gives logits: scaled embedding, positions, blocks, final LayerNorm, output projection."""
    weights, ids = draw_model(draw, 3, tied=tied), draw.integers(3, LENGTH, high=VOCABULARY)
    logits = gpt_logits(adapters, weights, ids, tied=tied)
    snapshot.assert_match(logits, atol=5e-4, rtol=5e-4)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_gpt_silent_blocks(adapters: Any, snapshot: Snapshot, draw: Draws, tied: bool) -> None:
    """Projects the normalized sum of embedding and position where blocks add nothing."""
    weights, ids = draw_model(draw, 3, tied=tied), draw.integers(3, LENGTH, high=VOCABULARY)
    logits = gpt_logits(adapters, copy_of(weights, without=OUTPUTS), ids, tied=tied)
    snapshot.assert_close(logits, silent_logits(weights, ids))


def silent_logits(weights: Weights, ids: Tensor) -> Tensor:
    """What a model gives whose blocks add nothing."""
    embedded = D_MODEL**0.5 * functional.embedding(ids, weights["token_embeddings.weight"])
    x = embedded + weights["position_embeddings.weight"][: ids.shape[1]]
    norm = (weights["ln_final.weight"], weights["ln_final.bias"])
    return functional.linear(functional.layer_norm(x, (D_MODEL,), *norm), weights["lm_head.weight"])


def test_gpt_prefixes(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Predicts at every position, in one pass, what a pass over the tokens up to there predicts."""
    weights, ids = draw_model(draw, 3), draw.integers(3, LENGTH, high=VOCABULARY)
    whole = gpt_logits(adapters, weights, ids)
    assert whole.shape[1] == LENGTH, "Logits for every position are expected."
    last = [gpt_logits(adapters, weights, ids[:, : t + 1])[:, -1] for t in range(LENGTH)]
    snapshot.assert_close(whole, torch.stack(last, 1), atol=5e-4, rtol=5e-4)


def test_gpt_causal(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Predicts from the tokens so far alone: later tokens change no earlier logits."""
    weights, ids = draw_model(draw, 3), draw.integers(3, LENGTH, high=VOCABULARY)
    before = gpt_logits(adapters, weights, ids)
    changed = ids.clone()
    changed[:, 3:] = (ids[:, 3:] + 1 + draw.integers(3, 2, high=VOCABULARY - 1)) % VOCABULARY
    after = gpt_logits(adapters, weights, changed)
    snapshot.assert_close(after[:, :3], before[:, :3], "before a change", atol=1e-4, rtol=1e-5)
    assert_differs(after[:, 3:], before[:, 3:], UNCHANGED)


def test_gpt_equal_positions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Knows the order of tokens from their positions alone: in one layer, equal ones give none."""
    weights, ids = draw_model(draw, 1), draw.integers(3, LENGTH, high=VOCABULARY)
    weights["position_embeddings.weight"] = draw.normal(1, D_MODEL).expand(CONTEXT, D_MODEL)
    last = gpt_logits(adapters, weights, ids, layers=1)[:, -1]
    # With more layers, the mask itself tells: what is seen of the past differs with the order.
    permuted = gpt_logits(adapters, weights, ids[:, [2, 0, 3, 1, 4]], layers=1)[:, -1]
    snapshot.assert_close(permuted, last, "last position", atol=5e-4, rtol=5e-4)


def test_gpt_dropout(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Has dropout in its blocks in training, and none in evaluation."""
    weights, ids = draw_model(draw, 3), draw.integers(3, LENGTH, high=VOCABULARY)
    without = gpt_logits(adapters, weights, ids)
    evaluated = without_dropout(partial(gpt_logits, adapters, weights, ids, dropout=0.5))
    snapshot.assert_close(evaluated, without, "logits in evaluation", atol=5e-4, rtol=5e-4)
    # Of zeros, dropout outside of the blocks changes nothing.
    blocks = copy_of(weights, without=("embeddings.weight",))
    first, second = (
        gpt_logits(adapters, blocks, ids, dropout=0.5, training=True) for _ in range(2)
    )
    assert_differs(first, second, "In training, dropout changes nothing in the blocks.")


def test_gpt_dropout_embeddings(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """In training, drops elements of the sum of embeddings and positions, and of no logits."""
    weights = copy_of(draw_model(draw, 2), without=OUTPUTS)
    # The sum is 2 in the first half of the features and 1 in the second; the logits are its norm.
    weights["token_embeddings.weight"] = torch.full((VOCABULARY, D_MODEL), D_MODEL**-0.5)
    first_half = (torch.arange(D_MODEL) < D_MODEL // 2).float()
    weights["position_embeddings.weight"] = first_half.expand(CONTEXT, D_MODEL).clone()
    weights |= {"ln_final.weight": torch.ones(D_MODEL), "ln_final.bias": torch.zeros(D_MODEL)}
    weights["lm_head.weight"] = torch.eye(VOCABULARY, D_MODEL)
    p, ids = 0.4, draw.integers(60, LENGTH, high=VOCABULARY)
    logits = gpt_logits(adapters, weights, ids, layers=2, dropout=p, training=True).detach()
    assert logits.shape == (60, LENGTH, VOCABULARY), f"Your logits have shape {logits.shape}."
    normed = logits[..., :D_MODEL]
    scaled = (1.0 + first_half) / (1 - p)
    # Dropped elements are 0 and less than all others; where none is dropped, the least is 1.
    kept = normed > normed.amin(dim=-1, keepdim=True) + 0.1
    whole = functional.layer_norm(scaled, (D_MODEL,))
    kept |= (normed - whole).abs().amax(dim=-1, keepdim=True) < 0.01
    left = torch.where(kept, scaled, 0.0)
    expected = functional.layer_norm(left, (D_MODEL,)) @ weights["lm_head.weight"].T
    snapshot.assert_close(logits, expected, "logits in training, where blocks add nothing")
    given = (1.0 + first_half).expand(left.shape)
    assert_dropped(snapshot, left, given, p, "the sum of embeddings and positions")
    assert_drawn_apart(~kept, "sequences", "positions", "features")


def test_gpt_lengths(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes any number of tokens up to the context length, any number of rows, and any d_ff."""
    for rows, length, d_ff in ((1, 1, D_FF), (2, 7, 20), (3, CONTEXT, D_FF)):
        # Other weights each time: nothing of one call may be left in the next.
        weights = draw_model(draw, 3, d_ff=d_ff)
        ids = draw.integers(rows, length, high=VOCABULARY)
        logits = gpt_logits(adapters, weights, ids)
        name = f"logits of token ids of shape ({rows}, {length}), d_ff={d_ff}"
        snapshot.assert_match(logits, name, atol=5e-4, rtol=5e-4)


def test_gpt_many_layers(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Applies twelve layers, each with its own weights, in the order of their numbers."""
    weights, ids = draw_model(draw, 12), draw.integers(3, LENGTH, high=VOCABULARY)
    logits = gpt_logits(adapters, weights, ids, layers=12)
    snapshot.assert_match(logits, atol=2e-3, rtol=1e-3)


def test_gpt_epsilon(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Normalizes with an epsilon of 1e-5 before the head, which shows in small embeddings."""
    weights, ids = draw_model(draw, 1), draw.integers(3, LENGTH, high=VOCABULARY)
    weights["token_embeddings.weight"] *= 3e-3
    weights["position_embeddings.weight"] *= 3e-3
    logits = gpt_logits(adapters, copy_of(weights, without=OUTPUTS), ids, layers=1)
    snapshot.assert_close(logits, silent_logits(weights, ids))


def test_gpt_too_long(adapters: Any, draw: Draws) -> None:
    """Refuses a sequence longer than the context with an exception."""
    weights, ids = draw_model(draw, 1), draw.integers(3, CONTEXT + 1, high=VOCABULARY)
    sizes = (VOCABULARY, CONTEXT, D_MODEL, 1, HEADS, D_FF)
    assert_refuses(
        lambda ids: adapters.run_gpt(*sizes, 0.0, weights, ids, tie_weights=False),
        ids[:, 1:],
        ids,
        f"A sequence of {CONTEXT + 1} tokens, where the context is {CONTEXT},",
    )


def test_gpt_arguments(adapters: Any, draw: Draws) -> None:
    """Leaves the weights it is given as they were: no name and no number changes."""
    weights, ids = draw_model(draw, 2, tied=True), draw.integers(3, LENGTH, high=VOCABULARY)
    before = copy_of(weights)
    sizes = (VOCABULARY, CONTEXT, D_MODEL, 2, HEADS, D_FF)
    logits = adapters.as_given.run_gpt(*sizes, 0.0, weights, ids)
    assert isinstance(logits, Tensor), "A tensor is expected."
    assert_same_weights(weights, before)


def test_gpt_int32(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes token ids of type int32 as well."""
    weights, ids = draw_model(draw, 1), draw.integers(3, LENGTH, high=VOCABULARY)
    silent = copy_of(weights, without=OUTPUTS)
    logits = gpt_logits(adapters, silent, ids.to(torch.int32), layers=1)
    snapshot.assert_close(logits, silent_logits(weights, ids))
