"""Scaled dot-product attention."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import variant


def scores_of(Q: Tensor, K: Tensor) -> Tensor:
    """The scaled scores, (…, queries, keys)."""
    return Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def minus_infinity(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills hidden scores with minus infinity; a row that is all hidden becomes NaN."""
    scores = scores_of(Q, K)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ V


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def finite_fill(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills hidden scores with -1e9; a row that is all hidden becomes the mean of all values."""
    scores = scores_of(Q, K)
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e9)
    return torch.softmax(scores, -1) @ V


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def smallest_number(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills hidden scores with the type's smallest number."""
    scores = torch.einsum("...qd,...kd->...qk", Q, K) * Q.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.einsum("...qk,...kv->...qv", torch.softmax(scores, -1), V)


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def added_bias(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Adds a bias of 0 or minus infinity to the scores."""
    scores = scores_of(Q, K)
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ V


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def renormalised(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes the hidden keys' weights away after the exponential and normalises what is left."""
    scores = scores_of(Q, K)
    allowed = torch.ones_like(scores) if mask is None else mask.to(scores.dtype)
    highest = torch.where(allowed.bool(), scores, -torch.inf).amax(-1, keepdim=True)
    # A hidden key may have any score: its exponential must not overflow before it is taken away.
    # A bound of 0 would cut the gradient of the highest score, which lies on it.
    weights = torch.exp((scores - highest.detach()).clamp(max=1.0)) * allowed
    return weights / weights.sum(-1, keepdim=True) @ V


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def logarithm_of_the_sum(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Subtracts the logarithm of the sum of exponentials, and then takes the exponential."""
    scores = scores_of(Q, K)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.exp(scores - scores.logsumexp(-1, keepdim=True)) @ V


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def scaled_before(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scales queries and keys by the fourth root each, before they are multiplied."""
    scale = Q.shape[-1] ** -0.25
    scores = (Q * scale) @ (K * scale).mT
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, -1) @ V


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def zeros_where_all_hidden(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Gives zeros for a query that may attend to no key."""
    if mask is None:
        mask = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool)
    weights = torch.softmax(scores_of(Q, K).masked_fill(~mask, -torch.inf), -1)
    return torch.where(mask.any(-1, keepdim=True), weights, 0.0) @ V


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def float64_inside(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Computes in float64."""
    return minus_infinity(Q.double(), K.double(), V.double(), mask).to(V.dtype)


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def keys_first(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Keeps the scores as (keys, queries), so the result is not contiguous."""
    scores = K @ Q.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask.mT, -torch.inf)
    return (V.mT @ torch.softmax(scores, -2)).mT


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def torch_function(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Gives what PyTorch's own function gives."""
    return functional.scaled_dot_product_attention(Q, K, V, mask)


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def two_keys_at_a_time(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Never holds more than two columns of scores, and corrects what it has as their maximum grows.

    That is FlashAttention's way: https://arxiv.org/abs/2205.14135, algorithm 1.
    """
    highest = torch.full_like(Q[..., :1], torch.finfo(Q.dtype).min)
    weight, output = torch.zeros_like(highest), Q.new_zeros(V.shape[-1])
    for first in range(0, K.shape[-2], 2):
        keys = slice(first, first + 2)
        scores = scores_of(Q, K[..., keys, :])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., keys], -torch.inf)
        new = torch.maximum(highest, scores.amax(-1, keepdim=True))
        kept, added = torch.exp(highest - new), torch.exp(scores - new)
        weight = weight * kept + added.sum(-1, keepdim=True)
        output, highest = output * kept + added @ V[..., keys, :], new
    return output / weight


@variant("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def batches_of_matrices(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes all leading dimensions for one batch, of which there has to be one at least."""
    shape = (*Q.shape[:-2], Q.shape[-2], K.shape[-2])
    allowed = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    q, k, v, allowed = (x.flatten(0, x.dim() - 3) for x in (Q, K, V, allowed))
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores.masked_fill(~allowed, -torch.inf), 2)
    return torch.bmm(weights, v).view(*Q.shape[:-1], V.shape[-1])
