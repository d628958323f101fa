"""The decoder that both families share: heads, what attention keeps, blocks, the model around them.

Each family puts its own norms, feed-forward networks and positions into it.

Sources:
    Attention Is All You Need (Vaswani et al., arXiv:1706.03762): heads, the decoder.
    On Layer Normalization in the Transformer Architecture (Xiong et al., arXiv:2002.04745):
    the norm before each part instead of after it.
"""

from collections.abc import Sequence
from itertools import repeat

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cs336_basics.layers import Dropout, Embedding, Linear, scaled_dot_product_attention
from cs336_basics.positions import (
    LearnedPositions,
    RotaryPositionalEmbedding,
    SinusoidalPositions,
    turn,
)


class KeyValueCache:
    """The keys and values that one layer's attention has computed so far, one context at most.

    With it, a forward pass over new tokens alone gives what one over all tokens would give for
    them, because a causal model computes nothing anew for what lies in the past. It is filled in
    place: autograd refuses to go back through it.
    """

    def __init__(self, context_length: int) -> None:
        self.context_length = context_length
        self.length = 0
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        """Give the number of positions that are held."""
        return self.length

    def extend(
        self, K: Float[Tensor, "... T d_k"], V: Float[Tensor, "... T d_v"]
    ) -> tuple[Float[Tensor, "... S d_k"], Float[Tensor, "... S d_v"]]:
        """Add the keys and values of new positions, and give those of all.

        Raises:
            ValueError: there are more of them than the context is long.
        """
        start, end = self.length, self.length + K.shape[-2]
        if self.context_length < end:
            raise ValueError(f"{end} positions, but the cache has room for {self.context_length}")
        if self.keys is None or self.values is None:
            # Room for all that may come, so that a token does not copy those before it.
            self.keys = K.new_empty(*K.shape[:-2], self.context_length, K.shape[-1])
            self.values = V.new_empty(*V.shape[:-2], self.context_length, V.shape[-1])
        self.keys[..., start:end, :] = K
        self.values[..., start:end, :] = V
        self.length = end
        return self.keys[..., :end, :], self.values[..., :end, :]


def head_width(d_model: int, num_heads: int) -> int:
    """d_k = d_v = d_model / H.

    Raises:
        ValueError: the heads do not divide d_model.
    """
    if d_model % num_heads != 0:
        raise ValueError(f"d_model = {d_model} cannot be divided among {num_heads} heads")
    return d_model // num_heads


