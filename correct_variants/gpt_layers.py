"""The classic feed-forward network and attention."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant
from .multihead import causal, heads_of, merged

Weights = Mapping[str, Tensor]


def affine(weights: Weights, name: str, x: Tensor) -> Tensor:
    """A linear layer with a bias, by its name."""
    return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


@variant("gpt_feed_forward", "run_gpt_feed_forward")
def feed_forward_of_functions(
    d_model: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Is a row of function calls."""
    assert weights["fc1.weight"].shape == (d_ff, d_model), "A weight is (d_out, d_in)."
    hidden = functional.gelu(affine(weights, "fc1", in_features))
    return affine(weights, "fc2", functional.dropout(hidden, dropout, training))


@variant("gpt_feed_forward", "run_gpt_feed_forward")
def feed_forward_of_modules(
    d_model: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Is a sequence of modules of PyTorch; the output requires a gradient."""
    first, second = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    network = nn.Sequential(first, nn.GELU(), nn.Dropout(dropout), second).train(training)
    names = {"0": "fc1", "3": "fc2"}
    network.load_state_dict(
        {f"{i}.{kind}": weights[f"{names[i]}.{kind}"] for i in names for kind in ("weight", "bias")}
    )
    return torch.as_tensor(network(in_features))


@variant("gpt_feed_forward", "run_gpt_feed_forward")
def feed_forward_by_rows(
    d_model: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Works on a matrix of all rows, with biases added by the product itself."""
    x = in_features.reshape(-1, d_model)
    hidden = torch.addmm(weights["fc1.bias"], x, weights["fc1.weight"].T)
    hidden = hidden * torch.special.ndtr(hidden)
    if training and dropout:
        hidden = hidden * torch.empty(len(x), d_ff).bernoulli_(1 - dropout) / (1 - dropout)
    output = torch.addmm(weights["fc2.bias"], hidden, weights["fc2.weight"].T)
    return output.reshape(in_features.shape)


@variant("gpt_feed_forward", "run_gpt_feed_forward")
def feed_forward_in_float64(
    d_model: int,  # noqa: ARG001 - adapter's parameters
    d_ff: int,  # noqa: ARG001 - adapter's parameters
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Computes in float64."""
    exact = {name: weight.double() for name, weight in weights.items()}
    hidden = functional.gelu(affine(exact, "fc1", in_features.double()))
    hidden = functional.dropout(hidden, dropout, training)
    return affine(exact, "fc2", hidden).to(in_features.dtype)


@variant("gpt_attention", "run_gpt_attention")
def fused_projection(
    d_model: int,  # noqa: ARG001 - adapter's parameters
    num_heads: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Projects to queries, keys and values with one weight, and adds a mask of minus infinity."""
    weight, bias = (
        torch.cat([weights[f"{name}_proj.{kind}"] for name in "qkv"]) for kind in ("weight", "bias")
    )
    parts = torch.chunk(functional.linear(in_features, weight, bias), 3, dim=-1)
    q, k, v = (heads_of(part, num_heads) for part in parts)
    T = in_features.shape[-2]
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + torch.full((T, T), -torch.inf).triu(1)
    probabilities = functional.dropout(scores.softmax(-1), dropout, training)
    return affine(weights, "output_proj", merged(probabilities @ v))


@variant("gpt_attention", "run_gpt_attention")
def head_by_head(
    d_model: int,
    num_heads: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Takes one head after the other, each with its own rows of the weights."""
    width, T = d_model // num_heads, in_features.shape[-2]
    output = weights["output_proj.bias"].expand(in_features.shape)
    for rows in torch.chunk(torch.arange(d_model), num_heads):
        q, k, v = (
            in_features @ weights[f"{name}_proj.weight"][rows].T
            + weights[f"{name}_proj.bias"][rows]
            for name in "qkv"
        )
        scores = (q * width**-0.5 @ k.mT).masked_fill(~causal(T), -1e9)
        head = functional.dropout(torch.softmax(scores, -1), dropout, training) @ v
        output = output + head @ weights["output_proj.weight"][:, rows].T
    return output


@variant("gpt_attention", "run_gpt_attention")
def torch_attention(
    d_model: int,
    num_heads: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Uses PyTorch's own attention, which is causal by itself."""
    assert in_features.shape[-1] == d_model, "The last axis are the features."
    q, k, v = (heads_of(affine(weights, f"{name}_proj", in_features), num_heads) for name in "qkv")
    p = dropout if training else 0.0
    heads = functional.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
    return affine(weights, "output_proj", merged(heads))


@variant("gpt_attention", "run_gpt_attention")
def folded_into_batch(
    d_model: int,
    num_heads: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Unpacks the shape into batch, sequence and features, and folds heads into the batch."""
    B, T, _ = in_features.shape
    width = d_model // num_heads

    def fold(name: str) -> Tensor:
        heads = affine(weights, f"{name}_proj", in_features).view(B, T, num_heads, width)
        return heads.permute(0, 2, 1, 3).reshape(-1, T, width)

    q, k, v = map(fold, "qkv")
    scores = torch.bmm(q, k.transpose(1, 2)) / width**0.5
    scores = torch.where(causal(T), scores, torch.finfo(scores.dtype).min)
    heads = torch.bmm(functional.dropout(scores.softmax(2), dropout, training), v)
    joined = heads.view(B, num_heads, T, width).permute(0, 2, 1, 3).reshape(B, T, d_model)
    return affine(weights, "output_proj", joined)


@variant("gpt_attention", "run_gpt_attention")
def summed(
    d_model: int,
    num_heads: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    """Writes every sum with einsum in float64, and masks after the softmax, scaled again."""
    exact = {name: weight.double() for name, weight in weights.items()}
    q, k, v = (
        affine(exact, f"{name}_proj", in_features.double()).view(
            *in_features.shape[:-1], num_heads, -1
        )
        for name in "qkv"
    )
    scores = torch.einsum("...qhd,...khd->...hqk", q, k) / math.sqrt(d_model // num_heads)
    scores = scores - scores.masked_fill(~causal(q.shape[-3]), -torch.inf).amax(-1, keepdim=True)
    shown = scores.clamp(max=0.0).exp() * causal(q.shape[-3])
    probabilities = functional.dropout(shown / shown.sum(-1, keepdim=True), dropout, training)
    heads = torch.einsum("...hqk,...khd->...qhd", probabilities, v).flatten(-2)
    return affine(exact, "output_proj", heads).to(in_features.dtype)
