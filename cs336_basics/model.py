"""The Transformer language model, written bottom-up: linear map to language model.

Sources:
    Attention Is All You Need (Vaswani et al., arXiv:1706.03762): attention, heads, the decoder.
    Root Mean Square Layer Normalization (Zhang & Sennrich, arXiv:1910.07467).
    GLU Variants Improve Transformer (Shazeer, arXiv:2002.05202): SwiGLU.
    RoFormer (Su et al., arXiv:2104.09864): rotary position embedding.
    On Layer Normalization in the Transformer Architecture (Xiong et al., arXiv:2002.04745):
    the norm before each part instead of after it.
    LLaMA (Touvron et al., arXiv:2302.13971): these parts put together; d_ff = 8/3 d_model.

Axes, in signatures and comments:
    ...        any number of leading axes, none included
    T          sequence length
    H          heads
    d_k, d_v   width of one head's query or key, and of its value
    the others are called as the arguments that set them: d_model, d_ff, vocab_size, max_seq_len
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


class Linear(nn.Module):
    """y = x Wᵀ, without a bias. The weight is stored as (d_out, d_in), the order of the text."""

    def __init__(
        self,
        d_in: int,
        d_out: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in, device=device, dtype=dtype))
        # Keeps the variance of activations and of gradients alike (Glorot & Bengio, 2010).
        std = math.sqrt(2 / (d_in + d_out))
        nn.init.trunc_normal_(self.weight, std=std, a=-3 * std, b=3 * std)

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        """Map the last axis from d_in to d_out."""
        return x @ self.weight.T


class Embedding(nn.Module):
    """One learned vector for each token id."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.weight, std=1.0, a=-3.0, b=3.0)

    def forward(self, token_ids: Int[Tensor, "..."]) -> Float[Tensor, "... d_model"]:
        """Look up the vector of every id.

        Raises:
            ValueError: an id is negative or not smaller than the size of the vocabulary.
        """
        require_in_range(token_ids, self.weight.shape[0], "token id", "vocabulary")
        # Without int64, torch reads uint8 indices as a mask.
        return self.weight[token_ids.long()]


def require_in_range(indices: Int[Tensor, "..."], size: int, what: str, table: str) -> None:
    """Refuse indices that are not among 0 … size-1.

    Indexing by itself takes negative ones silently, and on a GPU stops the process for others.

    Raises:
        ValueError: names the smallest and the largest index and the size of the table.
    """
    if indices.is_meta or torch.compiler.is_compiling() or indices.numel() == 0:
        return  # no values to look at
    low, high = (int(bound) for bound in torch.aminmax(indices))
    if low < 0 or high >= size:
        raise ValueError(
            f"{what}s from {low} to {high} do not fit a {table} of {size}: "
            f"every {what} must be from 0 to {size - 1}"
        )


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
        a = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = torch.sqrt(a.square().mean(dim=-1, keepdim=True) + self.eps)
        return (a / rms * self.weight).to(x.dtype)


