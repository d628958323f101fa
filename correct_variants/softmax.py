"""Softmax."""

import torch
from torch import Tensor

from .catalogue import variant


@variant("softmax", "run_softmax")
def log_sum_exp(in_features: Tensor, dim: int) -> Tensor:
    """Subtracts the logarithm of the sum and takes the exponential last."""
    return torch.exp(in_features - torch.logsumexp(in_features, dim, keepdim=True))


@variant("softmax", "run_softmax")
def detached_maximum(in_features: Tensor, dim: int) -> Tensor:
    """Shifts by a maximum through which no gradient flows."""
    shifted = in_features - in_features.detach().amax(dim, keepdim=True)
    exponentials = shifted.exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


@variant("softmax", "run_softmax")
def float64_inside(in_features: Tensor, dim: int) -> Tensor:
    """Computes in float64."""
    x = in_features.double()
    exponentials = torch.exp(x - x.max(dim, keepdim=True).values)
    return (exponentials / exponentials.sum(dim, keepdim=True)).to(in_features.dtype)


@variant("softmax", "run_softmax")
def last_axis(in_features: Tensor, dim: int) -> Tensor:
    """Works on the last axis and moves it back, so the result is not contiguous."""
    rows = in_features.movedim(dim, -1)
    exponentials = (rows - rows.max(-1, keepdim=True)[0]).exp()
    return (exponentials / exponentials.sum(-1)[..., None]).movedim(-1, dim)


@variant("softmax", "run_softmax")
def in_place_on_a_copy(in_features: Tensor, dim: int) -> Tensor:
    """Subtracts the maximum in place from a copy of its argument."""
    x = in_features.clone()
    x -= x.detach().amax(dim, keepdim=True)
    x = x.exp()
    return x.div(x.sum(dim, keepdim=True))
