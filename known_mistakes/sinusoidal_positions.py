"""The table of sinusoidal positions."""

import math

import torch
from torch import Tensor

from .catalogue import mistake


def waves(length: int, frequencies: Tensor, first: int = 0) -> Tensor:
    """Sines at even features and cosines at odd ones, one frequency for each pair."""
    angles = torch.arange(first, first + length).double().outer(frequencies.double())
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).float()


def right_frequencies(d_model: int) -> Tensor:
    """One for each pair."""
    return 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="sines fill the first half of the features and cosines the second",
    hint="Sine and cosine of one frequency are neighbours: which features have the slowest waves?",
)
def halves(length: int, d_model: int) -> Tensor:
    table = waves(length, right_frequencies(d_model))
    return torch.cat([table[:, 0::2], table[:, 1::2]], -1)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="cosines stand at even features and sines at odd ones",
    hint="What is the first number of the first position?",
)
def cosine_first(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model)).view(length, -1, 2).flip(-1).flatten(-2)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="positions count from 1 instead of 0",
    hint="What is the first row?",
)
def from_one(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model), 1)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="the exponent is k / d_model instead of 2k / d_model",
    hint="Is your slowest frequency near 1/100 or near 1/10000?",
)
def half_the_exponent(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model).sqrt())


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="the exponent is 4k / d_model instead of 2k / d_model",
    hint="Is your k the number of the pair, or is it twice that already?",
)
def twice_the_exponent(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model) ** 2)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="each feature has a frequency of its own, so that cosines are slower than their sines",
    hint="Features 2k and 2k + 1 share a frequency: what is the sum of their squares?",
)
def frequency_for_each_feature(length: int, d_model: int) -> Tensor:
    features = torch.arange(d_model)
    angles = torch.arange(length).double().outer(10000.0 ** (-features.double() / d_model))
    return torch.where(features % 2 == 0, angles.sin(), angles.cos()).float()


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="positions are multiplied by the wavelengths instead of divided",
    hint="Waves become slower from pair to pair: do yours?",
)
def inverse_frequency(length: int, d_model: int) -> Tensor:
    return waves(length, 1 / right_frequencies(d_model))


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="the base of the frequencies is 1000 instead of 10000",
    hint="Which number is your slowest frequency near? Compare with the formula.",
)
def base_of_1000(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model) ** 0.75)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="the exponent is divided by d_model - 2, so that the last frequency is exactly 1/10000",
    hint="By what does the text divide the exponent?",
)
def two_less(length: int, d_model: int) -> Tensor:
    steps = torch.arange(d_model // 2).double() / max(d_model // 2 - 1, 1)
    return waves(length, 10000.0**-steps)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="odd features are sines too",
    hint="Is your first row all zeros? What is the cosine of zero?",
)
def sines_alone(length: int, d_model: int) -> Tensor:
    table = waves(length, right_frequencies(d_model))
    return table[:, 0::2].repeat_interleave(2, -1)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="angles are taken for degrees",
    hint="Sine and cosine take radians. Which factor of yours is not in the text?",
)
def degrees(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model) * math.pi / 180)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="the table is multiplied by the square root of d_model",
    hint="Sines and cosines lie between -1 and 1: only the embedding is scaled.",
)
def scaled(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model)) * math.sqrt(d_model)


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="interface",
    wrong="positions are columns instead of rows",
    hint="The table has the shape (length, d_model).",
)
def transposed(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model)).T


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="interface",
    wrong="the table has one row more than asked for",
    hint="How many positions are there, the first one being 0?",
)
def one_row_more(length: int, d_model: int) -> Tensor:
    return waves(length + 1, right_frequencies(d_model))


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="formula",
    wrong="the slowest waves come first",
    hint="Which frequency has feature 0?",
)
def reversed_frequencies(length: int, d_model: int) -> Tensor:
    return waves(length, right_frequencies(d_model).flip(0))


@mistake(
    "sinusoidal_positions",
    "run_sinusoidal_positions",
    kind="numerics",
    wrong="angles are computed in half precision",
    hint="A position of some hundreds is not even stored exactly in bfloat16.",
)
def half_precision(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length).bfloat16()[:, None] * right_frequencies(d_model).bfloat16()
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).float()
