"""Rotary position embeddings."""

import math

import torch
from torch import Tensor

from .catalogue import variant


def angles_of(d_k: int, theta: float, positions: Tensor) -> Tensor:
    """The angle of each pair at each position, (…, sequence, d_k / 2)."""
    return positions[..., None].float() / theta ** (torch.arange(0, d_k, 2).float() / d_k)


def with_axes_of(turned: Tensor, x: Tensor) -> Tensor:
    """Something by position, (rows, sequence, …), with axes for what x has between those."""
    if turned.dim() < 3 or turned.dim() >= x.dim():
        return turned
    return turned.reshape(turned.shape[0], *[1] * (x.dim() - turned.dim()), *turned.shape[1:])


@variant("rope", "run_rope")
def complex_numbers(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Takes pairs for complex numbers and multiplies them by numbers of length one."""
    angles = angles_of(d_k, theta, torch.arange(max_seq_len))
    turns = with_axes_of(
        torch.polar(torch.ones_like(angles), angles)[token_positions], in_query_or_key
    )
    pairs = in_query_or_key.float().reshape(*in_query_or_key.shape[:-1], -1, 2)
    turned = torch.view_as_complex(pairs.contiguous()) * turns
    return torch.view_as_real(turned).flatten(-2).type_as(in_query_or_key)


@variant("rope", "run_rope")
def rotation_matrices(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Multiplies each vector by the block-diagonal matrix of its position."""
    angles = angles_of(d_k, theta, torch.arange(max_seq_len))
    matrices = torch.zeros(max_seq_len, d_k, d_k)
    even = torch.arange(0, d_k, 2)
    matrices[:, even, even] = matrices[:, even + 1, even + 1] = angles.cos()
    matrices[:, even + 1, even] = angles.sin()
    matrices[:, even, even + 1] = -angles.sin()
    turns = matrices[token_positions]
    if turns.dim() > 3:
        turns = turns.reshape(turns.shape[0], *[1] * (in_query_or_key.dim() - 3), *turns.shape[1:])
    turned = turns @ in_query_or_key.float()[..., None]
    return turned.squeeze(-1).to(in_query_or_key.dtype)


@variant("rope", "run_rope")
def swapped_pairs(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Adds x · cos and x with swapped and negated pairs · sin, from tables of full width."""
    angles = angles_of(d_k, theta, torch.arange(max_seq_len)).repeat_interleave(2, -1)
    cos = with_axes_of(angles.cos()[token_positions], in_query_or_key)
    sin = with_axes_of(angles.sin()[token_positions], in_query_or_key)
    x = in_query_or_key.float()
    swapped = torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
    return (x * cos + swapped * sin).to(in_query_or_key.dtype)


@variant("rope", "run_rope")
def float64_tables(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Computes frequencies as an exponential, and everything else too, in float64."""
    exponents = torch.arange(d_k // 2, dtype=torch.float64) * (-2 * math.log(theta) / d_k)
    angles = torch.outer(torch.arange(max_seq_len, dtype=torch.float64), exponents.exp())
    cos = with_axes_of(angles.cos()[token_positions], in_query_or_key)
    sin = with_axes_of(angles.sin()[token_positions], in_query_or_key)
    first, second = in_query_or_key.double().view(*in_query_or_key.shape[:-1], -1, 2).unbind(-1)
    turned = torch.stack([cos * first - sin * second, sin * first + cos * second], -1)
    return turned.flatten(-2).to(in_query_or_key.dtype)


@variant("rope", "run_rope")
def written_into_a_new_tensor(
    d_k: int,
    theta: float,
    max_seq_len: int,  # noqa: ARG001 - needs no table
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Keeps no table, and writes even and odd features into a new tensor."""
    angles = with_axes_of(angles_of(d_k, theta, token_positions), in_query_or_key)
    even, odd = in_query_or_key[..., ::2], in_query_or_key[..., 1::2]
    turned = torch.empty_like(in_query_or_key)
    turned[..., ::2] = even * angles.cos() - odd * angles.sin()
    turned[..., 1::2] = even * angles.sin() + odd * angles.cos()
    return turned


@variant("rope", "run_rope")
def sequence_first(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Returns a tensor whose axes lie in another order in memory."""
    turned = swapped_pairs(d_k, theta, max_seq_len, in_query_or_key, token_positions)
    return turned.transpose(-1, -2).contiguous().transpose(-1, -2)
