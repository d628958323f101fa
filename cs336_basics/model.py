"""The modern Transformer language model (LLaMA's family), written bottom-up.

Each formula is computed as it is written, and autograd finds the gradients. DecoderLM, near the
end, is the frame of the classic family too.

Sources:
    https://arxiv.org/abs/1706.03762  Attention Is All You Need: attention, heads
    https://proceedings.mlr.press/v9/glorot10a.html  Glorot & Bengio: the variance of first weights
    https://arxiv.org/abs/1910.07467  Root Mean Square Layer Normalization
    https://arxiv.org/abs/1612.08083  Language Modeling with Gated Convolutional Networks: GLU
    https://arxiv.org/abs/2002.05202  GLU Variants Improve Transformer: SwiGLU
    https://arxiv.org/abs/2104.09864  RoFormer: rotary position embedding (RoPE)
    https://arxiv.org/abs/2305.13245  GQA: query heads that share keys and values
    https://arxiv.org/abs/2002.04745  On Layer Normalization: a norm before each part, not after it
    https://arxiv.org/abs/1608.05859  Using the Output Embedding: tied weights
    https://arxiv.org/abs/2302.13971  LLaMA: these parts put together

Axes; the others are called as the arguments that set them, and ... stands for any number of axes:
    T   new positions; S, these after the ones in the cache
    H   heads, each with queries and keys of width d_k and values of width d_v
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


class Linear(nn.Module):
    """y = x Wᵀ, or x Wᵀ + b. The weight has shape (d_out, d_in)."""

    bias: nn.Parameter | None

    def __init__(self, d_in: int, d_out: int, *, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in))
        # Activations keep their variance on the way forward, and gradients on the way back.
        std = math.sqrt(2 / (d_in + d_out))
        nn.init.trunc_normal_(self.weight, std=std, a=-3 * std, b=3 * std)
        self.bias = nn.Parameter(torch.zeros(d_out)) if bias else None

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        """Map the last axis from d_in to d_out."""
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


class Embedding(nn.Module):
    """One learned vector for each token id."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.trunc_normal_(self.weight, std=1.0, a=-3.0, b=3.0)

    def forward(self, token_ids: Int[Tensor, "..."]) -> Float[Tensor, "... d_model"]:
        """Look up the vector of each id.

        Raises:
            ValueError: an id is negative or not smaller than vocab_size.
        """
        ids, size = token_ids.long(), len(self.weight)  # PyTorch reads uint8 indices as a mask
        readable = not (ids.is_meta or torch.compiler.is_compiling())
        if readable and ((ids < 0) | (ids >= size)).any():  # indexing accepts negative ids
            raise ValueError(
                f"token ids from {ids.min()} to {ids.max()} for a vocabulary of {size}"
            )
        return self.weight[ids]


class RMSNorm(nn.Module):
    """g · a / sqrt(mean(a²) + ε) over the last axis, with a learned gain g."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise in float32 at least, because squares overflow float16 from 256 on."""
        a = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = torch.sqrt(a.square().mean(dim=-1, keepdim=True) + self.eps)  # (..., 1)
        return (a / rms * self.weight).to(x.dtype)


def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Swish: x · sigmoid(x)."""
    return x * torch.sigmoid(x)


class GLU(nn.Module):
    """The gated linear unit sigmoid(W₁x) ⊙ W₂x, from which SwiGLU descends."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_model, d_ff)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_ff"]:
        """Multiply each feature of W₂x by a gate between 0 and 1."""
        output: Float[Tensor, "... d_ff"] = torch.sigmoid(self.w1(x)) * self.w2(x)
        return output


