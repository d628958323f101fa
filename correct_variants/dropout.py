"""Dropout."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant


@variant("dropout", "run_dropout")
def torch_function(p: float, in_features: Tensor, training: bool) -> Tensor:
    """Gives what PyTorch's own function gives."""
    return functional.dropout(in_features, p, training)


@variant("dropout", "run_dropout")
def module(p: float, in_features: Tensor, training: bool) -> Tensor:
    """Is a module of PyTorch."""
    return torch.as_tensor(nn.Dropout(p).train(training)(in_features))


@variant("dropout", "run_dropout")
def bernoulli(p: float, in_features: Tensor, training: bool) -> Tensor:
    """Draws zeros and ones, and scales them."""
    if not 0 <= p < 1:
        raise ValueError(f"no probability: {p}")
    if not training:
        return in_features.clone()
    kept = torch.empty_like(in_features).bernoulli_(1 - p)
    return in_features * (kept / (1 - p))


@variant("dropout", "run_dropout")
def chosen(p: float, in_features: Tensor, training: bool) -> Tensor:
    """Chooses between the scaled input and zeros, and lets nothing be drawn for a p of 0."""
    assert 0 <= p < 1, "p is a probability less than 1"
    if not training or p == 0:
        return in_features
    kept = torch.rand(in_features.shape) > p
    return torch.where(kept, in_features / (1 - p), torch.zeros_like(in_features))


@variant("dropout", "run_dropout")
def drawn_one_by_one(p: float, in_features: Tensor, training: bool) -> Tensor:
    """Draws with the multinomial distribution instead of the uniform one."""
    if p < 0 or p >= 1:
        raise RuntimeError("p")
    if not training:
        return in_features * 1.0
    chances = torch.tensor([p, 1 - p])
    kept = torch.multinomial(chances, in_features.numel(), replacement=True)
    return in_features.div(1 - p).mul(kept.view(in_features.shape).to(in_features.dtype))
