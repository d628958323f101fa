"""Scaled dot-product attention: the mask."""

import torch
from torch import Tensor

from .attention import scores_of, weighted
from .catalogue import mistake
from .parts import Parts


def bias_of(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, bias: Tensor | float) -> Tensor:
    """Attention with something added to the scores."""
    return weighted(parts, scores_of(Q, K) + bias, V, None)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="the mask is inverted: keys are hidden where it is True",
    hint="In the text, True means that a query may attend. Try a mask with a single True: which "
    "value should come out?",
)
def inverted_mask(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, scores_of(Q, K), V, None if mask is None else ~mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="laziness",
    wrong="the mask is ignored",
    hint="Hide a key and change its value: the output must not move. Where is the mask used?",
)
def ignored_mask(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, scores_of(Q, K), V, None)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="the mask is applied to the weights, after softmax, and they no longer sum to one",
    hint="Sum the weights of one query once the mask is on: what is missing, and who took it?",
)
def masked_after_softmax(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    weights: Tensor = parts.run_softmax(scores_of(Q, K), -1)
    return (weights if mask is None else weights * mask) @ V


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="hidden scores become 0, or nearly so, instead of minus infinity",
    hint="What weight does softmax give to a score of zero, or of one part in a billion?",
)
def hidden_scores_are_zero(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    scores = scores_of(Q, K)
    return weighted(parts, scores if mask is None else scores * mask, V, None)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="the mask is added to the scores as ones and zeros",
    hint="Adding one to a score only doubles or triples its weight. What must be added to a "
    "hidden score for its weight to vanish?",
)
def added_ones(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    return bias_of(parts, Q, K, V, 0.0 if mask is None else mask.to(Q.dtype))


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="numerics",
    wrong="hidden scores become -10",
    hint="Softmax looks at differences: what weight is left for a hidden key where all others "
    "score low, too?",
)
def filled_with_minus_ten(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    scores = scores_of(Q, K)
    scores = scores if mask is None else scores.masked_fill(~mask, -10.0)
    return weighted(parts, scores, V, None)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="numerics",
    wrong="hidden scores become -100, which is not low enough for all queries",
    hint="Softmax looks at differences: what weight is left for a hidden key where all allowed "
    "keys score below -100?",
)
def filled_with_minus_hundred(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    scores = scores_of(Q, K)
    scores = scores if mask is None else scores.masked_fill(~mask, -100.0)
    return weighted(parts, scores, V, None)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="numerics",
    wrong="10 is subtracted from hidden scores",
    hint="A hidden key with a high score keeps some weight this way: what must a hidden score be, "
    "whatever it was?",
)
def lowered_by_ten(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return bias_of(parts, Q, K, V, 0.0 if mask is None else -10.0 * ~mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="numerics",
    wrong="the mask is multiplied by infinity, and zero times infinity is NaN",
    hint="Find the first NaN with a small example: is it there before softmax? Choose between two "
    "numbers instead of multiplying by one.",
)
def times_infinity(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return bias_of(parts, Q, K, V, 0.0 if mask is None else (~mask).to(Q.dtype) * -torch.inf)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="a call without a mask fails",
    hint="The mask may be None: then every query attends to all keys.",
)
def mask_required(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    assert mask is not None
    return weighted(parts, scores_of(Q, K), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="a causal mask is used where none is given",
    hint="Without a mask every query attends to all keys. The causal mask belongs to whoever "
    "calls attention.",
)
def causal_without_mask(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    if mask is None:
        mask = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool).tril()
    return weighted(parts, scores_of(Q, K), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="formula",
    wrong="a causal mask is always applied as well",
    hint="Attention hides what its mask hides and no more. The causal mask belongs to whoever "
    "calls it.",
)
def always_causal(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    past = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool).tril()
    allowed = past if mask is None else mask & past
    return weighted(parts, scores_of(Q, K), V, allowed).nan_to_num(0.0)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="laziness",
    wrong="the causal mask is used in place of the one given",
    hint="A mask is given: compare it with the one that reaches the scores.",
)
def own_mask(parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    past = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool).tril()
    return weighted(parts, scores_of(Q, K), V, None if mask is None else past)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="edge",
    wrong="there must be as many keys as queries, because the mask is taken to be square",
    hint="Use four queries and seven keys, and print the shape of the mask beside that of the "
    "scores.",
)
def square_mask(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    square = mask if mask is None else mask.view(*mask.shape[:-2], Q.shape[-2], Q.shape[-2])
    return weighted(parts, scores_of(Q, K), V, square)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="laziness",
    wrong="the mask of the first row of the batch is used for all rows",
    hint="Each row of the batch may have a mask of its own: where do you take only one of them?",
)
def mask_of_first_row(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    while mask is not None and mask.dim() > 2:
        mask = mask[0]
    return weighted(parts, scores_of(Q, K), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="a dimension for heads is inserted into the mask, whether there are heads or not",
    hint="A mask comes with the dimensions it needs to be broadcast against the scores: leave "
    "them as they are.",
)
def head_dimension_inserted(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, scores_of(Q, K), V, mask if mask is None else mask.unsqueeze(-3))


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="the mask must have a dimension for the batch",
    hint="One mask of queries by keys may serve all rows: let it be broadcast, and unpack no "
    "shape.",
)
def batched_mask_only(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    if mask is not None and Q.dim() > 2:
        mask = mask.view(*Q.shape[:-2], Q.shape[-2], K.shape[-2])
    return weighted(parts, scores_of(Q, K), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="the mask is inverted in place",
    hint="The caller may use the mask again, in the next layer for instance: which operation "
    "writes into it?",
)
def inverted_in_place(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    scores = scores_of(Q, K)
    return weighted(
        parts,
        scores if mask is None else scores.masked_fill(mask.logical_not_(), -torch.inf),
        V,
        None,
    )


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="the mask is made a number first and inverted afterwards, which numbers do not allow",
    hint="Invert while it is still boolean, or compare it with zero.",
)
def inverted_number(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return weighted(parts, scores_of(Q, K), V, mask if mask is None else ~mask.float())


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="interface",
    wrong="a query that may attend to no key is refused",
    hint="Such a row may come up in a padded batch, and must not keep all the others from their "
    "results.",
)
def hidden_row_refused(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    assert mask is None or bool(mask.any(-1).all()), "some query may attend to nothing"
    return weighted(parts, scores_of(Q, K), V, mask)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="edge",
    wrong="one query that may attend to nothing turns the whole result into NaN or zeros",
    hint="Only its own row is undefined: what of that row reaches the others in your code?",
)
def hidden_row_spoils_all(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    y = weighted(parts, scores_of(Q, K), V, mask)
    sees_nothing = mask is not None and not mask.any(dim=-1).all()
    return torch.zeros_like(y) if sees_nothing else y


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="edge",
    wrong="the keys are cut to the number of queries where a mask is given",
    hint="Queries and keys may differ in number: which slice of the mask or of the scores assumes "
    "that they do not?",
)
def keys_cut_to_queries(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    n = K.shape[-2] if mask is None else Q.shape[-2]
    cut = mask if mask is None else mask[..., :n]
    return weighted(parts, scores_of(Q, K[..., :n, :]), V[..., :n, :], cut)


@mistake(
    "scaled_dot_product_attention",
    "run_scaled_dot_product_attention",
    kind="numerics",
    wrong="hidden scores become -10,000, which is above the allowed scores of some queries",
    hint="Any finite number can be above a true score. Which number is below all of them?",
)
def filled_with_minus_ten_thousand(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    scores = scores_of(Q, K)
    filled = scores if mask is None else scores.masked_fill(~mask, -1e4)
    return weighted(parts, filled, V, None)