class SwiGLU(nn.Module):
    """The feed-forward network W₂(SiLU(W₁x) ⊙ W₃x)."""

    def __init__(self, d_model: int, d_ff: int | None = None) -> None:
        super().__init__()
        d_ff = swiglu_d_ff(d_model) if d_ff is None else d_ff
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Gate W₃x with SiLU(W₁x), and map it back to d_model."""
        hidden: Float[Tensor, "... d_ff"] = silu(self.w1(x)) * self.w3(x)
        output: Float[Tensor, "... d_model"] = self.w2(hidden)
        return output


def swiglu_d_ff(d_model: int) -> int:
    """Return 8/3 d_model, rounded to the nearest multiple of 64, and at least 64.

    Its three matrices have then as many parameters as two of a classic network with 4 d_model.

    >>> swiglu_d_ff(512)
    1344
    """
    return 64 * max(1, round(8 / 3 * d_model / 64))


def rope(
    x: Float[Tensor, "... T d_k"], token_positions: Int[Tensor, "... T"], theta: float
) -> Float[Tensor, "... T d_k"]:
    """Turn the pair (2k, 2k+1) of a query or key at position i by the angle i · Θ^(-2k/d_k).

    The dot product of a query and a key then depends on the distance of their positions alone.
    Positions broadcast along the leading axes of x.
    """
    # A float32 angle at position 100,000 is wrong by nearly 1e-2. MPS has no float64.
    exact = torch.float32 if x.device.type == "mps" else torch.float64
    pairs = torch.arange(0, x.shape[-1], 2, device=x.device, dtype=exact)
    angles = token_positions.unsqueeze(-1) * theta ** (-pairs / x.shape[-1])  # (..., T, d_k/2)
    dtype = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, d_k/2)
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)  # (..., T, d_k/2, 2)
    return turned.flatten(-2).to(x.dtype)


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """exp(x) along one axis, divided by its sum."""
    # The shift changes nothing, but now exp cannot overflow, and the sum is at least exp(0).
    exponentials = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def scaled_dot_product_attention(
    Q: Float[Tensor, "... T d_k"],
    K: Float[Tensor, "... S d_k"],
    V: Float[Tensor, "... S d_v"],
    mask: Bool[Tensor, "... T S"] | None = None,
    dropout: nn.Module | None = None,
) -> Float[Tensor, "... T d_v"]:
    """softmax(QKᵀ/√d_k) V. The mask is True where a query may attend to a key."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores, dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ V


class KeyValueCache:
    """The keys and values of all positions that one layer's attention has seen.

    In a causal model, new tokens change nothing at earlier positions. A forward pass over the new
    tokens, with the cache, therefore gives the same outputs for them as a pass over all tokens.
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        """Return the number of positions."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def extend(
        self, K: Float[Tensor, "... T d_k"], V: Float[Tensor, "... T d_v"]
    ) -> tuple[Float[Tensor, "... S d_k"], Float[Tensor, "... S d_v"]]:
        """Add the keys and values of new positions, and return those of all positions."""
        if self.keys is not None and self.values is not None:
            K, V = torch.cat((self.keys, K), dim=-2), torch.cat((self.values, V), dim=-2)
        self.keys, self.values = K, V
        return K, V


class CausalMultiHeadSelfAttention(nn.Module):
    """H attentions side by side, in which position i attends to the positions j ≤ i.

    Rows of the projections are ordered by head. With fewer num_kv_heads, query heads share keys and
    values (grouped-query attention). Without rope_theta, attention knows no positions.

    Raises:
        ValueError: the sizes do not fit each other.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        rope_theta: float | None = None,
        num_kv_heads: int | None = None,
        *,
        bias: bool = False,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if d_model % num_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be divided among {num_heads} heads")
        if rope_theta is not None and d_model // num_heads % 2 != 0:
            raise ValueError(f"heads of {d_model // num_heads} features: RoPE turns pairs of them")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} of keys and values")
        self.num_heads, self.num_kv_heads, self.rope_theta = num_heads, num_kv_heads, rope_theta
        d_kv = d_model // num_heads * num_kv_heads
        self.q_proj = Linear(d_model, d_model, bias=bias)
        self.k_proj = Linear(d_model, d_kv, bias=bias)
        self.v_proj = Linear(d_model, d_kv, bias=bias)
        self.output_proj = Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "... T d_model"],
        token_positions: Int[Tensor, "... T"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "... T d_model"]:
        """Attend to x and to the cache. By default, positions follow the cached ones."""
        T = x.shape[-2]
        start = 0 if cache is None else len(cache)
        Q = split_heads(self.q_proj(x), self.num_heads)  # (..., H, T, d_k)
        K = split_heads(self.k_proj(x), self.num_kv_heads)  # (..., num_kv_heads, T, d_k)
        V = split_heads(self.v_proj(x), self.num_kv_heads)
        if self.rope_theta is not None:
            if token_positions is None:
                token_positions = torch.arange(start, start + T, device=x.device)
            positions = token_positions.unsqueeze(-2)  # (..., 1, T): the same for all heads
            turned = rope(torch.cat((Q, K), dim=-3), positions, self.rope_theta)  # both at once
            Q, K = torch.split(turned, [self.num_heads, self.num_kv_heads], dim=-3)
        if cache is not None:
            K, V = cache.extend(K, V)  # (..., num_kv_heads, S, d_k)
        if (group := self.num_heads // self.num_kv_heads) > 1:  # query heads that share K and V
            K, V = K.repeat_interleave(group, dim=-3), V.repeat_interleave(group, dim=-3)
        # Query i stands at position start + i, and attends to the keys 0 … start + i.
        mask = torch.ones(T, start + T, dtype=torch.bool, device=x.device).tril(start)
        heads = self.attend(Q, K, V, mask).transpose(-3, -2)  # (..., T, H, d_k)
        output: Float[Tensor, "... T d_model"] = self.output_proj(heads.flatten(-2))
        return output

    def attend(self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor) -> Tensor:
        """Attend in every head."""
        return scaled_dot_product_attention(Q, K, V, mask=mask)


def split_heads(x: Float[Tensor, "... T features"], heads: int) -> Float[Tensor, "... H T d_k"]:
    """Give every head its own matrix."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(-3, -2)


