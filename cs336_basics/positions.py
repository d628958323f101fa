"""How a model learns where a token stands: positions that are added, and positions that turn.

Sources:
    Attention Is All You Need (Vaswani et al., arXiv:1706.03762), section 3.5: sinusoids.
    GPT (Radford et al., 2018): learned positions.
    RoFormer (Su et al., arXiv:2104.09864): rotary position embedding.
"""

# docs/positions.md shows with numbers in what the two kinds differ.

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor, nn

from cs336_basics.gradients import float32_at_least
from cs336_basics.layers import require_in_range


class LearnedPositions(nn.Module):
    """Adds one learned vector for each position (Radford et al., 2018).

    Small at first beside the token's vector, so that what a token is outweighs where it stands.
    """

    def __init__(
        self,
        context_length: int,
        d_model: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(context_length, d_model, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.weight, std=0.02, a=-0.06, b=0.06)

    def forward(
        self, x: Float[Tensor, "... T d_model"], start: int = 0
    ) -> Float[Tensor, "... T d_model"]:
        """Add positions start … start + T - 1.

        Raises:
            ValueError: a position lies beyond the last one that was learned.
        """
        return x + rows_from(self.weight, start, x.shape[-2])


class SinusoidalPositions(nn.Module):
    """Adds fixed waves, to choose instead of learned positions (arXiv:1706.03762, section 3.5)."""

    table: Float[Tensor, "context_length d_model"]

    def __init__(
        self,
        context_length: int,
        d_model: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        table = sinusoidal_positions(context_length, d_model)
        dtype = torch.get_default_dtype() if dtype is None else dtype
        self.register_buffer("table", table.to(device, dtype), persistent=False)

    def forward(
        self, x: Float[Tensor, "... T d_model"], start: int = 0
    ) -> Float[Tensor, "... T d_model"]:
        """Add positions start … start + T - 1.

        Raises:
            ValueError: a position lies beyond the end of the table.
        """
        return x + rows_from(self.table, start, x.shape[-2])


def sinusoidal_positions(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """sin(i · 10000^(-2k/d_model)) at feature 2k of position i, cos of the same at 2k+1."""
    features = torch.arange(d_model)
    # In float64, because float32 angles are off by nearly 1e-2 at position 100,000.
    frequencies = 10000.0 ** (-2 * (features // 2).double() / d_model)
    angles = torch.arange(length, dtype=torch.float64).outer(frequencies)
    return torch.where(features % 2 == 0, angles.sin(), angles.cos()).to(torch.get_default_dtype())


def rows_from(
    table: Float[Tensor, "positions *features"], start: int, T: int
) -> Float[Tensor, "T *features"]:
    """Rows start … start + T - 1 of a table of positions.

    Raises:
        ValueError: the table ends before.
    """
    end = start + T
    if len(table) < end:
        raise ValueError(f"{end} positions, but the table of positions ends at {len(table)}")
    return table[start:end]


class RotaryPositionalEmbedding(nn.Module):
    """RoPE: turn each pair of neighbouring features by an angle that grows with the position.

    The pair (2k, 2k+1) at position i turns by i · Θ^(-2k/d_k) (arXiv:2104.09864, section 3.2.2),
    so the dot product of a query and a key depends on the distance of their positions alone.

    Raises:
        ValueError: d_k is odd, so that features cannot be paired.
    """

    cos_sin: Float[Tensor, "max_seq_len half_d_k 2"]

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
        cos_sin = torch.stack((angles.cos(), angles.sin()), dim=-1)
        self.register_buffer("cos_sin", cos_sin.to(device, dtype), persistent=False)

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
        # A copy, for x may begin at an odd place of memory, where no complex number can.
        return turn(x.clone(), self.turns(x, token_positions))

    def turns(
        self,
        x: Float[Tensor, "... T d_k"],
        token_positions: Int[Tensor, "... T"] | None = None,
        start: int = 0,
    ) -> Complex[Tensor, "... T half_d_k"]:
        """Give what turns each pair of x: cos + i sin of its angle.

        Args:
            x: As for forward.
            token_positions: The same.
            start: Where the first row stands if there are no token_positions; the others follow.

        Raises:
            ValueError: a position lies outside the table, or positions and x do not fit.
        """
        if token_positions is None:
            cos_sin = rows_from(self.cos_sin, start, x.shape[-2])
        else:
            cos_sin = self.cos_sin[self.align(token_positions, x)]
        return torch.view_as_complex(float32_at_least(cos_sin))

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


def turn(
    x: Float[Tensor, "... T d_k"], turns: Complex[Tensor, "... T half_d_k"]
) -> Float[Tensor, "... T d_k"]:
    """Turn pairs of neighbouring features, each of them as a complex number times another."""
    # A pair is one complex number only where its features lie side by side.
    pairs = float32_at_least(x).contiguous().view(*x.shape[:-1], turns.shape[-1], 2)
    return torch.view_as_real(torch.view_as_complex(pairs) * turns).flatten(-2).to(x.dtype)
