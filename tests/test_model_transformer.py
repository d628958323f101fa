"""Checks of the Transformer block and the language model."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.comparison import assert_refuses
from cs336_checks.draws import Draws
from cs336_checks.properties import assert_differs, gradient
from cs336_checks.snapshots import Snapshot

# Batch, heads, length, head size, d_ff and vocabulary all differ, so that no two can be mistaken.
D_MODEL, HEADS, D_FF, LENGTH, CONTEXT, VOCABULARY = 12, 2, 64, 5, 16, 23

Weights = dict[str, Tensor]


def draw_block(draw: Draws, d_ff: int = D_FF) -> Weights:
    """The weights of one block, large enough for attention to tell its keys apart."""
    weights = {f"attn.{name}_proj.weight": draw.weight(D_MODEL, D_MODEL) for name in "qkv"}
    weights["attn.q_proj.weight"] *= 2.0
    weights["attn.output_proj.weight"] = draw.weight(D_MODEL, D_MODEL)
    weights["ffn.w1.weight"] = draw.weight(d_ff, D_MODEL)
    weights["ffn.w2.weight"] = draw.weight(D_MODEL, d_ff)
    weights["ffn.w3.weight"] = draw.weight(d_ff, D_MODEL)
    weights["ln1.weight"] = draw.uniform(D_MODEL, low=0.5, high=1.5)
    weights["ln2.weight"] = draw.uniform(D_MODEL, low=0.5, high=1.5)
    return weights


def draw_model(draw: Draws, num_layers: int, d_ff: int = D_FF) -> Weights:
    """The weights of a language model."""
    weights = {
        "token_embeddings.weight": draw.normal(VOCABULARY, D_MODEL),
        "ln_final.weight": draw.uniform(D_MODEL, low=0.5, high=1.5),
        "lm_head.weight": draw.weight(VOCABULARY, D_MODEL),
    }
    for i in range(num_layers):
        block = draw_block(draw, d_ff)
        weights |= {f"layers.{i}.{name}": weight for name, weight in block.items()}
    return weights


def copy_of(weights: Weights, *, without: tuple[str, ...] = ()) -> Weights:
    """Copies of the weights, with zeros for those whose names end as said."""
    return {
        name: torch.zeros_like(weight) if without and name.endswith(without) else weight.clone()
        for name, weight in weights.items()
    }


def block_output(
    adapters: Any, weights: Weights, x: Tensor, *, length: int = CONTEXT, theta: float = 100.0
) -> Tensor:
    """The submission's block."""
    d_ff = len(weights["ffn.w1.weight"])
    output = adapters.run_transformer_block(D_MODEL, HEADS, d_ff, length, theta, weights, x)
    assert isinstance(output, Tensor), "A tensor is expected."
    return output


def lm_logits(
    adapters: Any, weights: Weights, ids: Tensor, *, layers: int = 3, theta: float = 100.0
) -> Tensor:
    """The submission's language model."""
    d_ff = len(weights["layers.0.ffn.w1.weight"])
    logits = adapters.run_transformer_lm(
        VOCABULARY, CONTEXT, D_MODEL, layers, HEADS, d_ff, theta, weights, ids
    )
    assert isinstance(logits, Tensor), "A tensor is expected."
    return logits


