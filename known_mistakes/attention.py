"""Scaled dot-product attention: scores, weights and values."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import mistake
from .parts import Parts, random


def scores_of(Q: Tensor, K: Tensor) -> Tensor:
    """The scaled scores, (…, queries, keys)."""
    return Q @ K.mT / math.sqrt(Q.shape[-1])


def hidden(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Scores with minus infinity where the mask is False."""
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def weighted(parts: Parts, scores: Tensor, V: Tensor, mask: Tensor | None) -> Tensor:
    """The values weighted by the softmax of the scores."""
    weights: Tensor = parts.run_softmax(hidden(scores, mask), -1)
    return weights @ V


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="scores are not divided by the square root of d_k",
    hint="Where is the scale in the formula? Without it, softmax of wide vectors is nearly all or "
    "nothing.",
)
def no_scale(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    return weighted(parts, Q @ K.mT, V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="scores are divided by d_k: its root is not taken, or it is applied to queries and keys "
    "or twice over",
    hint="The scale makes up for the standard deviation of a sum of d_k products: how does that "
    "grow with d_k, and how often do you divide?",
)
def scale_without_root(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, Q @ K.mT / Q.shape[-1], V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="scores are multiplied by the square root of d_k instead of divided",
    hint="The scale is there to make scores smaller: compare their size before and after.",
)
def multiplied_by_scale(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, Q @ K.mT * math.sqrt(Q.shape[-1]), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="scores are divided by the square root of the number of keys",
    hint="The sum inside a score runs over features, not over keys: which size belongs under the "
    "root?",
)
def scaled_by_length(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, Q @ K.mT / K.shape[-2] ** 0.5, V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="scores are divided by the square root of d_v",
    hint="Values may be wider than keys: whose features are summed in a score?",
)
def scaled_by_value_width(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, Q @ K.mT / V.shape[-1] ** 0.5, V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="laziness",
    wrong="scores are divided by 8, the square root of 64",
    hint="The scale follows from the queries at hand: take their width from their shape.",
)
def scale_of_64(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, Q @ K.mT / 8.0, V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="the scale is applied to the weights, after softmax",
    hint="The weights of a query must sum to one: do yours?",
)
def scale_after_softmax(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, Q @ K.mT, V, mask) / math.sqrt(Q.shape[-1])


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="softmax runs over the queries instead of the keys",
    hint="For one query, the weights of all keys sum to one. Which dimension of the scores counts "
    "keys?",
)
def softmax_over_queries(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    scores = scores_of(Q, K)
    weights: Tensor = parts.run_softmax(hidden(scores, mask), -2)
    return weights.nan_to_num(0.0) @ V


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="there is no softmax: scores weigh the values as they are",
    hint="Weights are positive and sum to one for each query: are yours, and do yours?",
)
def no_softmax(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scores_of(Q, K)
    return (scores if mask is None else scores.masked_fill(~mask, 0.0)) @ V


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="the most similar key's value is returned alone, without weighing",
    hint="Attention is a mean of values, not a look-up: where do you choose where you should "
    "weigh?",
)
def hard_attention(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    best = hidden(Q @ K.mT, mask).argmax(-1)
    return functional.one_hot(best, K.shape[-2]).to(V.dtype) @ V


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="queries and keys are scaled to length one, so that scores are cosines",
    hint="Double a query: its weights must become sharper. Do yours?",
)
def cosine_scores(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    cosines = functional.normalize(Q, dim=-1) @ functional.normalize(K, dim=-1).mT
    return weighted(parts, cosines / math.sqrt(Q.shape[-1]), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="the weights are returned instead of the weighted values",
    hint="What shape has the output in the text, and which factor is missing in yours?",
)
def weights_returned(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    weights: Tensor = parts.run_softmax(hidden(scores_of(Q, K), mask), -1)
    return weights


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="dimensions 1 and 2 of the keys are exchanged, which are the last two of three "
    "dimensions only",
    hint="Count dimensions from the end: then heads and batches before them do not matter.",
)
def transposed_from_the_front(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, Q @ K.transpose(1, 2) / math.sqrt(Q.shape[-1]), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="all dimensions of the keys are reversed, the batch too",
    hint="For more than two dimensions, a full transpose turns around all of them: exchange only "
    "the last two.",
)
def fully_transposed(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(
        parts, Q @ K.permute(*reversed(range(K.dim()))) / math.sqrt(Q.shape[-1]), V, mask
    )


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="exactly four dimensions are expected: batch, head, position and feature",
    hint="The text allows any number of dimensions before the last two: do not name or unpack "
    "them.",
)
def four_dimensions(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, torch.einsum("bhqd,bhkd->bhqk", Q, K) / math.sqrt(Q.shape[-1]), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="exactly three dimensions are expected: batch, position and feature",
    hint="The text allows any number of dimensions before the last two: do not name or unpack "
    "them.",
)
def three_dimensions(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, torch.einsum("bqd,bkd->bqk", Q, K) / math.sqrt(Q.shape[-1]), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="the output has one dimension for the whole batch, heads and rows flattened together",
    hint="Compare the shapes of queries and output: only the last dimension may differ.",
)
def flattened(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    return weighted(parts, scores_of(Q, K), V, mask).reshape(-1, V.shape[-1])


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="the queries are scaled in place",
    hint="The caller's tensors must stay as they were: which operation writes into one of them?",
)
def in_place(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    Q /= math.sqrt(Q.shape[-1])
    return weighted(parts, Q @ K.mT, V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="the weights are kept out of the gradient",
    hint="Queries and keys learn through the weights alone: nothing between scores and output may "
    "be detached.",
)
def detached_weights(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, scores_of(Q, K).detach(), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="numerics",
    wrong="softmax is written out without subtracting the maximum",
    hint="Scores can be very large or very low: use the softmax you have built.",
)
def softmax_not_shifted(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    exponentials = hidden(scores_of(Q, K), mask).exp()
    return exponentials / exponentials.sum(-1, keepdim=True) @ V


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="numerics",
    wrong="scores are computed in bfloat16",
    hint="Compare dtypes on the way: bfloat16 keeps about three digits of a score, and softmax "
    "makes the error grow.",
)
def bfloat16_scores(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    scores = (Q.bfloat16() @ K.bfloat16().mT).to(V.dtype) / math.sqrt(Q.shape[-1])
    return weighted(parts, scores, V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="dropout is active on the weights",
    hint="The text has no dropout here. Call it twice with the same input: both results must be "
    "equal.",
)
def dropout(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    weights: Tensor = parts.run_softmax(hidden(scores_of(Q, K), mask), -1)
    return weights * (random(*weights.shape) > -1.0) / 0.84 @ V
