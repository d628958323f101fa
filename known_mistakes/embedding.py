"""The token embedding."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import mistake
from .parts import Parts, random


@mistake(
    "embedding",
    "run_embedding",
    kind="formula",
    wrong="each row is scaled to length 1",
    hint="An embedding only looks up: compare one of your rows with the row of the weight it came "
    "from.",
)
def normalized_rows(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    rows = weights[token_ids]
    return functional.normalize(rows, dim=-1)


@mistake(
    "embedding",
    "run_embedding",
    kind="formula",
    wrong="rows longer than 1 are shortened to length 1",
    hint="Look at your embedding's options: one of them limits the length of a vector, and the "
    "text has no such limit.",
)
def limited_length(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    rows = weights[token_ids]
    return torch.renorm(rows.view(-1, d_model), 2, 0, 1.0).view(rows.shape)


@mistake(
    "embedding",
    "run_embedding",
    kind="formula",
    wrong="each row is multiplied by the square root of d_model",
    hint="The first Transformer scaled its embeddings; this text does not. Compare a row of your "
    "output with the weight's.",
)
def scaled_by_root_of_width(
    vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor
) -> Tensor:
    return weights[token_ids] * math.sqrt(d_model)


@mistake(
    "embedding",
    "run_embedding",
    kind="formula",
    wrong="each id is given the row before its own",
    hint="Ids count from 0, as rows do. Which row does id 0 get?",
)
def row_before(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long() - 1]


@mistake(
    "embedding",
    "run_embedding",
    kind="edge",
    wrong="id 0 is taken for padding and gets zeros",
    hint="No token of this vocabulary stands for padding: look for a padding option that is set.",
)
def zero_is_padding(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return torch.where(token_ids[..., None] == 0, 0.0, weights[token_ids])


@mistake(
    "embedding",
    "run_embedding",
    kind="edge",
    wrong="the last id of the vocabulary gets another id's row",
    hint="How many rows does your table have, and what becomes of the greatest id? A limit or a "
    "remainder that is one too small folds it onto another.",
)
def last_id_wraps(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids % (vocab_size - 1)]


@mistake(
    "embedding",
    "run_embedding",
    kind="laziness",
    wrong="the table keeps the random rows it was born with, and the given ones are never loaded",
    hint="Print the first row of your table just before the look-up; loading with strict=False "
    "hides a name that does not fit.",
)
def given_table_not_loaded(
    vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor
) -> Tensor:
    return random(vocab_size, d_model)[token_ids]


@mistake(
    "embedding",
    "run_embedding",
    kind="interface",
    wrong="only the first id of each sequence is looked up",
    hint="The output has the shape of the ids and one more dimension. Which positions does yours "
    "have?",
)
def first_id_only(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids[:, 0]]


@mistake(
    "embedding",
    "run_embedding",
    kind="interface",
    wrong="ids of all rows are flattened into one sequence, and stay so",
    hint="The output has the shape of the ids and one more dimension: compare the two.",
)
def flattened_ids(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.flatten()]


@mistake(
    "embedding",
    "run_embedding",
    kind="interface",
    wrong="exactly two dimensions of ids are expected",
    hint="Ids come in any shape. Indexing needs no sizes: where do you unpack or name them?",
)
def batches_of_sequences_only(
    vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor
) -> Tensor:
    batch, length = token_ids.shape
    return weights[token_ids.reshape(-1)].view(batch, length, d_model)


@mistake(
    "embedding",
    "run_embedding",
    kind="numerics",
    wrong="the table is kept in bfloat16",
    hint="A look-up changes no number: the output should equal rows of the weight to the last "
    "bit. Where does the dtype change?",
)
def bfloat16_table(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights.bfloat16()[token_ids].to(weights.dtype)


@mistake(
    "embedding",
    "run_embedding",
    kind="laziness",
    wrong="the table of the first call is used for every later one of the same sizes",
    hint="A layer belongs to one call here: what does your class or function keep, and by what is "
    "it looked up?",
)
def first_table_kept(
    parts: Parts, vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor
) -> Tensor:
    kept: Tensor = parts.kept.setdefault(("embedding", vocab_size, d_model), weights)
    return kept[token_ids]