def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Swish: x · sigmoid(x)."""
    return x * torch.sigmoid(x)


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


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """exp(x) along one axis, scaled to sum to 1."""
    # Shifting a row changes nothing but keeps exp from overflowing, so no gradient is due to it.
    shifted = x - x.amax(dim=dim, keepdim=True).detach()
    exponentials = shifted.exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    """softmax(QKᵀ/√d_k) V (arXiv:1706.03762, section 3.2.1).

    The mask is True where a query may attend to a key. A query that may attend to nothing gets
    zeros.
    """
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])  # (..., queries, keys)
    if mask is None:
        return softmax(scores, dim=-1) @ V
    # The lowest finite number, for a row of nothing but -inf is NaN in value and in gradient;
    # such a row comes out uniform instead and is emptied by the second fill.
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights @ V


class RotaryPositionalEmbedding(nn.Module):
    """RoPE: turn each pair of neighbouring features by an angle that grows with the position.

    The pair (2k, 2k+1) at position i turns by i · Θ^(-2k/d_k) (arXiv:2104.09864, section 3.2.2),
    so the dot product of a query and a key depends on the distance of their positions alone.

    Raises:
        ValueError: d_k is odd, so that features cannot be paired.
    """

    cos: Float[Tensor, "max_seq_len half_d_k"]
    sin: Float[Tensor, "max_seq_len half_d_k"]

    def __init__(
        self,
        theta: float,
        d_k: int,
        max_seq_len: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if d_k % 2 != 0:
            raise ValueError(
                f"d_k = {d_k} is odd: RoPE turns pairs of features, so it must be even"
            )
        self.d_k = d_k
        self.max_seq_len = max_seq_len
        # In float64, because float32 angles are off by nearly 1e-2 at position 100,000.
        frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        angles = torch.arange(max_seq_len, dtype=torch.float64).outer(frequencies)
        dtype = torch.get_default_dtype() if dtype is None else dtype
        self.register_buffer("cos", angles.cos().to(device, dtype), persistent=False)
        self.register_buffer("sin", angles.sin().to(device, dtype), persistent=False)

    def forward(
        self,
        x: Float[Tensor, "... T d_k"],
        token_positions: Int[Tensor, "... T"] | None = None,
    ) -> Float[Tensor, "... T d_k"]:
        """Turn the queries or keys x.

        Args:
            x: Queries or keys.
            token_positions: Where each row stands, 0 … T-1 by default. Its leading axes are the
                first ones of x; axes of x between them and T (heads) share the positions.

        Raises:
            ValueError: a position lies outside the table, or positions and x do not fit.
        """
        T = x.shape[-2]
        if token_positions is None:
            if self.max_seq_len < T:
                raise ValueError(f"{T} positions, but the RoPE table ends at {self.max_seq_len}")
            cos, sin = self.cos[:T], self.sin[:T]
        else:
            positions = self.align(token_positions, x)
            cos, sin = self.cos[positions], self.sin[positions]
        even, odd = x[..., 0::2], x[..., 1::2]
        pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return pairs.flatten(-2).to(x.dtype)

    def align(
        self, token_positions: Int[Tensor, "..."], x: Float[Tensor, "... T d_k"]
    ) -> Int[Tensor, "..."]:
        """Check the positions and give them the axes they need to broadcast against x."""
        require_in_range(token_positions, self.max_seq_len, "position", "RoPE table")
        *leading, T = token_positions.shape
        missing = x.ndim - 2 - len(leading)
        fits = missing >= 0 and x.shape[-2] == T
        if not fits or any(n not in (1, m) for n, m in zip(leading, x.shape, strict=False)):
            raise ValueError(
                f"token_positions of shape {tuple(token_positions.shape)} do not fit "
                f"queries or keys of shape {tuple(x.shape)}"
            )
        return token_positions.long().reshape(*leading, *(1,) * missing, T)


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
    ) -> None:
        super().__init__()
        d_k = head_width(d_model, num_heads)
        if rope is not None and rope.d_k != d_k:
            raise ValueError(f"RoPE for d_k = {rope.d_k} does not fit heads of {d_k} features")
        self.num_heads = num_heads
        self.q_proj = Linear(d_model, d_model, device, dtype)
        self.k_proj = Linear(d_model, d_model, device, dtype)
        self.v_proj = Linear(d_model, d_model, device, dtype)
        self.output_proj = Linear(d_model, d_model, device, dtype)
        self.rope = rope

    def forward(
        self,
        x: Float[Tensor, "... T d_model"],
        token_positions: Int[Tensor, "... T"] | None = None,
    ) -> Float[Tensor, "... T d_model"]:
        """Attend to the past; token_positions matter to RoPE only (its forward says how)."""
        Q = self.split_heads(self.q_proj(x))
        K = self.split_heads(self.k_proj(x))
        V = self.split_heads(self.v_proj(x))
        if self.rope is not None:
            Q, K = self.rope(Q, token_positions), self.rope(K, token_positions)
        T = x.shape[-2]
        causal_mask = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        heads = scaled_dot_product_attention(Q, K, V, causal_mask)  # (..., H, T, d_v)
        output: Float[Tensor, "... T d_model"] = self.output_proj(
            heads.transpose(-3, -2).flatten(-2)
        )
        return output

    def split_heads(self, x: Float[Tensor, "... T d_model"]) -> Float[Tensor, "... H T d_k"]:
        """Give every head its own matrix."""
        return x.reshape(*x.shape[:-1], self.num_heads, -1).transpose(-3, -2)


class TransformerBlock(nn.Module):
    """y = x + MHA(RMSNorm(x)), z = y + FFN(RMSNorm(y)): pre-norm (arXiv:2002.04745)."""

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
        super().__init__()
        self.ln1 = RMSNorm(d_model, device=device, dtype=dtype)
        self.attn = CausalMultiHeadSelfAttention(d_model, num_heads, rope, device, dtype)
        self.ln2 = RMSNorm(d_model, device=device, dtype=dtype)
        self.ffn = SwiGLU(d_model, d_ff, device, dtype)

    def forward(self, x: Float[Tensor, "... T d_model"]) -> Float[Tensor, "... T d_model"]:
        """Add what attention and then the feed-forward network make of the normalised input."""
        y: Float[Tensor, "... T d_model"] = x + self.attn(self.ln1(x))
        z: Float[Tensor, "... T d_model"] = y + self.ffn(self.ln2(y))
        return z


class TransformerLM(nn.Module):
    """Embedding → blocks → final RMSNorm → output projection: logits of every next token."""

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
        super().__init__()
        self.context_length = context_length
        # One table for all layers: it depends on nothing that differs among them.
        d_k = head_width(d_model, num_heads)
        rope = RotaryPositionalEmbedding(rope_theta, d_k, context_length, device)
        self.token_embeddings = Embedding(vocab_size, d_model, device, dtype)
        self.layers = nn.ModuleList(
            TransformerBlock(d_model, num_heads, d_ff, rope, device=device, dtype=dtype)
            for _ in range(num_layers)
        )
        self.ln_final = RMSNorm(d_model, device=device, dtype=dtype)
        self.lm_head = Linear(d_model, vocab_size, device, dtype)

    def forward(self, token_ids: Int[Tensor, "... T"]) -> Float[Tensor, "... T vocab_size"]:
        """Logits for the token after each of the given ones.

        Raises:
            ValueError: the sequence is longer than the context, or an id is not in the vocabulary.
        """
        T = token_ids.shape[-1]
        if self.context_length < T:
            raise ValueError(
                f"{T} tokens are more than the context of {self.context_length}: "
                f"pass the last {self.context_length} or build a model with a longer context"
            )
        x: Float[Tensor, "... T d_model"] = self.token_embeddings(token_ids)
        for layer in self.layers:
            x = layer(x)
        logits: Float[Tensor, "... T vocab_size"] = self.lm_head(self.ln_final(x))
        return logits
