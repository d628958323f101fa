"""The classic Transformer language model (GPT's family), written bottom-up.

Linear, attention and DecoderLM come from model.py, because both families share them.

Sources, of which the last one (GPT-2) puts the parts together:
    https://arxiv.org/abs/1706.03762  Attention Is All You Need: scaled embeddings, sinusoids, FFN
    https://arxiv.org/abs/1607.06450  Layer Normalization
    https://arxiv.org/abs/1606.08415  Gaussian Error Linear Units
    https://jmlr.org/papers/v15/srivastava14a.html  Dropout
    https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cs336_basics.model import (
    CausalMultiHeadSelfAttention,
    DecoderLM,
    Embedding,
    KeyValueCache,
    Linear,
    scaled_dot_product_attention,
)


class ScaledEmbedding(Embedding):
    """√d_model times the vector of each token id. GPT-2's published weights need a scale of 1."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__(vocab_size, d_model)
        self.scale = math.sqrt(d_model)
        with torch.no_grad():  # scaled, vectors have variance 1, and so have tied logits
            self.weight.div_(self.scale)

    def forward(self, token_ids: Int[Tensor, "..."]) -> Float[Tensor, "... d_model"]:
        """Look up the vector of each id and scale it."""
        return super().forward(token_ids) * self.scale


class LearnedPositions(nn.Module):
    """Adds one learned vector for each position."""

    def __init__(self, context_length: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(context_length, d_model))
        # Small beside the token's vector: the token matters more than its place.
        nn.init.trunc_normal_(self.weight, std=0.02, a=-0.06, b=0.06)

    def forward(
        self, x: Float[Tensor, "... T d_model"], start: int = 0
    ) -> Float[Tensor, "... T d_model"]:
        """Add positions start … start + T - 1.

        Raises:
            IndexError: a position lies beyond the last one that was learned.
        """
        return x + self.weight[torch.arange(start, start + x.shape[-2], device=x.device)]


class SinusoidalPositions(nn.Module):
    """Adds fixed sines and cosines; an alternative to learned positions."""

    def forward(
        self, x: Float[Tensor, "... T d_model"], start: int = 0
    ) -> Float[Tensor, "... T d_model"]:
        """Add positions start … start + T - 1."""
        *_, T, d_model = x.shape
        return x + sinusoidal_positions(start + T, d_model, x.dtype)[start:].to(x.device)


def sinusoidal_positions(
    length: int, d_model: int, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "length d_model"]:
    """sin(i · 10000^(-2k/d_model)) at feature 2k of position i, and cos of it at 2k+1."""
    features = torch.arange(d_model)
    # A float32 angle at position 100,000 is wrong by nearly 1e-2.
    frequencies = 10000.0 ** (-2 * (features // 2).double() / d_model)
    angles = torch.arange(length).unsqueeze(-1) * frequencies  # (length, d_model)
    return torch.where(features % 2 == 0, angles.sin(), angles.cos()).to(dtype)


class LayerNorm(nn.Module):
    """g · (a - mean(a)) / sqrt(var(a) + ε) + b over the last axis, with learned g and b."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise in float32 at least, because squares overflow float16 from 256 on."""
        a = x.to(torch.promote_types(x.dtype, torch.float32))
        centred = a - a.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1); divided by d_model
        return (self.weight * centred / torch.sqrt(variance + self.eps) + self.bias).to(x.dtype)


class Dropout(nn.Module):
    """In training, zero each element with probability p and divide the others by 1 - p.

    The division keeps the expected value, so that evaluation needs no change.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout p = {p} must be at least 0 and less than 1")
        self.p = p

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Drop elements in training; in evaluation, return x itself."""
        if not self.training or self.p == 0:
            return x
        # Half precision has too few numbers for a small p.
        dropped = torch.rand(x.shape, device=x.device, dtype=torch.float32) < self.p
        return x.masked_fill(dropped, 0.0) / (1 - self.p)


def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return x · Φ(x), with the normal distribution function Φ(x) = (1 + erf(x/√2)) / 2."""
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


class FeedForward(nn.Module):
    """W₂ dropout(GELU(W₁x + b₁)) + b₂. GPT-2's published weights need GELU's approximation."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.fc1 = Linear(d_model, d_ff, bias=True)
        self.fc2 = Linear(d_ff, d_model, bias=True)
        self.dropout = Dropout(dropout)
        self.activation: Callable[[Tensor], Tensor] = gelu

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Map each position by itself to d_ff features and back."""
        hidden = self.activation(self.fc1(x))  # (..., d_ff)
        output: Float[Tensor, "... d_model"] = self.fc2(self.dropout(hidden))
        return output


class GPTAttention(CausalMultiHeadSelfAttention):
    """Causal multi-head attention with biases, and with dropout of the attention weights."""

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, num_heads, bias=True)
        self.dropout = Dropout(dropout)

    def attend(self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor) -> Tensor:
        """Attend in every head; in training, dropout sets some attention weights to 0."""
        return scaled_dot_product_attention(Q, K, V, mask, self.dropout)


class GPTBlock(nn.Module):
    """y = x + dropout(attention(LayerNorm(x))), z = y + dropout(FFN(LayerNorm(y)))."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.ln1 = LayerNorm(d_model)
        self.attn = GPTAttention(d_model, num_heads, dropout)
        self.ln2 = LayerNorm(d_model)
        self.ffn = FeedForward(d_model, d_ff, dropout)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "... T d_model"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "... T d_model"]:
        """Add the output of attention to x, then the output of the feed-forward network."""
        y: Float[Tensor, "... T d_model"] = x + self.dropout(self.attn(self.ln1(x), cache=cache))
        z: Float[Tensor, "... T d_model"] = y + self.dropout(self.ffn(self.ln2(y)))
        return z


class GPT(DecoderLM):
    """The classic family: scaled embeddings, positions that are added, LayerNorm, GELU, biases.

    Raises:
        ValueError: there are no such positions, or the sizes do not fit each other.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        tie_weights: bool = True,
        positions: str = "learned",
    ) -> None:
        super().__init__(
            context_length,
            ScaledEmbedding(vocab_size, d_model),
            [GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)],
            LayerNorm(d_model),
            tie_weights=tie_weights,
        )
        self.dropout = Dropout(dropout)
        if positions == "learned":
            self.position_embeddings: nn.Module = LearnedPositions(context_length, d_model)
        elif positions == "sinusoidal":
            self.position_embeddings = SinusoidalPositions()
        else:
            raise ValueError(f"positions = {positions!r} must be 'learned' or 'sinusoidal'")

    def embed(self, token_ids: Int[Tensor, "... T"], start: int) -> Float[Tensor, "... T d_model"]:
        """Add positions to the embeddings, and drop elements of the sum in training."""
        tokens = self.token_embeddings(token_ids)
        x: Float[Tensor, "... T d_model"] = self.dropout(self.position_embeddings(tokens, start))
        return x
