"""RoPE and attention."""

import math

import torch
from torch import nn

from .layers import Linear, softmax


class RoPE(nn.Module):
    """Rotates queries and keys by their position."""

    def __init__(self, theta: float, d_k: int, max_seq_len: int) -> None:
        super().__init__()
        freqs = theta ** (-torch.arange(0, d_k, 2).double() / d_k)
        angles = torch.outer(torch.arange(max_seq_len).double(), freqs)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Rotate the pairs of the last dimension."""
        cos, sin = self.cos[positions], self.sin[positions]
        while cos.dim() < x.dim() and positions.dim() > 1:
            # (batch, seq, d/2) -> (batch, 1, seq, d/2): all heads alike
            cos, sin = cos.unsqueeze(-3), sin.unsqueeze(-3)
        first, second = x.chunk(2, dim=-1)
        rotated = torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
        return rotated.to(x.dtype)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Scaled dot-product attention; mask is True where we may look."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is None:
        return softmax(scores) @ v
    # finfo.min instead of -inf: a row without anything to look at would be nan
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return softmax(scores).masked_fill(~mask, 0.0) @ v


class MultiHeadSelfAttention(nn.Module):
    """Causal, with RoPE if given."""

    def __init__(self, d_model: int, num_heads: int, rope: RoPE | None = None) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.rope = rope
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        """(..., seq, d_model) -> (..., head, seq, d_head)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        """Attend to the past."""
        seq = x.shape[-2]
        q, k, v = self.heads(self.q_proj(x)), self.heads(self.k_proj(x)), self.heads(self.v_proj(x))
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(seq, device=x.device)
            q, k = self.rope(q, positions), self.rope(k, positions)
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=x.device))
        out = attention(q, k, v, mask).transpose(-2, -3).flatten(-2)
        return self.output_proj(out)