class TransformerBlock(nn.Module):
    """y = x + attention(RMSNorm(x)), z = y + SwiGLU(RMSNorm(y))."""

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, rope_theta: float, num_kv_heads: int | None
    ) -> None:
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.attn = CausalMultiHeadSelfAttention(d_model, num_heads, rope_theta, num_kv_heads)
        self.ln2 = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(
        self, x: Float[Tensor, "... T d_model"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "... T d_model"]:
        """Add the output of attention to x, then the output of the feed-forward network."""
        y: Float[Tensor, "... T d_model"] = x + self.attn(self.ln1(x), cache=cache)
        z: Float[Tensor, "... T d_model"] = y + self.ffn(self.ln2(y))
        return z


class DecoderLM(nn.Module):
    """Token embeddings → blocks → final norm → output projection: the frame of both families.

    With tied weights, the weight of lm_head is the embedding's own Parameter.
    """

    def __init__(
        self,
        context_length: int,
        token_embeddings: Embedding,
        layers: Sequence[nn.Module],
        ln_final: nn.Module,
        *,
        tie_weights: bool,
    ) -> None:
        super().__init__()
        self.context_length = context_length
        self.token_embeddings = token_embeddings
        self.layers, self.ln_final = nn.ModuleList(layers), ln_final
        vocab_size, d_model = token_embeddings.weight.shape
        self.lm_head = Linear(d_model, vocab_size)
        self.tie_weights = tie_weights
        if tie_weights:
            self.lm_head.weight = token_embeddings.weight

    def forward(
        self, token_ids: Int[Tensor, "... T"], caches: Sequence[KeyValueCache] | None = None
    ) -> Float[Tensor, "... T vocab_size"]:
        """Return the logits of the token after each of the given ones.

        With one cache for each layer, the tokens follow those cached before, and are cached too.

        Raises:
            ValueError: there are more tokens than the context is long, or not one cache a layer.
        """
        start = len(caches[0]) if caches else 0
        if (length := start + token_ids.shape[-1]) > self.context_length:
            raise ValueError(f"{length} tokens are more than the context of {self.context_length}")
        x = self.embed(token_ids, start)  # (..., T, d_model)
        each_cache = caches if caches else [None] * len(self.layers)
        for layer, cache in zip(self.layers, each_cache, strict=True):
            x = layer(x, cache)
        logits: Float[Tensor, "... T vocab_size"] = self.lm_head(self.ln_final(x))
        return logits

    def embed(self, token_ids: Int[Tensor, "... T"], start: int) -> Float[Tensor, "... T d_model"]:  # noqa: ARG002 - for positions
        """Return the input of the first block. The first token stands at position start."""
        x: Float[Tensor, "... T d_model"] = self.token_embeddings(token_ids)
        return x

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **options: Any) -> Any:
        """Load weights, or raise ValueError where two that differ are for one tied Parameter."""
        names = ("token_embeddings.weight", "lm_head.weight")
        tied = [state_dict[name] for name in names if self.tie_weights and name in state_dict]
        if len(tied) == 2 and not torch.equal(*tied):
            raise ValueError("lm_head.weight differs, but this model ties it to the embedding's")
        return super().load_state_dict(state_dict, *args, **options)


class TransformerLM(DecoderLM):
    """The modern family: RMSNorm, SwiGLU, and RoPE in attention."""

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
        num_kv_heads: int | None = None,
        tie_weights: bool = False,
    ) -> None:
        super().__init__(
            context_length,
            Embedding(vocab_size, d_model),
            [
                TransformerBlock(d_model, num_heads, d_ff, rope_theta, num_kv_heads)
                for _ in range(num_layers)
            ],
            RMSNorm(d_model),
            tie_weights=tie_weights,
        )


def cross_entropy(
    logits: Float[Tensor, "... vocab_size"], targets: Int[Tensor, "..."]
) -> Float[Tensor, ""]:
    """-log softmax(logits)[target], averaged over all leading axes.

    Raises:
        ValueError: there is not one target for each row of logits.
    """
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"targets of shape {tuple(targets.shape)} for logits {tuple(logits.shape)}"
        )
    # log softmax(x)[j] = x[j] - log Σ exp(x), with the shift of softmax.
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    log_sums = shifted.exp().sum(dim=-1).log()  # (...)
    target_logits = shifted.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)  # (...)
    return (log_sums - target_logits).mean()
