"""Scaled embedding, learned and sinusoidal positions."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant


@variant("scaled_embedding", "run_scaled_embedding")
def torch_function(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Gives what PyTorch's own function gives, times the root."""
    return functional.embedding(token_ids, weights.view(vocab_size, d_model)) * math.sqrt(d_model)


@variant("scaled_embedding", "run_scaled_embedding")
def scaled_table(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Scales a copy of the table and selects its rows."""
    table = weights.view(vocab_size, d_model) * math.sqrt(d_model)
    return table.index_select(0, token_ids.reshape(-1)).reshape(*token_ids.shape, d_model)


@variant("scaled_embedding", "run_scaled_embedding")
def embedding_module(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Is a module of PyTorch with the root as a tensor; the output requires a gradient."""
    embedding = nn.Embedding(vocab_size, d_model)
    embedding.load_state_dict({"weight": weights})
    return torch.as_tensor(embedding(token_ids) * torch.tensor(float(d_model)).sqrt())


@variant("scaled_embedding", "run_scaled_embedding")
def one_hot(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Multiplies one-hot vectors with the table, and divides by the inverse root."""
    rows = functional.one_hot(token_ids.long(), vocab_size).to(weights.dtype) @ weights
    return rows / (1 / math.sqrt(d_model))


@variant("learned_positions", "run_learned_positions")
def position_module(
    context_length: int, d_model: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    """Looks positions up with a module of PyTorch; the output requires a gradient."""
    table = nn.Embedding(context_length, d_model)
    table.load_state_dict({"weight": weights})
    return torch.as_tensor(in_features + table(torch.arange(in_features.size(-2))))


@variant("learned_positions", "run_learned_positions")
def cut_table(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Cuts the table, and says clearly that a sequence is too long."""
    length = in_features.shape[-2]
    if length > context_length:
        raise ValueError(f"{length} positions, {context_length} learned, {d_model} wide")
    return weights[:length] + in_features


@variant("learned_positions", "run_learned_positions")
def for_each_row(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Repeats positions for each row; where there are too few, the shapes do not fit."""
    *leading, length, _ = in_features.shape
    rows = weights.view(context_length, d_model).narrow(0, 0, min(length, context_length))
    return in_features + rows.expand(*leading, *rows.shape)


@variant("learned_positions", "run_learned_positions")
def one_by_one(context_length: int, d_model: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Adds position by position; beyond the table, the index does not exist."""
    assert weights.shape == (context_length, d_model), "One row is for one position."
    columns = [x + weights[i] for i, x in enumerate(in_features.unbind(-2))]
    return torch.stack(columns, dim=-2)


@variant("sinusoidal_positions", "run_sinusoidal_positions")
def assigned(length: int, d_model: int) -> Tensor:
    """Fills even and odd columns with slices, from logarithms in float32, as published."""
    table, position = torch.zeros(length, d_model), torch.arange(length).float().unsqueeze(1)
    wave = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    table[:, 0::2], table[:, 1::2] = torch.sin(position * wave), torch.cos(position * wave)
    return table


@variant("sinusoidal_positions", "run_sinusoidal_positions")
def by_numpy(length: int, d_model: int) -> Tensor:
    """Is computed by NumPy, cosines as shifted sines."""
    feature = np.arange(d_model)
    angles = np.arange(length)[:, None] / 10000 ** (2 * (feature // 2) / d_model)
    return torch.from_numpy(np.sin(angles + np.pi / 2 * (feature % 2)).astype(np.float32))


@variant("sinusoidal_positions", "run_sinusoidal_positions")
def number_by_number(length: int, d_model: int) -> Tensor:
    """Is computed number by number."""
    waves = (math.sin, math.cos)
    return torch.tensor(
        [
            [waves[j % 2](i / 10000 ** ((j - j % 2) / d_model)) for j in range(d_model)]
            for i in range(length)
        ]
    )


@variant("sinusoidal_positions", "run_sinusoidal_positions")
def complex_numbers(length: int, d_model: int) -> Tensor:
    """Is made of complex numbers, whose parts are then exchanged."""
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
    angles = torch.outer(torch.arange(length).double(), frequencies)
    turned = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))
    return turned.flip(-1).flatten(-2).to(torch.float32)