def test_transformer_block(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Adds attention and then the feed-forward network, each of the normalized input, to x."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    snapshot.assert_match(block_output(adapters, weights, x))


def test_transformer_block_residual(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Passes x on unchanged where attention and feed-forward network give zero."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL, scale=2.0)
    silent = copy_of(weights, without=("output_proj.weight", "w2.weight"))
    snapshot.assert_close(block_output(adapters, silent, x), x)


def test_transformer_block_scale(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Normalizes what each part sees: a larger input changes nothing in what is added to it."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL, scale=4.0)
    for part in ("output_proj.weight", "w2.weight"):
        alone = copy_of(weights, without=(part,))
        added = block_output(adapters, alone, x) - x
        added_to_more = block_output(adapters, alone, 8.0 * x) - 8.0 * x
        name = f"what is added where {part} is zero"
        snapshot.assert_close(added_to_more, added, name, atol=1e-3, rtol=1e-3)
        assert added.abs().max() > 0.05, f"Your block adds nothing to x where only {part} is zero."


def test_transformer_block_causal(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets no position see a later one."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    before = block_output(adapters, weights, x)
    changed = x.clone()
    changed[:, 3:] = draw.normal(3, LENGTH - 3, D_MODEL, scale=3.0)
    after = block_output(adapters, weights, changed)
    snapshot.assert_close(after[:, :3], before[:, :3], "before a change", atol=1e-5, rtol=1e-5)
    assert_differs(
        after[:, 3:], before[:, 3:], "Your output did not change at positions whose input changed."
    )


def test_transformer_block_epsilon(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Normalizes with an epsilon of 1e-5, which shows in small inputs."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL, scale=3e-3)
    for part in ("output_proj.weight", "w2.weight"):
        y = block_output(adapters, copy_of(weights, without=(part,)), x)
        snapshot.assert_match(y, f"output where {part} is zero")


def test_transformer_block_sizes(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Works on each row by itself, and on one position as well as on as many as there may be."""
    weights, x = draw_block(draw), draw.normal(3, CONTEXT, D_MODEL)
    whole = block_output(adapters, weights, x)
    snapshot.assert_close(block_output(adapters, weights, x[1:2]), whole[1:2], "a row by itself")
    first = block_output(adapters, weights, x[1:2, :1])
    snapshot.assert_close(first, whole[1:2, :1], "a position by itself")
    snapshot.assert_match(whole, f"{CONTEXT} positions")


def test_transformer_block_two_configurations(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Is built for the theta, the length and the d_ff it is given, however often it is called."""
    settings = [(100.0, 16, D_FF), (500000.0, 16, D_FF), (100.0, 24, D_FF), (100.0, 16, 20)]
    for theta, length, d_ff in settings:
        weights, x = draw_block(draw, d_ff), draw.normal(3, length, D_MODEL)
        y = block_output(adapters, weights, x, length=length, theta=theta)
        snapshot.assert_match(y, f"theta={theta:g}, length={length}, d_ff={d_ff}")


def test_transformer_block_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input through every part."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    upstream = draw.normal(3, LENGTH, D_MODEL)
    found = gradient(lambda x: block_output(adapters, weights, x), x, upstream)
    snapshot.assert_match(found, "gradient", atol=1e-3, rtol=1e-3)


def test_transformer_block_arguments(adapters: Any, draw: Draws) -> None:
    """Leaves the weights it is given as they were: no name and no number changes."""
    weights, x = draw_block(draw), draw.normal(3, LENGTH, D_MODEL)
    before = copy_of(weights)
    y = adapters.as_given.run_transformer_block(D_MODEL, HEADS, D_FF, CONTEXT, 100.0, weights, x)
    assert isinstance(y, Tensor), "A tensor is expected."
    assert_same_weights(weights, before)


def assert_same_weights(weights: Weights, before: Weights) -> None:
    """Names and numbers are what they were."""
    assert weights.keys() == before.keys(), (
        "Your function removed or changed names in the given weights."
    )
    changed = [name for name in weights if not torch.equal(weights[name], before[name])]
    assert not changed, f"Your function changed {changed[0]} in the given weights."


def test_transformer_lm(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Returns logits at every position: embedding, blocks, final RMSNorm, output projection."""
    weights, ids = draw_model(draw, 3), draw.integers(3, LENGTH, high=VOCABULARY)
    snapshot.assert_match(lm_logits(adapters, weights, ids), atol=5e-4, rtol=5e-4)


def test_transformer_lm_silent_blocks(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Projects the normalized embeddings with the head's own weight where blocks add nothing."""
    weights, ids = draw_model(draw, 3), draw.integers(3, LENGTH, high=VOCABULARY)
    silent = copy_of(weights, without=("output_proj.weight", "w2.weight"))
    embedded = functional.embedding(ids, weights["token_embeddings.weight"])
    normalized = functional.rms_norm(embedded, (D_MODEL,), weights["ln_final.weight"], 1e-5)
    expected = functional.linear(normalized, weights["lm_head.weight"])
    snapshot.assert_close(lm_logits(adapters, silent, ids), expected)


def test_transformer_lm_epsilon(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Normalizes with an epsilon of 1e-5 before the head, which shows in small embeddings."""
    weights, ids = draw_model(draw, 1), draw.integers(3, LENGTH, high=VOCABULARY)
    weights["token_embeddings.weight"] *= 3e-3
    silent = copy_of(weights, without=("output_proj.weight", "w2.weight"))
    snapshot.assert_match(lm_logits(adapters, silent, ids, layers=1))


def test_transformer_lm_causal(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Predicts from the tokens so far alone: later tokens change no earlier logits."""
    weights, ids = draw_model(draw, 3), draw.integers(3, LENGTH, high=VOCABULARY)
    before = lm_logits(adapters, weights, ids)
    changed = ids.clone()
    changed[:, 3:] = (ids[:, 3:] + 1 + draw.integers(3, 2, high=VOCABULARY - 1)) % VOCABULARY
    after = lm_logits(adapters, weights, changed)
    snapshot.assert_close(after[:, :3], before[:, :3], "before a change", atol=1e-4, rtol=1e-5)
    assert_differs(
        after[:, 3:], before[:, 3:], "Your output did not change at positions whose input changed."
    )


def test_transformer_lm_prefixes(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Predicts at every position, in one pass, what a pass over the tokens up to there predicts."""
    weights, ids = draw_model(draw, 3), draw.integers(3, LENGTH, high=VOCABULARY)
    whole = lm_logits(adapters, weights, ids)
    last = [lm_logits(adapters, weights, ids[:, : t + 1])[:, -1] for t in range(LENGTH)]
    snapshot.assert_close(whole, torch.stack(last, 1), atol=5e-4, rtol=5e-4)


def test_transformer_lm_lengths(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes any number of tokens up to the context length, and any number of rows."""
    weights, ids = draw_model(draw, 3), draw.integers(3, CONTEXT, high=VOCABULARY)
    whole = lm_logits(adapters, weights, ids)
    for length in (1, 7):
        logits = lm_logits(adapters, weights, ids[1:2, :length])
        name = f"logits of the first {length} of {CONTEXT} tokens"
        snapshot.assert_close(logits, whole[1:2, :length], name, atol=5e-4, rtol=5e-4)
    snapshot.assert_match(whole, f"{CONTEXT} tokens", atol=5e-4, rtol=5e-4)


def test_transformer_lm_many_layers(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Applies twelve layers, each with its own weights, in the order of their numbers."""
    weights, ids = draw_model(draw, 12), draw.integers(3, LENGTH, high=VOCABULARY)
    logits = lm_logits(adapters, weights, ids, layers=12)
    snapshot.assert_match(logits, atol=2e-3, rtol=1e-3)


def test_transformer_lm_two_configurations(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Builds a model for the sizes and weights it is given, however often it is called."""
    weights, ids = draw_model(draw, 3), draw.integers(3, CONTEXT, high=VOCABULARY)
    for theta, layers in [(100.0, 1), (100.0, 3), (500000.0, 1)]:
        names = [f"layers.{i}." for i in range(layers, 3)]
        fewer = {
            name: weight for name, weight in weights.items() if not name.startswith(tuple(names))
        }
        logits = lm_logits(adapters, fewer, ids, layers=layers, theta=theta)
        snapshot.assert_match(logits, f"theta={theta:g}, layers={layers}", atol=5e-4, rtol=5e-4)
    logits = lm_logits(adapters, draw_model(draw, 1), ids, layers=1)
    snapshot.assert_match(logits, "other weights", atol=5e-4, rtol=5e-4)
    logits = lm_logits(adapters, draw_model(draw, 1, d_ff=20), ids, layers=1)
    snapshot.assert_match(logits, "d_ff=20", atol=5e-4, rtol=5e-4)


def test_transformer_lm_arguments(adapters: Any, draw: Draws) -> None:
    """Leaves the weights it is given as they were: no name and no number changes."""
    weights, ids = draw_model(draw, 2), draw.integers(3, LENGTH, high=VOCABULARY)
    before = copy_of(weights)
    sizes = (VOCABULARY, CONTEXT, D_MODEL, 2, HEADS, D_FF)
    logits = adapters.as_given.run_transformer_lm(*sizes, 100.0, weights, ids)
    assert isinstance(logits, Tensor), "A tensor is expected."
    assert_same_weights(weights, before)


def test_transformer_lm_int32(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes token ids of type int32 as well."""
    weights, ids = draw_model(draw, 1), draw.integers(3, LENGTH, high=VOCABULARY)
    logits = lm_logits(adapters, weights, ids.to(torch.int32), layers=1)
    snapshot.assert_match(logits, atol=5e-4, rtol=5e-4)


def test_transformer_lm_too_long(adapters: Any, draw: Draws) -> None:
    """Refuses a sequence longer than the context with an exception."""
    weights, ids = draw_model(draw, 1), draw.integers(3, CONTEXT + 1, high=VOCABULARY)
    sizes = (VOCABULARY, CONTEXT, D_MODEL, 1, HEADS, D_FF)
    assert_refuses(
        lambda ids: adapters.run_transformer_lm(*sizes, 100.0, weights, ids),
        ids[:, 1:],
        ids,
        f"A sequence of {CONTEXT + 1} tokens, where the context is {CONTEXT},",
    )
