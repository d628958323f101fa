"""Rotary position embeddings: which angles, which features, and how they turn."""

import math

import torch
from torch import Tensor

from .catalogue import mistake


def frequencies_of(d_k: int, theta: float) -> Tensor:
    """The angle of each pair at position 1."""
    return theta ** (-torch.arange(0, d_k, 2).float() / d_k)


def angles_of(d_k: int, theta: float, positions: Tensor) -> Tensor:
    """The angle of each pair at each position, (…, sequence, d_k / 2)."""
    return positions[..., None].float() * frequencies_of(d_k, theta)


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """Each pair of neighbours turned by its angle."""
    even, odd, cos, sin = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="feature i is paired with feature i + d/2",
    hint="Write down which two features share an angle for d = 4, and compare with the text.",
)
def half_split_pairs(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(d_k, theta, positions)
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the features of the pairs are not interleaved again: all first features come "
    "before all second ones",
    hint="Turn by no angle at all: the vector must stay as it is. In which order do you join the "
    "two halves?",
)
def pairs_left_apart(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    y = turned(x, angles_of(d_k, theta, positions))
    return torch.cat([y[..., ::2], y[..., 1::2]], -1)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="pairs turn the other way",
    hint="Turn (1, 0) by a small positive angle: is the second feature positive? Look at which of "
    "the two sines has the minus sign.",
)
def other_direction(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, -angles_of(d_k, theta, positions))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="sine and cosine are swapped",
    hint="At position 0 nothing may turn: which of sine and cosine of zero is one?",
)
def sine_and_cosine_swapped(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    return turned(x, math.pi / 2 - angles_of(d_k, theta, positions))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="both sines have the same sign, so that pairs are stretched and not turned",
    hint="A rotation keeps the length of each pair. Which of the two sines has a minus sign in "
    "the text's matrix?",
)
def both_sines_added(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(d_k, theta, positions)
    even, odd, cos, sin = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack([even * cos + odd * sin, even * sin + odd * cos], -1).flatten(-2)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the second feature of a pair is computed from the first one after it was turned",
    hint="Both new features come from both old ones: keep the old values until the two are "
    "computed.",
)
def second_from_turned_first(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    angles = angles_of(d_k, theta, positions)
    even, odd, cos, sin = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    even = even * cos - odd * sin
    return torch.stack([even, even * sin + odd * cos], -1).flatten(-2)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the exponent is k/d instead of 2k/d",
    hint="The last pair of a wide vector turns by nearly 1/Θ a position. By how much does yours?",
)
def half_the_exponent(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta**0.5, positions))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the exponent is 4k/d instead of 2k/d",
    hint="If your index already counts features, 0, 2, 4 and so on, it is already doubled. Print "
    "the exponents for d = 8.",
)
def twice_the_exponent(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta**2, positions))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="pairs are counted from 1 in the exponent",
    hint="The first pair must turn by one radian a position, whatever Θ is. Print its frequency.",
)
def pairs_from_one(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions) * theta ** (-2 / d_k))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the exponent counts pairs from 1 and takes 2k - 1 over d",
    hint="The first pair must turn by one radian a position, whatever Θ is. Which k makes its "
    "exponent zero?",
)
def odd_exponents(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions) * theta ** (-1 / d_k))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the exponent is divided by d - 2 instead of d",
    hint="Write down the exponents for d = 4: the last one is a half, not one.",
)
def divided_by_two_less(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    return turned(x, angles_of(d_k, theta ** (d_k / (d_k - 2)), positions))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the exponent has the wrong sign, so that later pairs turn faster",
    hint="Later pairs turn more slowly: print the frequencies and see in which direction they go.",
)
def rising_frequencies(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, 1 / theta, positions))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="frequencies fall in equal steps instead of by equal factors",
    hint="Θ is raised to a power for each pair: is the ratio of two neighbouring frequencies the "
    "same everywhere?",
)
def linear_frequencies(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, positions[..., None] * (1 - torch.arange(0, d_k, 2) / d_k))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="all pairs turn at the same speed, because the exponent is rounded to an integer",
    hint="Print the exponents: division of integers may drop what you need.",
)
def rounded_exponent(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, positions[..., None].float().expand(*positions.shape, d_k // 2))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the pairs' frequencies are in reverse order",
    hint="The first pair turns fastest: print the angles at position 1.",
)
def reversed_frequencies(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions).flip(-1))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the frequency of each pair is multiplied by 2π",
    hint="Angles are in radians as they stand: position 1 turns the first pair by one radian.",
)
def times_full_turn(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions) * 2 * math.pi)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="angles are taken for degrees",
    hint="Sine and cosine expect radians, and the text's angles are radians already: convert "
    "nothing.",
)
def degrees(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions) * math.pi / 180)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the frequencies are repeated as a whole, so that the two features of a pair have "
    "different angles",
    hint="Print the angle of each feature: neighbours must have the same one. Compare the two "
    "ways to repeat a tensor.",
)
def tiled_angles(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(d_k, theta, positions).tile(2)
    swapped = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * angles.cos() + swapped * angles.sin()


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="each feature has a frequency of its own, and the two of a pair turn differently",
    hint="A pair turns as a whole: how many frequencies are there for d features?",
)
def frequency_of_each_feature(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    angles = positions[..., None].float() * theta ** (-torch.arange(d_k).float() / d_k)
    swapped = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * angles.cos() + swapped * angles.sin()


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="only the first half of the features is turned",
    hint="Some models turn a part of each vector; this text turns all pairs. Which features stay "
    "the same at a late position?",
)
def half_of_the_features(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    y, half = turned(x, angles_of(d_k, theta, positions)), d_k // 4 * 2
    return torch.cat([y[..., :half], x[..., half:]], -1)


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the sine and cosine of the angles are added to the features, which are not turned",
    hint="Sinusoidal embeddings are added, RoPE multiplies by a rotation: what does RoPE make of "
    "a vector of zeros?",
)
def added_instead(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(d_k, theta, positions)
    return x + torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


@mistake(
    "rope",
    "run_rope",
    kind="laziness",
    wrong="the vectors are returned as they came",
    hint="A vector at position 1 must turn: where does the rotation reach the result?",
)
def not_turned(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return x * 1.0


@mistake(
    "rope",
    "run_rope",
    kind="laziness",
    wrong="Θ is always 10000, whatever is given",
    hint="Call it with two values of Θ and compare: the argument must reach the frequencies.",
)
def theta_of_10000(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, 10000.0, positions))
