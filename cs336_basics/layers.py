"""Layers that both families of language models use: linear map, embedding, dropout, attention.

Sources:
    Attention Is All You Need (Vaswani et al., arXiv:1706.03762): attention.
    Dropout (Srivastava et al., Journal of Machine Learning Research 15, 2014).

Axes, in signatures and comments, here and in the modules above this one:
    ...        any number of leading axes, none included
    T          sequence length
    H          heads
    d_k, d_v   width of one head's query or key, and of its value
    the others are called as the arguments that set them: d_model, d_ff, vocab_size, max_seq_len
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cs336_basics.gradients import Softmax


class Linear(nn.Module):
    """y = x Wᵀ, or x Wᵀ + b. The weight is stored as (d_out, d_in), the order of the text."""

    bias: nn.Parameter | None

    def __init__(
        self,
        d_in: int,
        d_out: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in, device=device, dtype=dtype))
        # Keeps the variance of activations and of gradients alike (Glorot & Bengio, 2010).
        std = math.sqrt(2 / (d_in + d_out))
        nn.init.trunc_normal_(self.weight, std=std, a=-3 * std, b=3 * std)
        self.bias = nn.Parameter(torch.zeros(d_out, device=device, dtype=dtype)) if bias else None

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        """Map the last axis from d_in to d_out."""
        y = x @ self.weight.T
        return y if self.bias is None else y.add_(self.bias)


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


class Dropout(nn.Module):
    """In training, zero each element with probability p and scale the others by 1/(1-p).

    The scale keeps the expected value, so that nothing has to change outside of training
    (Srivastava et al., 2014, section 10). Elements are drawn from torch's global generator:
    torch.manual_seed repeats them.

    Raises:
        ValueError: p is not from 0 up to, but not including, 1.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout p = {p} must be at least 0 and less than 1")
        self.p = p

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Drop elements in training; otherwise give back x itself."""
        if not self.training or self.p == 0:
            return x
        # Drawn in float32, because half precision has too few numbers for a small p.
        dropped = torch.rand(x.shape, device=x.device, dtype=torch.float32) < self.p
        return x.masked_fill(dropped, 0.0) / (1 - self.p)


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """exp(x) along one axis, scaled to sum to 1."""
    return Softmax.of(x, dim)


def scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
    dropout: Callable[[Tensor], Tensor] = lambda weights: weights,
) -> Float[Tensor, "... queries d_v"]:
    """softmax(QKᵀ/√d_k) V (arXiv:1706.03762, section 3.2.1).

    The mask is True where a query may attend to a key. A query that may attend to nothing gets
    zeros. Dropout is of the attention weights: some keys are not seen.
    """
    scores = (Q / math.sqrt(Q.shape[-1])) @ K.transpose(-2, -1)  # (..., queries, keys)
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -math.inf).to(scores.dtype)
    return dropout(softmax(scores, dim=-1)) @ V
