"""Embedding scaled by the square root of d_model."""

import math
from functools import wraps
from typing import Any

from torch import Tensor

from cs336_checks.catalogue import Part

from . import embedding
from .catalogue import as_in, mistake
from .parts import random


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="formula",
    wrong="embeddings are scaled by the fourth root of d_model: the square root is taken twice",
    hint="Divide your output by the table's row: what is its square?",
)
def fourth_root(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()] * math.sqrt(math.sqrt(d_model))


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="laziness",
    wrong="embeddings are not scaled",
    hint="Divide your output by the table's row: it should be the square root of d_model.",
)
def not_scaled(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()]


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="formula",
    wrong="embeddings are scaled by d_model, without the root",
    hint="Divide your output by the table's row: it should be the square root of d_model.",
)
def scaled_by_width(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()] * d_model


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="formula",
    wrong="embeddings are divided by the square root of d_model",
    hint="Vectors are small at first, and the scale makes them larger.",
)
def divided(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()] / math.sqrt(d_model)


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="formula",
    wrong="embeddings are scaled by the square root of the vocabulary's size",
    hint="Which of the two sizes is under the root in the text?",
)
def root_of_vocabulary(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()] * math.sqrt(vocab_size)


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="formula",
    wrong="embeddings are scaled by the square root of the sequence's length",
    hint="The scale is a property of the model: look at two lengths.",
)
def root_of_length(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    x = weights[token_ids.long()]
    return x * math.sqrt(token_ids.shape[-1])


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="edge",
    wrong="the square root of d_model is rounded to an integer",
    hint="Most widths are no squares: print the scale for a width of 8.",
)
def integer_root(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()] * round(math.sqrt(d_model))


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="laziness",
    wrong="the scale is that of d_model = 512, whatever is given",
    hint="Call it with two widths: the argument must reach the scale.",
)
def root_of_512(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()] * math.sqrt(512)


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="formula",
    wrong="the square root of d_model is added instead of multiplied",
    hint="A scale is a factor: what must a row of zeros give?",
)
def added(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long()] + math.sqrt(d_model)


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="interface",
    wrong="the given table is scaled in place, more with every call",
    hint="The weight is kept as it is: scale what was looked up.",
)
def table_scaled(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights.mul_(math.sqrt(d_model))[token_ids.long()]


@mistake(
    "scaled_embedding",
    "run_scaled_embedding",
    kind="laziness",
    wrong="the table keeps the random rows it was born with, and the given ones are never loaded",
    hint="Compare the names your module has with those it loads; strict=False hides what does not "
    "fit.",
)
def table_not_loaded(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return random(vocab_size, d_model)[token_ids.long()]


def scaled(look_up: Part) -> Part:
    """The rows that an embedding gives, scaled as they should be."""

    @wraps(look_up)
    def then_scaled(*arguments: Any) -> Tensor:
        rows: Tensor = look_up(*arguments)
        return rows * math.sqrt(rows.shape[-1])

    return then_scaled


for function in (
    embedding.normalized_rows,
    embedding.row_before,
    embedding.zero_is_padding,
    embedding.last_id_wraps,
    embedding.flattened_ids,
    embedding.batches_of_sequences_only,
    embedding.first_table_kept,
):
    as_in(function, "scaled_embedding", "run_scaled_embedding", scaled)
