"""Causal multi-head self-attention: what is hidden from whom, with RoPE or without."""

import math

import torch
from torch import Tensor

from cs336_basics.model import split_heads

from .catalogue import mistake
from .multihead import attended, output_of, projected
from .parts import Parts, Projections, Step, causal, merged


def with_mask(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step, mask: Tensor
) -> Tensor:
    """Multi-head self-attention with another mask."""
    heads = attended(parts, num_heads, projected(parts, x, weights), turn, mask)
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="there is no causal mask",
    hint="A position must not see those after it: change the last token and compare the outputs "
    "before it.",
)
def no_mask(parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step) -> Tensor:
    mask = torch.ones_like(causal(x.shape[-2]))
    return with_mask(parts, num_heads, weights, x, turn, mask)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the causal mask is turned around: it hides the past and shows the future",
    hint="Print the mask for three positions. True means that a query, by row, may attend to a "
    "key, by column.",
)
def future_shown(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return with_mask(parts, num_heads, weights, x, turn, causal(x.shape[-2]).T)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="each position is hidden from itself too",
    hint="Print the mask for three positions: what may the first one attend to?",
)
def diagonal_hidden(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return with_mask(parts, num_heads, weights, x, turn, causal(x.shape[-2]).tril(-1))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="each position sees one position of the future",
    hint="Print the mask for three positions: how many may the first one attend to?",
)
def one_of_the_future(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    mask = torch.ones_like(causal(x.shape[-2])).tril(1)
    return with_mask(parts, num_heads, weights, x, turn, mask)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="each position sees itself alone",
    hint="Print the mask for three positions: the last one should see all.",
)
def itself_alone(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return with_mask(parts, num_heads, weights, x, turn, causal(x.shape[-2]).triu())


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the first position is hidden from all others",
    hint="Print the mask: which column is False where it should not be?",
)
def first_hidden(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    mask = causal(x.shape[-2])
    mask[1:, 0] = False
    return with_mask(parts, num_heads, weights, x, turn, mask)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="edge",
    wrong="the mask of the first call is used for every later one, whatever its length",
    hint="A mask belongs to one length: build it for the input at hand, or crop it to that.",
)
def first_mask_kept(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    mask = parts.kept.setdefault("mask", causal(x.shape[-2]))
    return with_mask(parts, num_heads, weights, x, turn, mask)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="interface",
    wrong="the mask is built for the greatest length and not cropped to the input's",
    hint="Print the shapes of mask and scores: which rows and columns of the mask belong to the "
    "positions at hand?",
)
def mask_not_cropped(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return with_mask(parts, num_heads, weights, x, turn, causal(1024))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="laziness",
    wrong="the mask has 512 rows and columns, however long the sequence is",
    hint="Nothing tells your attention how long its input can be: what is the mask's size made of?",
)
def mask_of_512_positions(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    length = x.shape[-2]
    return with_mask(parts, num_heads, weights, x, turn, causal(512)[:length, :length])


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="numerics",
    wrong="scores of the future become a number such as -100 or -10,000, which is above the true "
    "scores of some positions",
    hint="Softmax looks at differences: what weight is left for the future where a position's "
    "score of itself is lower than the number you fill in?",
)
def filled_with_minus_ten_thousand(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    Q, K, V = (split_heads(y, num_heads) for y in projected(parts, x, weights))
    scores = turn(Q) @ turn(K).mT / math.sqrt(Q.shape[-1])
    filled = scores.masked_fill(~causal(x.shape[-2]), -1e4)
    return output_of(parts, weights, merged(parts.run_softmax(filled, -1) @ V))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="numerics",
    wrong="softmax is written out without subtracting the maximum",
    hint="Scores can be very large or very low: use the attention you have built.",
)
def softmax_not_shifted(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    Q, K, V = (split_heads(y, num_heads) for y in projected(parts, x, weights))
    scores = turn(Q) @ turn(K).mT / math.sqrt(Q.shape[-1])
    exponentials = scores.masked_fill(~causal(x.shape[-2]), -torch.inf).exp()
    heads = exponentials / exponentials.sum(-1, keepdim=True) @ V
    return output_of(parts, weights, merged(heads))
