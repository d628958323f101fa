"""The classic block and language model, put together from other variants."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant
from .gpt_layers import (
    feed_forward_by_rows,
    feed_forward_in_float64,
    feed_forward_of_functions,
    fused_projection,
    head_by_head,
    torch_attention,
)
from .layer_norm import torch_function, var_and_mean
from .transformer import of_layer

Weights = Mapping[str, Tensor]
Block = Callable[[int, int, int, float, Weights, Tensor, bool], Tensor]


def part_of(weights: Weights, name: str) -> dict[str, Tensor]:
    """The weights of one part, by the part's own names."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): weight
        for key, weight in weights.items()
        if key.startswith(prefix)
    }


@variant("gpt_block", "run_gpt_block")
def functions(
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Is a row of function calls without modules."""
    attn, ffn = part_of(weights, "attn"), part_of(weights, "ffn")
    x = var_and_mean(d_model, 1e-5, part_of(weights, "ln1"), in_features)
    x = fused_projection(d_model, num_heads, dropout, attn, x, training)
    y = in_features + functional.dropout(x, dropout, training)
    x = var_and_mean(d_model, 1e-5, part_of(weights, "ln2"), y)
    x = feed_forward_of_functions(d_model, d_ff, dropout, ffn, x, training)
    return y + functional.dropout(x, dropout, training)


@variant("gpt_block", "run_gpt_block")
def own_names(
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Has PyTorch's norms, attention head by head, and adds the input last."""
    attn, ffn = part_of(weights, "attn"), part_of(weights, "ffn")
    first, second = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
    first.load_state_dict(part_of(weights, "ln1"))
    second.load_state_dict(part_of(weights, "ln2"))
    drop = nn.Dropout(dropout).train(training)
    y = drop(head_by_head(d_model, num_heads, dropout, attn, first(in_features), training))
    y = y + in_features
    added = drop(feed_forward_by_rows(d_model, d_ff, dropout, ffn, second(y), training))
    return torch.as_tensor(added).add(y)


@variant("gpt_block", "run_gpt_block")
def float64_inside(
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Computes in float64, with PyTorch's own attention."""
    exact, x = {name: weight.double() for name, weight in weights.items()}, in_features.double()
    attn, ffn = part_of(exact, "attn"), part_of(exact, "ffn")

    def norm(name: str) -> Tensor:
        gain, bias = exact[f"{name}.weight"], exact[f"{name}.bias"]
        return functional.layer_norm(x, (d_model,), gain, bias)

    def kept() -> Tensor:
        drawn = torch.rand(x.shape, dtype=torch.float64)
        return (drawn >= dropout) / (1 - dropout) if training else torch.ones_like(x)

    x = x + kept() * torch_attention(d_model, num_heads, dropout, attn, norm("ln1"), training)
    x = x + kept() * feed_forward_in_float64(d_model, d_ff, dropout, ffn, norm("ln2"), training)
    return x.to(in_features.dtype)


@variant("gpt_block", "run_gpt_block")
def torch_layer(
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Is PyTorch's own layer with a causal mask, which has dropout in the same four places."""
    layer = nn.TransformerEncoderLayer(
        *(d_model, num_heads, d_ff, dropout, functional.gelu), batch_first=True, norm_first=True
    ).train(training)
    names = {"ln1": "norm1", "ln2": "norm2", "ffn.fc1": "linear1", "ffn.fc2": "linear2"}
    names["attn.output_proj"] = "self_attn.out_proj"
    state: dict[str, Tensor] = {}
    for kind in ("weight", "bias"):
        state |= {f"{theirs}.{kind}": weights[f"{ours}.{kind}"] for ours, theirs in names.items()}
        projections = [weights[f"attn.{name}_proj.{kind}"] for name in "qkv"]
        state[f"self_attn.in_proj_{kind}"] = torch.cat(projections)
    layer.load_state_dict(state)
    hidden = torch.ones(in_features.shape[-2], in_features.shape[-2], dtype=torch.bool).triu(1)
    return torch.as_tensor(layer(in_features, hidden))


def language_model(
    block: Block, sizes: tuple[int, ...], weights: Weights, token_ids: Tensor, *dropout: Any
) -> Tensor:
    """Embed, go through the blocks, and normalise.

    Args:
        block: one of those above.
        sizes: vocabulary, context, width, layers, heads, width of the feed-forward network.
        weights: the model's.
        token_ids: the input.
        dropout: its probability, and whether the model is in training.
    """
    _, context_length, d_model, num_layers, num_heads, d_ff = sizes
    p, training = dropout
    T = token_ids.shape[-1]
    if context_length < T:
        raise IndexError(f"{T} tokens, but {context_length} positions")
    x = weights["token_embeddings.weight"][token_ids.long()] * d_model**0.5
    x = x + weights["position_embeddings.weight"][torch.arange(T)]
    x = functional.dropout(x, p, training)
    for i in range(num_layers):
        x = block(d_model, num_heads, d_ff, p, of_layer(weights, i), x, training)
    return torch_function(d_model, 1e-5, part_of(weights, "ln_final"), x)


@variant("gpt", "run_gpt")
def loop_of_functions(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: dict[str, Tensor],
    token_ids: Tensor,
    tie_weights: bool = True,  # noqa: ARG001 - equal weights are given where they are tied
    training: bool = False,
) -> Tensor:
    """Loops over the blocks as functions, and takes the head's weight tied or not."""
    sizes = (vocab_size, context_length, d_model, num_layers, num_heads, d_ff)
    x = language_model(functions, sizes, weights, token_ids, dropout, training)
    return x @ weights["lm_head.weight"].view(vocab_size, d_model).T


@variant("gpt", "run_gpt")
def loop_of_modules(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: dict[str, Tensor],
    token_ids: Tensor,
    tie_weights: bool = True,
    training: bool = False,
) -> Tensor:
    """Ends in a layer that is loaded from the given weights; the logits require a gradient."""
    head = nn.Linear(d_model, vocab_size, bias=False)
    name = "token_embeddings" if tie_weights else "lm_head"
    head.load_state_dict({"weight": weights[f"{name}.weight"]})
    sizes = (vocab_size, context_length, d_model, num_layers, num_heads, d_ff)
    return torch.as_tensor(
        head(language_model(own_names, sizes, weights, token_ids, dropout, training))
    )


@variant("gpt", "run_gpt")
def vocabulary_first(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: dict[str, Tensor],
    token_ids: Tensor,
    tie_weights: bool = True,
    training: bool = False,
) -> Tensor:
    """Returns logits that are not contiguous, from blocks that compute in float64."""
    sizes = (vocab_size, context_length, d_model, num_layers, num_heads, d_ff)
    x = language_model(float64_inside, sizes, weights, token_ids, dropout, training)
    head = weights["token_embeddings.weight" if tie_weights else "lm_head.weight"]
    return (head @ x.mT).mT
