"""RMSNorm."""

import torch
from torch import Tensor

from .catalogue import mistake
from .parts import Parts


def scaled(x: Tensor, square: Tensor, gain: Tensor) -> Tensor:
    """The input divided by the root of a mean square, times the gain, in the input's dtype."""
    return (x.float() / square.sqrt() * gain).to(x.dtype)


def mean_square(x: Tensor) -> Tensor:
    """The mean of the squares of each vector."""
    return x.float().square().mean(-1, keepdim=True)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="epsilon is added to the root instead of to the mean square inside it",
    hint="Put a vector of numbers around 0.001 into both forms: where does epsilon weigh more?",
)
def epsilon_outside_the_root(
    d_model: int, eps: float, weights: Tensor, in_features: Tensor
) -> Tensor:
    x = in_features.float()
    return (x / (mean_square(x).sqrt() + eps) * weights).to(in_features.dtype)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="laziness",
    wrong="epsilon is a fixed small number, whatever is given",
    hint="Follow the argument from the constructor to the formula: is it stored, and is it used? "
    "It shows only where inputs are small.",
)
def epsilon_ignored(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, mean_square(in_features) + 1e-5, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="edge",
    wrong="epsilon is left out",
    hint="What is divided by what in a vector of zeros?",
)
def no_epsilon(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, mean_square(in_features), weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the mean square is raised to epsilon where it is smaller, instead of adding epsilon",
    hint="Read the formula again: epsilon is a term of a sum, not a lower bound. Try a mean "
    "square of about epsilon's size.",
)
def epsilon_as_lower_bound(
    d_model: int, eps: float, weights: Tensor, in_features: Tensor
) -> Tensor:
    return scaled(in_features, mean_square(in_features).clamp(min=eps), weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the mean is subtracted first, as LayerNorm does",
    hint="RMSNorm has no mean: a constant vector must not become zero. Compare the two formulas.",
)
def layer_norm(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    centred = in_features - in_features.mean(-1, keepdim=True)
    return scaled(centred, mean_square(centred) + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the vector is divided by its standard deviation",
    hint="A standard deviation measures the distance from the mean, a root mean square the "
    "distance from zero. Which of them does a constant vector have?",
)
def standard_deviation(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, in_features.float().var(-1, keepdim=True) + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the squares are summed and not averaged",
    hint="Every vector of ones, whatever its width, has a root mean square of one. What does "
    "yours have?",
)
def sum_of_squares(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, mean_square(in_features) * d_model + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the sum of squares is divided by d_model - 1",
    hint="That correction belongs to the variance of a sample. Take the root mean square of a "
    "vector of ones: what should it be?",
)
def one_less(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, mean_square(in_features) * d_model / (d_model - 1) + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the mean of absolute values takes the place of the root of the mean square",
    hint="The two agree only where all numbers have the same size: compute both for (3, 4) by "
    "hand.",
)
def mean_of_absolute_values(
    d_model: int, eps: float, weights: Tensor, in_features: Tensor
) -> Tensor:
    return scaled(in_features, in_features.abs().mean(-1, keepdim=True).square() + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the vector is divided by its mean square, without the root",
    hint="Double the input: what should become of the output?",
)
def no_root(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, (mean_square(in_features) + eps).square(), weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the vector is multiplied by its root mean square instead of divided",
    hint="Double the input: a normalized output stays as it is. Look at which of root and "
    "reciprocal root you call.",
)
def multiplied(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features * (mean_square(in_features) + eps).sqrt() * weights


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the gain is not applied",
    hint="Where is the weight used after it was loaded? With a gain of ones this cannot be seen.",
)
def no_gain(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, mean_square(in_features) + eps, torch.ones(d_model))


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="one is added to the gain",
    hint="Some models store the gain less one; this text stores the gain itself. What must a gain "
    "of zeros give?",
)
def gain_plus_one(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, mean_square(in_features) + eps, 1 + weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the mean is taken over the whole tensor",
    hint="Each position has a root mean square of its own: change one row of the batch and see "
    "which others change.",
)
def mean_over_everything(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, in_features.float().square().mean() + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the mean is taken along the first dimension, over the batch",
    hint="The features of one position are normalized together, and no others: along which "
    "dimension do you average?",
)
def mean_over_batch(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, in_features.float().square().mean(0, keepdim=True) + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="formula",
    wrong="the mean is taken along the sequence",
    hint="The features of one position are normalized together, and no others: along which "
    "dimension do you average?",
)
def mean_over_sequence(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, in_features.float().square().mean(-2, keepdim=True) + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="numerics",
    wrong="squares are computed in the input's half precision, where they overflow",
    hint="What is the greatest number that float16 holds, and from which input on is its square "
    "greater?",
)
def squares_in_half_precision(
    d_model: int, eps: float, weights: Tensor, in_features: Tensor
) -> Tensor:
    square = in_features.square().mean(-1, keepdim=True)
    return (in_features / (square + eps).sqrt() * weights).to(in_features.dtype)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="numerics",
    wrong="the result stays in float32 although the input is in half precision",
    hint="Keep the input's dtype before you compute in float32, and look at what the last step "
    "returns.",
)
def result_in_float32(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features.float(), mean_square(in_features) + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="interface",
    wrong="the input is changed in place",
    hint="The caller needs the input again, for the residual connection: which of your operations "
    "writes into the tensor that it was given?",
)
def in_place(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    factor = (mean_square(in_features) + eps).rsqrt() * weights
    return in_features.mul_(factor.to(in_features.dtype))


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="interface",
    wrong="the root mean square is kept out of the gradient",
    hint="The root depends on every feature, so its gradient is part of the answer: what is "
    "detached or computed without gradients?",
)
def detached_root(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return scaled(in_features, mean_square(in_features).detach() + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="interface",
    wrong="exactly three dimensions are expected",
    hint="Normalize along the last dimension by its number from the end; nothing else needs to be "
    "known of the shape.",
)
def three_dimensions(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    batch, length, _ = in_features.shape
    square = mean_square(in_features).view(batch, length, 1)
    return scaled(in_features, square + eps, weights)


@mistake(
    "rmsnorm",
    "run_rmsnorm",
    kind="laziness",
    wrong="the gain of the first call is used for every later one of the same size",
    hint="A layer belongs to one call here: what does your class or function keep, and by what is "
    "it looked up?",
)
def first_gain_kept(
    parts: Parts, d_model: int, eps: float, weights: Tensor, in_features: Tensor
) -> Tensor:
    kept = parts.kept.setdefault(("rmsnorm", d_model), weights)
    return scaled(in_features, mean_square(in_features) + eps, kept)
