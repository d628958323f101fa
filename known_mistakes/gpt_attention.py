"""Classic attention: scores, the causal mask, and what is made of them."""

import math

import torch
from torch import Tensor

from .catalogue import mistake
from .gpt_parts import GPTParts
from .parts import Step, causal


def scores(Q: Tensor, K: Tensor) -> Tensor:
    """Each query with each key."""
    return Q @ K.mT / math.sqrt(Q.shape[-1])


def hidden(parts: GPTParts, Q: Tensor, K: Tensor, value: float = -math.inf) -> Tensor:
    """Scores in which the future has another value."""
    return hide(parts, scores(Q, K), value)


def hide(parts: GPTParts, scores: Tensor, value: float) -> Tensor:
    """Other numbers in which it has."""
    return scores.masked_fill(~parts.visible(scores.shape[-1]), value)


@mistake(
    "gpt_attention",
    "visible",
    kind="formula",
    wrong="the causal mask is turned around: it hides the past and shows the future",
    hint="Print the mask for three positions: which keys, by column, may the first query see? The "
    "upper triangle is the future.",
)
def future_shown(length: int) -> Tensor:
    return causal(length).T


@mistake(
    "gpt_attention",
    "visible",
    kind="formula",
    wrong="there is no causal mask",
    hint="A position must not see those after it: change the last token and compare the outputs "
    "before it.",
)
def no_mask(length: int) -> Tensor:
    return torch.ones_like(causal(length))


@mistake(
    "gpt_attention",
    "visible",
    kind="formula",
    wrong="each position is hidden from itself too",
    hint="Print the mask for three positions: what may the first one attend to?",
)
def diagonal_hidden(length: int) -> Tensor:
    return causal(length).tril(-1)


@mistake(
    "gpt_attention",
    "visible",
    kind="formula",
    wrong="each position sees one position of the future",
    hint="Print the mask for three positions: how many may the first one attend to?",
)
def one_of_the_future(length: int) -> Tensor:
    return torch.ones_like(causal(length)).tril(1)


@mistake(
    "gpt_attention",
    "visible",
    kind="formula",
    wrong="each position sees itself alone",
    hint="Print the mask for three positions: the last one should see all.",
)
def itself_alone(length: int) -> Tensor:
    return torch.eye(length, dtype=torch.bool)


@mistake(
    "gpt_attention",
    "visible",
    kind="edge",
    wrong="the mask of the first call is used for every later one, whatever its length",
    hint="A mask belongs to one length: build it for the input at hand, or crop it to that.",
)
def first_mask_kept(parts: GPTParts, length: int) -> Tensor:
    kept: Tensor = parts.kept.setdefault("mask", causal(length))
    return kept


@mistake(
    "gpt_attention",
    "visible",
    kind="interface",
    wrong="the mask is built for the greatest length and not cropped to the input's",
    hint="Print the shapes of mask and scores: which rows and columns of the mask belong to the "
    "positions at hand?",
)
def mask_not_cropped(length: int) -> Tensor:
    return causal(1024)


