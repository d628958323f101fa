"""Learned positions."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from tests import adapters as reference

from .catalogue import mistake
from .parts import Parts, random


def rows(weights: Tensor, x: Tensor) -> Tensor:
    """The vectors of the positions of an input."""
    return weights[: x.shape[-2]]


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="positions count from 1 instead of 0",
    hint="Which row of the table belongs to the first token, and is the last row ever used?",
)
def from_one(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features + rows(weights.roll(-1, 0), in_features)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="positions count down to 0",
    hint="Which row of the table belongs to the first token?",
)
def reversed_order(
    context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    return in_features + rows(weights, in_features).flip(0)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="a short sequence gets the last rows of the table instead of the first",
    hint="The first token stands at position 0, however long the sequence: how do you crop the "
    "table?",
)
def last_rows(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features + weights[-in_features.shape[-2] :]


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="batch and positions are confused: each sequence gets one row of the table, by its "
    "number in the batch",
    hint="Two equal sequences of a batch must come out equal, and two positions of one must not: "
    "which dimension do you count?",
)
def by_sequence(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features + weights[: in_features.shape[0], None]


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="every position gets the row of position 0",
    hint="Give it equal vectors: which of them come out different?",
)
def first_row_everywhere(
    context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    return in_features + weights[:1]


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="the table is read as if it were (d_model, context_length)",
    hint="One row of the table belongs to one position: follow the table's numbers for a table "
    "filled with its own indices.",
)
def table_transposed(
    context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    return in_features + rows(weights.T.reshape(context_length, d_model), in_features)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="the rows of the table are scaled to length 1",
    hint="A learned vector is added as it is: give zeros and compare with the table.",
)
def normalized_table(
    context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    return in_features + functional.normalize(rows(weights, in_features), dim=-1)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="positions are multiplied by the square root of d_model, as the embeddings are",
    hint="Only the token's vector is scaled: give zeros and compare with the table.",
)
def scaled_table(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features + rows(weights, in_features) * math.sqrt(d_model)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="the input is multiplied by the square root of d_model, which the embedding has done",
    hint="The input comes from the embedding, which has scaled it already: give zeros for the "
    "table.",
)
def input_scaled(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features * math.sqrt(d_model) + rows(weights, in_features)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="vectors and positions are multiplied instead of added",
    hint="Give zeros: what comes out?",
)
def multiplied(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features * rows(weights, in_features)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="the positions' vectors are returned alone, and not added to the input",
    hint="Change the input: does the output change?",
)
def positions_alone(
    context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    return rows(weights, in_features).expand(in_features.shape)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="laziness",
    wrong="no positions are added",
    hint="Change the table: does the output change?",
)
def ignored(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="formula",
    wrong="sinusoids are added instead of the learned vectors",
    hint="Change the table: does the output change?",
)
def sinusoids(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    table = reference.run_sinusoidal_positions(context_length, d_model)
    return in_features + rows(table, in_features)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="laziness",
    wrong="the table stays random, because its name was not found among the given weights",
    hint="Compare the names your module has with those it loads; strict=False hides what does not "
    "fit.",
)
def table_not_loaded(
    context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    return in_features + rows(random(context_length, d_model), in_features)


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="interface",
    wrong="the whole table is added, so that only sequences of the full length fit",
    hint="A sequence may be shorter than the context: how many rows does it need?",
)
def whole_table(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features + weights


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="edge",
    wrong="positions beyond the table begin again from 0",
    hint="What was never learned cannot be given: a longer sequence is an error.",
)
def begins_again(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features + weights[torch.arange(in_features.shape[-2]) % context_length]


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="interface",
    wrong="the input is changed in place",
    hint="Whoever called you may need the input again: which operation writes into the tensor "
    "that it was given?",
)
def in_place(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    in_features += rows(weights, in_features)
    return in_features


@mistake(
    "learned_positions",
    "run_learned_positions",
    kind="laziness",
    wrong="the table of the first call is used for every later one of the same sizes",
    hint="A layer belongs to one call here: what does your class or function keep, and by what is "
    "it looked up?",
)
def first_table_kept(
    parts: Parts, context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    kept: Tensor = parts.kept.setdefault(("positions", context_length, d_model), weights)
    return in_features + rows(kept, in_features)