class CausalMultiHeadSelfAttention(nn.Module):
    """H attentions side by side; position i sees the positions j ≤ i (arXiv:1706.03762, 3.2.2).

    Rows of the projections are ordered by head: the first d_model/H belong to the first head.
    Dropout, where there is any, is of the attention weights.

    Raises:
        ValueError: heads do not divide d_model, or rope was built for another width of head.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        rope: RotaryPositionalEmbedding | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_k = head_width(d_model, num_heads)
        if rope is not None and rope.d_k != d_k:
            raise ValueError(f"RoPE for d_k = {rope.d_k} does not fit heads of {d_k} features")
        self.num_heads = num_heads
        self.q_proj = Linear(d_model, d_model, device, dtype, bias=bias)
        self.k_proj = Linear(d_model, d_model, device, dtype, bias=bias)
        self.v_proj = Linear(d_model, d_model, device, dtype, bias=bias)
        self.output_proj = Linear(d_model, d_model, device, dtype, bias=bias)
        self.dropout = Dropout(dropout)
        self.rope = rope

    def forward(
        self,
        x: Float[Tensor, "... T d_model"],
        token_positions: Int[Tensor, "... T"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "... T d_model"]:
        """Attend to the past.

        Args:
            x: What to attend from, and to.
            token_positions: They matter to RoPE only, whose forward says how. Not given, they
                follow those that the cache holds.
            cache: What came before x; x is added to it.
        """
        Q = self.split_heads(self.q_proj(x))
        K = self.split_heads(self.k_proj(x))
        V = self.split_heads(self.v_proj(x))
        T = x.shape[-2]
        if self.rope is not None:
            start = 0 if cache is None else len(cache)
            turns = self.rope.turns(Q, token_positions, start)
            Q, K = turn(Q, turns), turn(K, turns)
        if cache is not None:
            K, V = cache.extend(K, V)
        S = K.shape[-2]
        # The last query stands where the last key stands, and one alone sees them all.
        causal_mask = (
            None if T == 1 else torch.ones(T, S, dtype=torch.bool, device=x.device).tril(S - T)
        )
        heads = scaled_dot_product_attention(Q, K, V, causal_mask, self.dropout)  # (..., H, T, d_v)
        output: Float[Tensor, "... T d_model"] = self.output_proj(
            heads.transpose(-3, -2).flatten(-2)
        )
        return output

    def split_heads(self, x: Float[Tensor, "... T d_model"]) -> Float[Tensor, "... H T d_k"]:
        """Give every head its own matrix."""
        *leading, d_model = x.shape
        heads = x.reshape(*leading, self.num_heads, d_model // self.num_heads)
        return heads.transpose(-3, -2).contiguous()


class DecoderBlock(nn.Module):
    """y = x + attn(ln1(x)), z = y + ffn(ln2(y)): pre-norm (arXiv:2002.04745)."""

    def __init__(
        self,
        ln1: nn.Module,
        attn: CausalMultiHeadSelfAttention,
        ln2: nn.Module,
        ffn: nn.Module,
    ) -> None:
        super().__init__()
        self.ln1 = ln1
        self.attn = attn
        self.ln2 = ln2
        self.ffn = ffn

    def forward(
        self, x: Float[Tensor, "... T d_model"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "... T d_model"]:
        """Add what attention and then the feed-forward network make of the normalised input."""
        y: Float[Tensor, "... T d_model"] = x + self.attn(self.ln1(x), cache=cache)
        z: Float[Tensor, "... T d_model"] = y + self.ffn(self.ln2(y))
        return z


class DecoderLM(nn.Module):
    """Embedding → positions → blocks → final norm → projection: logits of every next token."""

    def __init__(
        self,
        *,
        context_length: int,
        token_embeddings: Embedding,
        position_embeddings: LearnedPositions | SinusoidalPositions | None,
        layers: Sequence[DecoderBlock],
        ln_final: nn.Module,
        lm_head: Linear,
    ) -> None:
        super().__init__()
        self.context_length = context_length
        self.token_embeddings = token_embeddings
        # None where attention knows the positions by itself, as with RoPE.
        self.position_embeddings = position_embeddings
        self.layers = nn.ModuleList(layers)
        self.ln_final = ln_final
        self.lm_head = lm_head

    def forward(
        self,
        token_ids: Int[Tensor, "... T"],
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "... T vocab_size"]:
        """Logits for the token after each of the given ones.

        Args:
            token_ids: The tokens, from the first position on or from where the caches end.
            caches: One for each layer, for what came before; the tokens are added to them.

        Raises:
            ValueError: the sequence is longer than the context, an id is not in the vocabulary, or
                there is not one cache for each layer.
        """
        if caches is not None and len(caches) != len(self.layers):
            raise ValueError(f"{len(caches)} caches do not fit {len(self.layers)} layers")
        start = len(caches[0]) if caches else 0
        length = start + token_ids.shape[-1]
        if self.context_length < length:
            raise ValueError(
                f"{length} tokens are more than the context of {self.context_length}: "
                f"pass the last {self.context_length} or build a model with a longer context"
            )
        x: Float[Tensor, "... T d_model"] = self.token_embeddings(token_ids)
        if self.position_embeddings is not None:
            x = self.position_embeddings(x, start)
        for layer, cache in zip(self.layers, caches or repeat(None), strict=False):
            x = layer(x, cache)
        logits: Float[Tensor, "... T vocab_size"] = self.lm_head(self.ln_final(x))
        return logits
