"""The small layers."""

import math

import torch
from torch import nn


def silu(x: torch.Tensor) -> torch.Tensor:
    """Return x times its sigmoid."""
    return x * torch.sigmoid(x)


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return probabilities along one dimension."""
    e = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return e / e.sum(dim=dim, keepdim=True)


class Linear(nn.Module):
    """A matrix, no bias."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        std = math.sqrt(2 / (d_in + d_out))
        self.weight = nn.Parameter(torch.empty(d_out, d_in))
        nn.init.trunc_normal_(self.weight, 0.0, std, -3 * std, 3 * std)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply the last dimension."""
        return x @ self.weight.T


class Embedding(nn.Module):
    """One row for each token."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.trunc_normal_(self.weight, 0.0, 1.0, -3.0, 3.0)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Look the rows up."""
        return self.weight[ids.long()]


class RMSNorm(nn.Module):
    """Divide by the root mean square. In float32, half precision overflows when squared."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last dimension."""
        a = x if x.dtype == torch.float64 else x.float()
        a = a * torch.rsqrt((a * a).mean(-1, keepdim=True) + self.eps)
        return (a * self.weight).to(x.dtype)


class SwiGLU(nn.Module):
    """The feed-forward part."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Gate with w1, values from w3, back with w2."""
        return self.w2(silu(self.w1(x)) * self.w3(x))
