"""Causal multi-head self-attention: how heads are split and joined, with RoPE or without."""

import torch
from torch import Tensor

from cs336_basics.model import split_heads

from .catalogue import mistake
from .parts import Parts, Projections, Step, causal, merged


def projected(parts: Parts, x: Tensor, weights: Projections) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of all heads, (…, sequence, d_model) each."""
    d = x.shape[-1]
    q, k, v = (parts.run_linear(d, d, weight, x) for weight in weights[:3])
    return q, k, v


def attended(
    parts: Parts, num_heads: int, qkv: tuple[Tensor, Tensor, Tensor], turn: Step, mask: Tensor
) -> Tensor:
    """What each head gives, (…, head, sequence, d_k)."""
    Q, K, V = (split_heads(x, num_heads) for x in qkv)
    output: Tensor = parts.run_scaled_dot_product_attention(turn(Q), turn(K), V, mask)
    return output


def output_of(parts: Parts, weights: Projections, heads: Tensor) -> Tensor:
    """The heads' features through the output projection."""
    output: Tensor = parts.run_linear(heads.shape[-1], heads.shape[-1], weights[3], heads)
    return output


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="heads are cut out of sequence and features together, without exchanging dimensions",
    hint="A reshape alone cannot bring the heads before the positions: fill a small tensor with "
    "its own indices and see where they land.",
)
def heads_by_view(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    *leading, T, d = x.shape
    Q, K, V = (
        y.reshape(*leading, num_heads, T, d // num_heads) for y in projected(parts, x, weights)
    )
    heads = parts.run_scaled_dot_product_attention(turn(Q), turn(K), V, causal(T))
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="features are dealt out to the heads in turn, instead of d_model/H neighbours to each",
    hint="The first rows of the projection belong to the first head, all of them: which of the "
    "two sizes comes first when you split the features?",
)
def heads_interleaved(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    *leading, T, d = x.shape
    Q, K, V = (
        y.reshape(*leading, T, d // num_heads, num_heads).movedim(-1, -3)
        for y in projected(parts, x, weights)
    )
    heads = parts.run_scaled_dot_product_attention(turn(Q), turn(K), V, causal(T))
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="heads are joined without exchanging heads and positions back",
    hint="A reshape alone cannot bring the heads behind the positions: fill a small tensor with "
    "its own indices and see where they land.",
)
def joined_by_view(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    mask = causal(x.shape[-2])
    heads = attended(parts, num_heads, projected(parts, x, weights), turn, mask)
    return output_of(parts, weights, heads.reshape(x.shape))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the heads' features are joined with the heads innermost",
    hint="Features of one head stay together when heads are joined: which dimension counts faster "
    "in your reshape?",
)
def joined_interleaved(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    mask = causal(x.shape[-2])
    heads = attended(parts, num_heads, projected(parts, x, weights), turn, mask)
    return output_of(parts, weights, heads.movedim(-3, -1).flatten(-2))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="heads are averaged instead of put beside each other",
    hint="Each head has columns of its own in the output projection. What becomes of them in "
    "yours?",
)
def heads_averaged(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    mask = causal(x.shape[-2])
    heads = attended(parts, num_heads, projected(parts, x, weights), turn, mask)
    return output_of(parts, weights, merged(heads.mean(-3, keepdim=True).expand_as(heads)))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="heads come out in reverse order",
    hint="The first rows of each projection and the first columns of the output projection belong "
    "to the first head.",
)
def heads_reversed(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    mask = causal(x.shape[-2])
    heads = attended(parts, num_heads, projected(parts, x, weights), turn, mask)
    return output_of(parts, weights, merged(heads.flip(-3)))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="scores are divided by the square root of d_model instead of a head's width",
    hint="A score is a sum over one head's features: how many are they?",
)
def scaled_by_model_width(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    Q, K, V = projected(parts, x, weights)
    qkv = (Q / num_heads**0.5, K, V)
    heads = attended(parts, num_heads, qkv, turn, causal(x.shape[-2]))
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="heads attend to each other at each position, instead of positions in each head",
    hint="Which dimension stands next to last when you multiply queries by keys? Scores have as "
    "many rows as there are positions.",
)
def attention_across_heads(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    Q, K, V = (split_heads(y, num_heads) for y in projected(parts, x, weights))
    Q, K, V = (y.transpose(-3, -2) for y in (turn(Q), turn(K), V))
    heads = parts.run_scaled_dot_product_attention(Q, K, V, causal(num_heads))
    return output_of(parts, weights, heads.flatten(-2))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="laziness",
    wrong="there is a single head of full width, whatever number is given",
    hint="Does num_heads change your output? Each head has its own softmax.",
)
def one_head(parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step) -> Tensor:
    Q, K, V = projected(parts, x, weights)
    Q, K = (merged(turn(split_heads(y, num_heads))) for y in (Q, K))
    heads = parts.run_scaled_dot_product_attention(Q, K, V, causal(x.shape[-2]))
    return output_of(parts, weights, heads)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="laziness",
    wrong="all heads use the keys and values of the first",
    hint="Sharing keys and values among heads is another design: here each head has its own rows "
    "of all projections.",
)
def shared_keys_and_values(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    Q, K, V = (split_heads(y, num_heads) for y in projected(parts, x, weights))
    K, V = (y[..., :1, :, :].expand_as(Q) for y in (K, V))
    heads = parts.run_scaled_dot_product_attention(turn(Q), turn(K), V, causal(x.shape[-2]))
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="batch and heads are folded into one dimension and unfolded in the other order",
    hint="Which of the two counts faster when you fold them? Unfold in the same order.",
)
def batch_and_heads_mixed(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    Q, K, V = (split_heads(y, num_heads) for y in projected(parts, x, weights))
    heads = parts.run_scaled_dot_product_attention(turn(Q), turn(K), V, causal(x.shape[-2]))
    mixed = heads.transpose(0, -3).reshape(heads.shape)
    return output_of(parts, weights, merged(mixed))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="queries and keys are normalized in each head",
    hint="Some models do so; the text projects, splits and turns, and nothing else.",
)
def normalized_queries_and_keys(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    d_k = x.shape[-1] // num_heads

    def normalize(y: Tensor) -> Tensor:
        return turn(torch.as_tensor(parts.run_rmsnorm(d_k, 1e-5, torch.ones(d_k), y)))

    return Parts.attend_in_heads(parts, num_heads, weights, x, normalize)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="numerics",
    wrong="queries, keys and values are kept in bfloat16",
    hint="Compare dtypes on the way: bfloat16 keeps about three digits, and softmax makes the "
    "error grow.",
)
def bfloat16_heads(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v = (y.bfloat16().float() for y in projected(parts, x, weights))
    heads = attended(parts, num_heads, (q, k, v), turn, causal(x.shape[-2]))
    return output_of(parts, weights, merged(heads))
