"""Rotary position embeddings."""

import torch
from torch import Tensor

from .catalogue import mistake


def angles_of(d_k: int, theta: float, positions: Tensor) -> Tensor:
    """The angle of each pair at each position, (…, sequence, d_k / 2)."""
    return positions[..., None].float() / theta ** (torch.arange(0, d_k, 2).float() / d_k)


def turn_pairs(x: Tensor, angles: Tensor) -> Tensor:
    """Each pair of neighbours turned by its angle."""
    even, odd, cos, sin = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="feature i is paired with feature i + d/2",
    hint="Write down which two features share an angle for d = 4, and compare with the text.",
)
def half_split_pairs(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    angles = angles_of(d_k, theta, token_positions)
    first, second = in_query_or_key.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
