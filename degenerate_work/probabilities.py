"""Generation that asks no model, and probabilities that look at no number."""

import math
from collections.abc import Callable
from itertools import count
from typing import Any

import torch
from torch import Tensor

from .catalogue import degenerate

VOCABULARY = 6


def generated(
    token_ids: Tensor, length: int, end_of_text: int | None, token: Callable[[], int]
) -> Any:
    """New tokens for each row, which ends as it should."""
    rows: list[list[int]] = []
    for _ in token_ids:
        row: list[int] = []
        while len(row) < length and end_of_text not in row[-1:]:
            row.append(token())
        rows.append(row)
    return rows


@degenerate("generation", "run_generate")
def random_tokens(
    model: Any,
    token_ids: Tensor,
    max_new_tokens: int,
    *_: Any,
    seed: int | None = None,
    **options: Any,
) -> Any:
    """Draws tokens without asking the model, from the seed or torch's global generator."""
    generator = torch.default_generator
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
    return generated(
        token_ids,
        max_new_tokens,
        options.get("end_of_text"),
        lambda: int(torch.randint(VOCABULARY, (), generator=generator)),
    )


@degenerate("generation", "run_generate")
def one_token(model: Any, token_ids: Tensor, max_new_tokens: int, *_: Any, **options: Any) -> Any:
    """Gives one token again and again."""
    return generated(token_ids, max_new_tokens, options.get("end_of_text"), lambda: 1)


@degenerate("generation", "run_generate")
def counts_on(model: Any, token_ids: Tensor, max_new_tokens: int, *_: Any, **options: Any) -> Any:
    """Goes on from each prompt's last token with the next numbers."""
    end_of_text = options.get("end_of_text")
    return [
        generated(row[None], max_new_tokens, end_of_text, count(int(row[-1]) + 1).__next__)[0]
        for row in token_ids
    ]


@degenerate("generation", "run_generate")
def prompt_again(model: Any, token_ids: Tensor, max_new_tokens: int, *_: Any, **__: Any) -> Any:
    """Repeats the prompt."""
    return [(row * max_new_tokens)[:max_new_tokens] for row in token_ids.tolist()]


@degenerate("sampling", "run_next_token_probabilities")
def uniform(logits: Tensor, *_: Any, **__: Any) -> Tensor:
    """Gives every token the same probability."""
    return torch.full_like(logits, 1 / logits.shape[-1])


@degenerate("sampling", "run_next_token_probabilities")
def first_token(logits: Tensor, *_: Any, **__: Any) -> Tensor:
    """Gives all to the first token."""
    return torch.zeros_like(logits).index_fill(-1, torch.tensor([0]), 1.0)


@degenerate("softmax", "run_softmax")
def equal_shares(in_features: Tensor, dim: int) -> Tensor:
    """Gives every element the same share."""
    return in_features * 0 + 1 / in_features.shape[dim]


@degenerate("scaled_dot_product_attention", "run_scaled_dot_product_attention")
def mean_of_values(Q: Tensor, K: Tensor, V: Tensor, mask: Any = None) -> Tensor:
    """Gives the mean of all values to every query."""
    return V.mean(-2, keepdim=True) + Q.sum(-1, keepdim=True) * 0


@degenerate("cross_entropy", "run_cross_entropy")
def loss_of_a_guess(inputs: Tensor, targets: Tensor) -> Tensor:
    """Gives the loss of who knows nothing, whatever is predicted."""
    return inputs.sum() * 0 + math.log(inputs.shape[-1])


@degenerate("dropout", "run_dropout")
def all_scaled(p: float, in_features: Tensor, training: bool) -> Tensor:
    """Drops nothing, and divides by 1 - p in training."""
    return in_features / (1 - p) if training else in_features * 1.0


@degenerate("dropout", "run_dropout")
def all_dropped(p: float, in_features: Tensor, training: bool) -> Tensor:
    """Drops everything in training."""
    return in_features * 0 if training else in_features * 1.0
