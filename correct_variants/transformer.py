"""The Transformer block and the language model, put together from other variants."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant
from .feed_forward import swiglu_fused, swiglu_layers
from .multihead import rope_for_all_heads, rope_head_by_head, rope_in_float64
from .norm import division, reciprocal_root

Weights = Mapping[str, Tensor]
Block = Callable[[int, int, int, int, float, dict[str, Tensor], Tensor], Tensor]


def attention_weights(weights: Weights) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The weights of queries, keys, values and output."""
    q, k, v, output = (
        weights[f"attn.{name}.weight"] for name in ("q_proj", "k_proj", "v_proj", "output_proj")
    )
    return q, k, v, output


def feed_forward_weights(weights: Weights) -> tuple[Tensor, Tensor, Tensor]:
    """The weights of SwiGLU."""
    return weights["ffn.w1.weight"], weights["ffn.w2.weight"], weights["ffn.w3.weight"]


@variant("transformer_block", "run_transformer_block")
def functions(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Tensor,
) -> Tensor:
    """Is a row of function calls without modules."""
    normalised = reciprocal_root(d_model, 1e-5, weights["ln1.weight"], in_features)
    y = in_features + rope_for_all_heads(
        d_model, num_heads, max_seq_len, theta, *attention_weights(weights), normalised
    )
    normalised = reciprocal_root(d_model, 1e-5, weights["ln2.weight"], y)
    return y + swiglu_fused(d_model, d_ff, *feed_forward_weights(weights), normalised)


class PreNorm(nn.Module):
    """A residual connection around anything; its names are no published ones."""

    def __init__(self, gain: Tensor, inside: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.gain = nn.Parameter(gain.clone())
        self.inside = inside

    def forward(self, x: Tensor) -> Tensor:
        """Add what the inside makes of the normalised input."""
        return self.inside(division(x.shape[-1], 1e-5, self.gain, x)).add(x)


@variant("transformer_block", "run_transformer_block")
def modules(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Tensor,
) -> Tensor:
    """Is a sequence of two modules with names of their own; the output requires a gradient."""
    attention, feed_forward = attention_weights(weights), feed_forward_weights(weights)
    block = nn.Sequential(
        PreNorm(
            weights["ln1.weight"],
            lambda x: rope_head_by_head(d_model, num_heads, max_seq_len, theta, *attention, x),
        ),
        PreNorm(weights["ln2.weight"], lambda x: swiglu_layers(d_model, d_ff, *feed_forward, x)),
    )
    return torch.as_tensor(block(in_features))


@variant("transformer_block", "run_transformer_block")
def float64_inside(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Tensor,
) -> Tensor:
    """Computes in float64."""
    exact, x = {name: weight.double() for name, weight in weights.items()}, in_features.double()
    x = x + rope_in_float64(
        d_model,
        num_heads,
        max_seq_len,
        theta,
        *attention_weights(exact),
        functional.rms_norm(x, (d_model,), exact["ln1.weight"], 1e-5),
    )
    normalised = functional.rms_norm(x, (d_model,), exact["ln2.weight"], 1e-5)
    x = x + swiglu_fused(d_model, d_ff, *feed_forward_weights(exact), normalised)
    return x.to(in_features.dtype)


def of_layer(weights: Weights, i: int) -> dict[str, Tensor]:
    """The weights of one block, by the block's own names."""
    prefix = f"layers.{i}."
    return {
        name.removeprefix(prefix): weight
        for name, weight in weights.items()
        if name.startswith(prefix)
    }


def language_model(
    block: Block,
    sizes: tuple[int, int, int, int, float],
    num_layers: int,
    weights: Weights,
    in_indices: Tensor,
) -> Tensor:
    """Embed, go through the blocks, and normalise."""
    x = weights["token_embeddings.weight"][in_indices]
    for i in range(num_layers):
        x = block(*sizes, of_layer(weights, i), x)
    return reciprocal_root(x.shape[-1], 1e-5, weights["ln_final.weight"], x)


@variant("transformer_lm", "run_transformer_lm")
def loop_of_functions(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Tensor,
) -> Tensor:
    """Loops over the blocks as functions, and builds RoPE anew in each."""
    sizes = (d_model, num_heads, d_ff, context_length, rope_theta)
    x = language_model(functions, sizes, num_layers, weights, in_indices)
    return x @ weights["lm_head.weight"].view(vocab_size, d_model).T


@variant("transformer_lm", "run_transformer_lm")
def loop_of_modules(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Tensor,
) -> Tensor:
    """Ends in a layer that is loaded from the given weights; the logits require a gradient."""
    head = nn.Linear(d_model, vocab_size, bias=False)
    head.load_state_dict({"weight": weights["lm_head.weight"]})
    sizes = (d_model, num_heads, d_ff, context_length, rope_theta)
    return torch.as_tensor(
        head(language_model(modules, sizes, num_layers, weights, in_indices.long()))
    )


@variant("transformer_lm", "run_transformer_lm")
def vocabulary_first(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Tensor,
) -> Tensor:
    """Returns logits that are not contiguous, from blocks that compute in float64."""
    sizes = (d_model, num_heads, d_ff, context_length, rope_theta)
    x = language_model(float64_inside, sizes, num_layers, weights, in_indices)
    return (weights["lm_head.weight"].view(vocab_size, d_model) @ x.mT).mT
