"""The modern Transformer language model (LLaMA's family), written bottom-up.

Below it, in this order: layers.py, positions.py, decoder.py.

Sources:
    Language Modeling with Gated Convolutional Networks (Dauphin et al., arXiv:1612.08083): GLU.
    Root Mean Square Layer Normalization (Zhang & Sennrich, arXiv:1910.07467).
    GLU Variants Improve Transformer (Shazeer, arXiv:2002.05202): SwiGLU.
    LLaMA (Touvron et al., arXiv:2302.13971): these parts put together; d_ff = 8/3 d_model.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cs336_basics.decoder import (
    CausalMultiHeadSelfAttention,
    DecoderBlock,
    DecoderLM,
    head_width,
)
from cs336_basics.gradients import SiLU, UnitRMS, float32_at_least
from cs336_basics.layers import Embedding, Linear
from cs336_basics.positions import RotaryPositionalEmbedding


class RMSNorm(nn.Module):
    """g · a / sqrt(mean(a²) + ε) over the last axis, with a learned gain g (arXiv:1910.07467)."""

    def __init__(
        self,
        d_model: int,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model, device=device, dtype=dtype))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise in float32 at least, because squares overflow float16 from 256 on."""
        return (UnitRMS.of(float32_at_least(x), self.eps) * self.weight).to(x.dtype)


def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Swish: x · sigmoid(x)."""
    return SiLU.of(x)


class GLU(nn.Module):
    """The gated linear unit sigmoid(W₁x) ⊙ W₂x (arXiv:1612.08083), which SwiGLU descends from."""

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.w1 = Linear(d_model, d_ff, device, dtype)
        self.w2 = Linear(d_model, d_ff, device, dtype)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_ff"]:
        """Let the gate sigmoid(W₁x) decide how much of W₂x passes."""
        output: Float[Tensor, "... d_ff"] = torch.sigmoid(self.w1(x)) * self.w2(x)
        return output


def swiglu_d_ff(d_model: int) -> int:
    """8/3 d_model, rounded to the nearest multiple of 64 (at least 64).

    Three matrices of this width have as many parameters as the two of a classic feed-forward
    network with 4 d_model; multiples of 64 suit the hardware.

    >>> swiglu_d_ff(512)
    1344
    """
    return 64 * max(1, round(8 / 3 * d_model / 64))


class SwiGLU(nn.Module):
    """The feed-forward network W₂(SiLU(W₁x) ⊙ W₃x) (arXiv:2002.05202)."""

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_ff = swiglu_d_ff(d_model) if d_ff is None else d_ff
        self.w1 = Linear(d_model, d_ff, device, dtype)
        self.w2 = Linear(d_ff, d_model, device, dtype)
        self.w3 = Linear(d_model, d_ff, device, dtype)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Let the gate SiLU(W₁x) decide how much of W₃x passes."""
        hidden: Float[Tensor, "... d_ff"] = silu(self.w1(x)) * self.w3(x)
        output: Float[Tensor, "... d_model"] = self.w2(hidden)
        return output


class TransformerBlock(DecoderBlock):
    """RMSNorm, causal attention, RMSNorm, SwiGLU, the norms before what they are for."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        rope: RotaryPositionalEmbedding | None = None,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            ln1=RMSNorm(d_model, device=device, dtype=dtype),
            attn=CausalMultiHeadSelfAttention(d_model, num_heads, rope, device, dtype),
            ln2=RMSNorm(d_model, device=device, dtype=dtype),
            ffn=SwiGLU(d_model, d_ff, device, dtype),
        )


class TransformerLM(DecoderLM):
    """Embedding → blocks → final RMSNorm → output projection; RoPE tells attention positions."""

    def __init__(
        self,
        *,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        rope_theta: float,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        # One table for all layers: it depends on nothing that differs among them.
        d_k = head_width(d_model, num_heads)
        rope = RotaryPositionalEmbedding(rope_theta, d_k, context_length, device)
        super().__init__(
            context_length=context_length,
            token_embeddings=Embedding(vocab_size, d_model, device, dtype),
            position_embeddings=None,
            layers=[
                TransformerBlock(d_model, num_heads, d_ff, rope, device=device, dtype=dtype)
                for _ in range(num_layers)
            ],
            ln_final=RMSNorm(d_model, device=device, dtype=dtype),
            lm_head=Linear(d_model, vocab_size, device, dtype),
        )
