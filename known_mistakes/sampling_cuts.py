"""The distribution of the next token: top-k and top-p."""

import torch
from torch import Tensor

from .all_parts import AllParts, ordered, rescaled, scattered
from .catalogue import mistake


@mistake(
    "sampling",
    "cut_to_k",
    kind="formula",
    wrong="top-k keeps one token too many",
    hint="How many tokens are left with a k of 1?",
)
def one_more_than_k(parts: AllParts, scores: Tensor, k: int) -> Tensor:
    return AllParts.cut_to_k(parts, scores, min(k + 1, scores.shape[-1]))


@mistake(
    "sampling",
    "cut_to_k",
    kind="formula",
    wrong="top-k keeps one token too few",
    hint="What is left with a k of 1? Is the k-th largest itself kept?",
)
def one_less_than_k(scores: Tensor, k: int) -> Tensor:
    return scores.masked_fill(scores <= scores.topk(k).values[..., -1:], -torch.inf)


@mistake(
    "sampling",
    "cut_to_k",
    kind="formula",
    wrong="top-k keeps the k least likely tokens",
    hint="In which direction do you sort?",
)
def smallest_k(scores: Tensor, k: int) -> Tensor:
    kth = scores.topk(k, largest=False).values[..., -1:]
    return scores.masked_fill(scores > kth, -torch.inf)


@mistake(
    "sampling",
    "cut_to_k",
    kind="laziness",
    wrong="top-k is ignored",
    hint="How many tokens are left with a k of 1?",
)
def top_k_ignored(scores: Tensor, k: int) -> Tensor:
    return scores


@mistake(
    "sampling",
    "cut_to_k",
    kind="formula",
    wrong="logits of tokens that top-k drops become 0 instead of minus infinity",
    hint="The exponential of zero is one: do dropped tokens have probability 0?",
)
def zero_for_dropped(scores: Tensor, k: int) -> Tensor:
    return scores.masked_fill(scores < scores.topk(k).values[..., -1:], 0.0)


@mistake(
    "sampling",
    "cut_to_k",
    kind="formula",
    wrong="top-k looks at all rows together, and keeps k tokens in all of them",
    hint="Every row has a distribution of its own: how many tokens are left in each?",
)
def k_of_all_rows(scores: Tensor, k: int) -> Tensor:
    return scores.masked_fill(scores < scores.flatten().topk(k).values[-1], -torch.inf)


