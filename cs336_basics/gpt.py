"""The classic Transformer language model (GPT's family), written bottom-up.

Below it, in this order: layers.py, positions.py, decoder.py.

Sources:
    Attention Is All You Need (Vaswani et al., arXiv:1706.03762): the feed-forward network; token
    embeddings scaled by √d_model and tied to the output projection (section 3.4).
    Layer Normalization (Ba et al., arXiv:1607.06450).
    Gaussian Error Linear Units (Hendrycks & Gimpel, arXiv:1606.08415).
    Using the Output Embedding to Improve Language Models (Press & Wolf, arXiv:1608.05859).
    GPT-2 (Radford et al., 2019): these parts put together, d_ff = 4 d_model.
"""

import math
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cs336_basics.decoder import CausalMultiHeadSelfAttention, DecoderBlock, DecoderLM
from cs336_basics.gradients import GELU, UnitRMS, float32_at_least
from cs336_basics.layers import Dropout, Embedding, Linear
from cs336_basics.positions import LearnedPositions, SinusoidalPositions


class LayerNorm(nn.Module):
    """g · (a - mean(a)) / sqrt(var(a) + ε) + b over the last axis (arXiv:1607.06450).

    The variance is that of the features themselves: the mean square, divided by their number and
    not by one less.
    """

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
        self.bias = nn.Parameter(torch.zeros(d_model, device=device, dtype=dtype))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise in float32 at least, because squares overflow float16 from 256 on."""
        a = float32_at_least(x)
        normalised = UnitRMS.of(a - a.mean(dim=-1, keepdim=True), self.eps)
        return torch.addcmul(self.bias, normalised, self.weight).to(x.dtype)


def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GELU(x) = x · Φ(x), Φ the normal distribution function (arXiv:1606.08415)."""
    return GELU.of(x)


class FeedForward(nn.Module):
    """W₂ dropout(GELU(W₁x + b₁)) + b₂, for each position by itself (arXiv:1706.03762, 3.3).

    GPT-2's published weights were trained with an approximation of GELU: set activation to it.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.fc1 = Linear(d_model, d_ff, device, dtype, bias=True)
        self.fc2 = Linear(d_ff, d_model, device, dtype, bias=True)
        self.dropout = Dropout(dropout)
        self.activation: Callable[[Tensor], Tensor] = gelu

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Widen, bend and narrow again."""
        hidden: Float[Tensor, "... d_ff"] = self.dropout(self.activation(self.fc1(x)))
        output: Float[Tensor, "... d_model"] = self.fc2(hidden)
        return output


class ScaledEmbedding(Embedding):
    """√d_model times the vector of each token id (arXiv:1706.03762, section 3.4).

    Vectors are small at first, so that the scaled ones have variance 1, and so have the logits
    where the output projection shares the weight. GPT-2's published weights want a scale of 1.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(vocab_size, d_model, device, dtype)
        self.scale = math.sqrt(d_model)
        with torch.no_grad():
            self.weight.div_(self.scale)

    def forward(self, token_ids: Int[Tensor, "..."]) -> Float[Tensor, "... d_model"]:
        """Look up the vector of every id and scale it.

        Raises:
            ValueError: an id is negative or not smaller than the size of the vocabulary.
        """
        return super().forward(token_ids) * self.scale


class GPTBlock(DecoderBlock):
    """LayerNorm, causal attention, LayerNorm, feed-forward network, all of them with biases."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            ln1=LayerNorm(d_model, device=device, dtype=dtype),
            attn=CausalMultiHeadSelfAttention(
                d_model, num_heads, device=device, dtype=dtype, bias=True, dropout=dropout
            ),
            ln2=LayerNorm(d_model, device=device, dtype=dtype),
            ffn=FeedForward(d_model, d_ff, dropout, device, dtype),
        )


POSITIONS: dict[str, type[LearnedPositions | SinusoidalPositions]] = {
    "learned": LearnedPositions,
    "sinusoidal": SinusoidalPositions,
}


class GPT(DecoderLM):
    """Scaled embedding → positions → blocks → final LayerNorm → output projection.

    With tied weights the output projection is the embedding's own Parameter: it is trained and
    counted once, though a state dict holds it under both names.

    Raises:
        ValueError: there are no such positions, or a part refuses its size.
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
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if positions not in POSITIONS:
            raise ValueError(f"positions = {positions!r} must be one of {', '.join(POSITIONS)}")
        super().__init__(
            context_length=context_length,
            token_embeddings=ScaledEmbedding(vocab_size, d_model, device, dtype),
            position_embeddings=POSITIONS[positions](context_length, d_model, device, dtype),
            layers=[
                GPTBlock(d_model, num_heads, d_ff, dropout, device=device, dtype=dtype)
                for _ in range(num_layers)
            ],
            ln_final=LayerNorm(d_model, device=device, dtype=dtype),
            lm_head=Linear(d_model, vocab_size, device, dtype),
        )
        self.tie_weights = tie_weights
        self.tie()
        # torch has not annotated what it lets a module do around loading and moving.
        self.register_load_state_dict_pre_hook(require_same_weights)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_post_hook(GPT.tie)  # type: ignore[no-untyped-call]

    def tie(self, *_: object) -> None:
        """Let the output projection use the embedding's Parameter, where weights are tied."""
        if self.tie_weights:
            self.lm_head.weight = self.token_embeddings.weight

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "GPT":
        """Move or convert, which makes two Parameters of one between some devices."""
        # torch has not annotated this either.
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.tie()
        return self


def require_same_weights(
    model: GPT, state_dict: Mapping[str, Tensor], prefix: str, *_: object
) -> None:
    """Refuse two different weights for what is one Parameter, instead of taking the latter.

    Raises:
        ValueError: the weights are tied, but those of the state dict differ.
    """
    first = state_dict.get(f"{prefix}token_embeddings.weight")
    second = state_dict.get(f"{prefix}lm_head.weight")
    if not model.tie_weights or first is None or second is None or first.is_meta or second.is_meta:
        return
    if not torch.equal(first, second):
        raise ValueError(
            "token_embeddings.weight and lm_head.weight differ, but this model ties them: "
            "build it with tie_weights=False"
        )
