"""The whole model."""

import torch
from torch import nn

from .attention import MultiHeadSelfAttention, RoPE
from .layers import Embedding, Linear, RMSNorm, SwiGLU


class Block(nn.Module):
    """Pre-norm block."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, rope: RoPE) -> None:
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.attn = MultiHeadSelfAttention(d_model, num_heads, rope)
        self.ln2 = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attention, then feed-forward, both added to the stream."""
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    """Ids in, logits out."""

    def __init__(
        self,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        theta: float,
    ) -> None:
        super().__init__()
        rope = RoPE(theta, d_model // num_heads, context_length)
        self.context_length = context_length
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            Block(d_model, num_heads, d_ff, rope) for _ in range(num_layers)
        )
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits of the next token at every position."""
        if ids.shape[-1] > self.context_length:
            raise ValueError(f"only {self.context_length} tokens fit, got {ids.shape[-1]}")
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