@mistake(
    "sampling",
    "cut_to_k",
    kind="formula",
    wrong="the k-th largest logit of the first row cuts all rows",
    hint="Every row has a distribution of its own: which shape has your threshold?",
)
def threshold_of_first_row(scores: Tensor, k: int) -> Tensor:
    kth = scores.reshape(-1, scores.shape[-1])[0].topk(k).values[-1]
    return scores.masked_fill(scores < kth, -torch.inf)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="formula",
    wrong="top-k and top-p cut after the softmax, and what is left is not scaled to sum to 1",
    hint="What do your probabilities sum to?",
)
def not_rescaled(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    right = AllParts.run_next_token_probabilities
    kept = right(parts, logits, temperature, top_k, top_p)
    return right(parts, logits, temperature).masked_fill(kept == 0, 0.0)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="formula",
    wrong="top-p does not scale what is left to sum to 1",
    hint="What do your probabilities sum to?",
)
def nucleus_not_rescaled(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    right = AllParts.run_next_token_probabilities
    kept = right(parts, logits, temperature, top_k, top_p)
    return right(parts, logits, temperature, top_k).masked_fill(kept == 0, 0.0)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="edge",
    wrong="a top-k above the size of the vocabulary raises",
    hint="There are no more tokens to keep than there are: what should such a k do?",
)
def large_k_raises(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    if top_k is not None:
        logits.topk(top_k)
    return AllParts.run_next_token_probabilities(parts, logits, temperature, top_k, top_p)


@mistake(
    "sampling",
    "nucleus",
    kind="formula",
    wrong="top-p drops the token with which p is reached",
    hint="What is kept has probability p at least: with tokens of 0.6 and 0.4, what is left for a "
    "p of 0.8?",
)
def crossing_token_dropped(descending: Tensor, p: float) -> Tensor:
    kept = descending.cumsum(-1) <= p
    kept[..., 0] = True
    return rescaled(descending.masked_fill(~kept, 0.0))


@mistake(
    "sampling",
    "nucleus",
    kind="edge",
    wrong="top-p drops even the likeliest token where that has more than p",
    hint="One token is always kept: what is left for a p below the largest probability?",
)
def nothing_left(descending: Tensor, p: float) -> Tensor:
    return rescaled(descending.masked_fill(descending.cumsum(-1) > p, 0.0))


@mistake(
    "sampling",
    "nucleus",
    kind="formula",
    wrong="top-p keeps one token more than is needed to reach p",
    hint="With tokens of 0.6, 0.3 and 0.1, what is left for a p of 0.5?",
)
def one_more_than_p(descending: Tensor, p: float) -> Tensor:
    needed = descending.cumsum(-1) - descending < p
    kept = needed | needed.roll(1, -1)
    kept[..., 0] = True
    return rescaled(descending.masked_fill(~kept, 0.0))


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="top-p sorts in ascending order, and keeps the least likely tokens",
    hint="The likeliest come first: in which direction do you sort?",
)
def ascending(parts: AllParts, probabilities: Tensor, p: float) -> Tensor:
    values, order = ordered(probabilities, descending=False)
    return scattered(parts.nucleus(values, p), order)


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="what top-p keeps stays in sorted order, so that tokens get each other's probabilities",
    hint="After sorting, the first place is no longer token 0: how do values get back to their "
    "tokens?",
)
def not_scattered(parts: AllParts, probabilities: Tensor, p: float) -> Tensor:
    return parts.nucleus(ordered(probabilities)[0], p)


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="the mask of what top-p drops is in sorted order, and is applied to tokens as they are",
    hint="After sorting, the first place is no longer token 0: how does the mask get back to the "
    "tokens?",
)
def mask_not_scattered(parts: AllParts, probabilities: Tensor, p: float) -> Tensor:
    kept = parts.nucleus(ordered(probabilities)[0], p) > 0
    return rescaled(probabilities.masked_fill(~kept, 0.0))


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="the order in which top-p sorted is undone by sorting with it once more",
    hint="An order and its inverse are different: which of them do you use?",
)
def gathered(parts: AllParts, probabilities: Tensor, p: float) -> Tensor:
    descending, order = ordered(probabilities)
    return parts.nucleus(descending, p).gather(-1, order)


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="top-p adds up probabilities in the vocabulary's order, without sorting",
    hint="The likeliest tokens are kept, wherever they are in the vocabulary.",
)
def not_sorted(parts: AllParts, probabilities: Tensor, p: float) -> Tensor:
    return parts.nucleus(probabilities, p)


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="top-p keeps every token whose own probability is p at least",
    hint="p is what the kept tokens have together.",
)
def each_above_p(probabilities: Tensor, p: float) -> Tensor:
    kept = probabilities >= torch.minimum(probabilities.amax(-1, keepdim=True), torch.tensor(p))
    return rescaled(probabilities.masked_fill(~kept, 0.0))


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="top-p keeps tokens that have at least p times the likeliest one's probability",
    hint="That is min-p. Top-p is about what the kept tokens have together.",
)
def min_p(probabilities: Tensor, p: float) -> Tensor:
    threshold = p * probabilities.amax(-1, keepdim=True)
    return rescaled(probabilities.masked_fill(probabilities < threshold, 0.0))


@mistake(
    "sampling",
    "cut_to_p",
    kind="laziness",
    wrong="top-p is ignored",
    hint="What is left for a p near 0?",
)
def top_p_ignored(probabilities: Tensor, p: float) -> Tensor:
    return probabilities


@mistake(
    "sampling",
    "cut_to_p",
    kind="formula",
    wrong="top-p keeps as many tokens in each row as the first row needs",
    hint="Every row has a nucleus of its own: which shape has what you cut with?",
)
def size_of_first_row(parts: AllParts, probabilities: Tensor, p: float) -> Tensor:
    descending, order = ordered(probabilities)
    first = descending.reshape(-1, descending.shape[-1])[0]
    kept = parts.nucleus(first, p) > 0
    return scattered(rescaled(descending.masked_fill(~kept, 0.0)), order)