@mistake(
    "gpt_attention",
    "visible",
    kind="laziness",
    wrong="the mask has 512 rows and columns, however long the sequence is",
    hint="Nothing tells your attention how long its input can be: what is the mask's size made of?",
)
def mask_of_512_positions(length: int) -> Tensor:
    return causal(512)[:length, :length]


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="scores of the future become 0 instead of minus infinity before the softmax",
    hint="The exponential of zero is one: how much weight is left for the future?",
)
def zero_for_the_future(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return drop(torch.softmax(hidden(parts, Q, K, 0.0), -1)) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="the mask of zeros and ones is added to the scores",
    hint="What is to be hidden has to fall to minus infinity: how much weight is left for the "
    "future?",
)
def mask_added(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return drop(torch.softmax(scores(Q, K) + parts.visible(V.shape[-2]), -1)) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="probabilities of the future become 0 after the softmax, so that rows do not sum to 1",
    hint="Where all values are ones, what must every output of a head be?",
)
def masked_after_softmax(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return drop(hide(parts, torch.softmax(scores(Q, K), -1), 0.0)) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="numerics",
    wrong="scores of the future become a number such as -100 or -10,000, which is above the true "
    "scores of some positions",
    hint="Softmax looks at differences: what weight is left for the future where a position's "
    "score of itself is lower than the number you fill in?",
)
def minus_ten_thousand_for_the_future(
    parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step
) -> Tensor:
    return drop(torch.softmax(hidden(parts, Q, K, -1e4), -1)) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="the softmax is over the queries instead of the keys",
    hint="The probabilities of each query sum to 1: which dimension of the scores are the keys?",
)
def softmax_over_queries(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return drop(torch.softmax(hidden(parts, Q, K), -2).nan_to_num()) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="the softmax is over the heads instead of the keys",
    hint="The probabilities of each query sum to 1: which dimension of the scores are the keys?",
)
def softmax_over_heads(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return drop(torch.softmax(hidden(parts, Q, K), -3).nan_to_num()) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="numerics",
    wrong="the softmax is written out without subtracting the maximum",
    hint="Scores can be very large or very low: use the softmax you have built.",
)
def softmax_not_shifted(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    exponentials = hidden(parts, Q, K).exp()
    return drop(exponentials / exponentials.sum(-1, keepdim=True)) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="there is no softmax: each query adds up the values by its scores",
    hint="The probabilities of each query sum to 1, and none is negative.",
)
def no_softmax(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return drop(hidden(parts, Q, K, 0.0)) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="laziness",
    wrong="dropout is accepted and ignored",
    hint="Call it twice in training: the outputs must differ.",
)
def dropout_ignored(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return GPTParts.attend(parts, Q, K, V, lambda probabilities: probabilities)


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="dropout is of the scores, before the softmax",
    hint="A score of zero hides nothing: which tensor is dropped in the text?",
)
def dropout_of_scores(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return torch.softmax(hide(parts, drop(scores(Q, K)), -math.inf), -1) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="dropout is of the heads' outputs instead of the probabilities",
    hint="Which tensor is dropped in the text? A dropped probability hides a whole key.",
)
def dropout_of_heads(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return drop(GPTParts.attend(parts, Q, K, V, lambda probabilities: probabilities))


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="dropout is of the values instead of the probabilities",
    hint="Which tensor is dropped in the text? A dropped probability hides a key from one query.",
)
def dropout_of_values(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return GPTParts.attend(parts, Q, K, drop(V), lambda probabilities: probabilities)


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="the probabilities that are left are scaled to sum to 1 after dropout",
    hint="Dropout scales by 1 / (1 - p) and by nothing else.",
)
def rescaled_after_dropout(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    left = drop(torch.softmax(hidden(parts, Q, K), -1))
    return left / left.sum(-1, keepdim=True).clamp(min=1e-9) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="all heads drop the same probabilities",
    hint="Every probability is drawn by itself: which shape has your mask?",
)
def dropped_in_all_heads(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    probabilities = torch.softmax(hidden(parts, Q, K), -1)
    return probabilities * drop(torch.ones_like(probabilities[..., :1, :, :])) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="all queries drop the same keys",
    hint="Print a small matrix of probabilities after dropout: are whole columns zero?",
)
def keys_dropped_for_all_queries(
    parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step
) -> Tensor:
    probabilities = torch.softmax(hidden(parts, Q, K), -1)
    return probabilities * drop(torch.ones_like(probabilities[..., :1, :])) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="some queries lose all their keys, and the others none",
    hint="Print a small matrix of probabilities after dropout: are whole rows zero?",
)
def all_keys_dropped_together(
    parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step
) -> Tensor:
    probabilities = torch.softmax(hidden(parts, Q, K), -1)
    return probabilities * drop(torch.ones_like(probabilities[..., :1])) @ V


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="scores are divided by d_k instead of its square root",
    hint="What is the variance of the product of two random vectors of d_k features?",
)
def scaled_by_width(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return GPTParts.attend(parts, Q / math.sqrt(Q.shape[-1]), K, V, drop)


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="scores are divided by the square root of d_model instead of one head's width",
    hint="Each head has d_model / H features: which of the two is under the root?",
)
def scaled_by_root_of_model_width(
    parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step
) -> Tensor:
    return GPTParts.attend(parts, Q / math.sqrt(Q.shape[-3]), K, V, drop)


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="scores are not scaled",
    hint="What are scores divided by in the text?",
)
def not_scaled(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return GPTParts.attend(parts, Q * math.sqrt(Q.shape[-1]), K, V, drop)


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="scores are multiplied by the square root of d_k instead of divided",
    hint="The scale keeps scores from growing with the width: do yours?",
)
def multiplied_by_root(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return GPTParts.attend(parts, Q * Q.shape[-1], K, V, drop)


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="scores are divided by the square root of the sequence's length",
    hint="The scale is a property of the model: which dimension of the queries do you take?",
)
def scaled_by_root_of_length(
    parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step
) -> Tensor:
    return GPTParts.attend(parts, Q * math.sqrt(Q.shape[-1] / Q.shape[-2]), K, V, drop)


@mistake(
    "gpt_attention",
    "attend",
    kind="formula",
    wrong="queries and keys are exchanged",
    hint="One row of the scores belongs to one query: what is multiplied with what?",
)
def exchanged(parts: GPTParts, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
    return GPTParts.attend(parts, K, Q, V, drop)
