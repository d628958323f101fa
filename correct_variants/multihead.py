"""Causal multi-head self-attention, without and with RoPE."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant
from .rope import complex_numbers, float64_tables, swapped_pairs


def heads_of(x: Tensor, num_heads: int) -> Tensor:
    """Features by head: (…, sequence, d_model) becomes (…, head, sequence, d_head)."""
    return x.reshape(*x.shape[:-1], num_heads, -1).transpose(-3, -2)


def merged(x: Tensor) -> Tensor:
    """The heads' features beside each other again."""
    return x.transpose(-3, -2).flatten(-2)


def causal(length: int) -> Tensor:
    """True where a position may attend to another: to itself and those before."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention within each head."""
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~causal(q.shape[-2]), -torch.inf)
    return torch.softmax(scores, -1) @ v


def positions_or_all(token_positions: Tensor | None, x: Tensor) -> Tensor:
    """The positions given, or 0, 1, 2 and so on."""
    return torch.arange(x.shape[-2]) if token_positions is None else token_positions


@variant("multihead_self_attention", "run_multihead_self_attention")
def fused_projection(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Projects to queries, keys and values with one weight."""
    fused = nn.Parameter(torch.cat([q_proj_weight, k_proj_weight, v_proj_weight]))
    parts = torch.tensor_split(in_features @ fused.T, (d_model, 2 * d_model), dim=-1)
    return merged(attend(*(heads_of(part, num_heads) for part in parts))) @ o_proj_weight.T


@variant("multihead_self_attention", "run_multihead_self_attention")
def head_by_head(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Goes through the heads in a loop and adds up what each gives the output."""
    output = torch.zeros(*in_features.shape[:-1], d_model)
    for rows in torch.arange(d_model).chunk(num_heads):
        q, k, v = (
            in_features @ weight[rows].T for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
        )
        output = output + attend(q, k, v) @ o_proj_weight[:, rows].T
    return output


@variant("multihead_self_attention", "run_multihead_self_attention")
def weights_by_head(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Gives the weights a head axis and leaves all sums to einsum."""
    q, k, v = (
        torch.einsum("...td,hed->...hte", in_features, weight.view(num_heads, -1, d_model))
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    output = o_proj_weight.view(d_model, num_heads, -1)
    return torch.einsum("...hte,dhe->...td", attend(q, k, v), output)


@variant("multihead_self_attention", "run_multihead_self_attention")
def only_the_past(
    d_model: int,  # noqa: ARG001 - published parameters
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Needs no mask, because each position is given the keys up to itself alone."""
    q, k, v = (
        heads_of(in_features @ weight.T, num_heads)
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    rows = [
        torch.softmax(q[..., i : i + 1, :] @ k[..., : i + 1, :].mT / q.shape[-1] ** 0.5, -1)
        @ v[..., : i + 1, :]
        for i in range(in_features.shape[-2])
    ]
    return functional.linear(merged(torch.cat(rows, -2)), o_proj_weight)


@variant("multihead_self_attention", "run_multihead_self_attention")
def torch_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Gives what PyTorch's own causal attention gives, in a view that is not contiguous."""
    assert d_model % num_heads == 0, "Every head has as many features."
    q, k, v = (
        heads_of(functional.linear(in_features, weight), num_heads)
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    output = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return (o_proj_weight @ merged(output).mT).mT


@variant("multihead_self_attention", "run_multihead_self_attention_with_rope")
def rope_for_all_heads(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    """Turns queries and keys of all heads at once, as complex numbers."""
    positions = positions_or_all(token_positions, in_features)
    q, k, v = (
        heads_of(in_features @ weight.T, num_heads)
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    q, k = (complex_numbers(d_model // num_heads, theta, max_seq_len, x, positions) for x in (q, k))
    return merged(attend(q, k, v)) @ o_proj_weight.T


@variant("multihead_self_attention", "run_multihead_self_attention_with_rope")
def rope_head_by_head(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    """Turns and attends in a loop over the heads."""
    positions = positions_or_all(token_positions, in_features)
    outputs = []
    for rows in torch.arange(d_model).chunk(num_heads):
        q, k = (
            swapped_pairs(len(rows), theta, max_seq_len, in_features @ weight[rows].T, positions)
            for weight in (q_proj_weight, k_proj_weight)
        )
        outputs.append(attend(q, k, in_features @ v_proj_weight[rows].T))
    return torch.cat(outputs, -1) @ o_proj_weight.T


@variant("multihead_self_attention", "run_multihead_self_attention_with_rope")
def rope_in_float64(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    """Computes in float64, with queries and keys turned together."""
    positions = positions_or_all(token_positions, in_features)
    q, k, v = (
        heads_of(in_features.double() @ weight.double().T, num_heads)
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    both = torch.cat([q, k], -3)
    both = float64_tables(d_model // num_heads, theta, max_seq_len, both, positions)
    q, k = both.chunk(2, -3)
    return (merged(attend(q, k, v)) @ o_proj_weight.double().T).to(in_features.dtype)


@variant("multihead_self_attention", "run_multihead_self_attention_with_rope")
def rope_in_halves(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    """Leaves even features before odd ones once turned, in queries and keys alike."""
    positions = positions_or_all(token_positions, in_features)
    d_head = d_model // num_heads
    q, k, v = (
        heads_of(in_features @ weight.T, num_heads)
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    q, k = (swapped_pairs(d_head, theta, max_seq_len, x, positions) for x in (q, k))
    q, k = (torch.cat([x[..., ::2], x[..., 1::2]], -1) for x in (q, k))
    return merged(attend(q, k, v)) @ o_proj_weight.T


@variant("multihead_self_attention", "run_multihead_self_attention")
def batch_of_sequences(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Unpacks the input's shape into batch, sequence and features."""
    B, T, _ = in_features.shape
    q, k, v = (
        (in_features @ weight.T).view(B, T, num_heads, d_model // num_heads).transpose(1, 2)
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    return attend(q, k, v).transpose(1, 2).reshape(B, T, d_model) @ o_proj_weight.T


@variant("multihead_self_attention", "run_multihead_self_attention_with_rope")
def rope_by_one_row_of_positions(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Has to be given positions, one row of them for a whole batch of sequences."""
    B, T, _ = in_features.shape
    q, k, v = (
        (in_features @ weight.T).view(B, T, num_heads, d_model // num_heads).transpose(1, 2)
        for weight in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    positions = token_positions.squeeze(0)
    q, k = (complex_numbers(d_model // num_heads, theta, max_seq_len, x, positions) for x in (q, k))
    return attend(q, k, v).transpose(1, 2).reshape(B, T, d_model) @ o_proj_weight.T
