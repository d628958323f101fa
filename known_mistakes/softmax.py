"""Softmax."""

import torch
from torch import Tensor

from .catalogue import mistake


def normalized(exponentials: Tensor, dim: int) -> Tensor:
    """Divided by the sum along an axis."""
    return exponentials / exponentials.sum(dim, keepdim=True)


@mistake(
    "softmax",
    "run_softmax",
    kind="numerics",
    wrong="the exponential is taken without subtracting the maximum first",
    hint="What is the exponential of 500 in float32? Subtracting one number from a whole row "
    "changes no probability, so choose it well.",
)
def not_shifted(in_features: Tensor, dim: int) -> Tensor:
    return normalized(in_features.exp(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="numerics",
    wrong="large numbers are cut off instead of shifted",
    hint="Two numbers beyond the limit become equal, though their difference decides the "
    "probabilities. What can be done to all numbers of a row that keeps their differences?",
)
def clamped(in_features: Tensor, dim: int) -> Tensor:
    return normalized(in_features.clamp(-80.0, 80.0).exp(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="numerics",
    wrong="the maximum of the whole tensor is subtracted instead of each row's own",
    hint="Think of a row that lies 200 below another: what is left of it after your shift?",
)
def maximum_of_everything(in_features: Tensor, dim: int) -> Tensor:
    return normalized((in_features - in_features.max()).exp(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="numerics",
    wrong="the mean is subtracted instead of the maximum",
    hint="After the shift no number may be far above zero. Which number of a row guarantees this?",
)
def mean_subtracted(in_features: Tensor, dim: int) -> Tensor:
    return normalized((in_features - in_features.mean(dim, keepdim=True)).exp(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="numerics",
    wrong="the largest absolute value is subtracted instead of the maximum",
    hint="Try a row of numbers around -300: what is their maximum, and what becomes of them after "
    "your shift?",
)
def absolute_maximum(in_features: Tensor, dim: int) -> Tensor:
    return normalized((in_features - in_features.abs().amax(dim, keepdim=True)).exp(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="formula",
    wrong="the maximum is taken along the last dimension, and the sum along the given one",
    hint="A shift changes nothing only if it is the same for all numbers that are summed: compare "
    "the dimension of both.",
)
def maximum_of_last_dimension(in_features: Tensor, dim: int) -> Tensor:
    return normalized((in_features - in_features.amax(-1, keepdim=True)).exp(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="laziness",
    wrong="the last dimension is used, whichever is given",
    hint="Call it with dim=0 on a 2 by 3 tensor: along which dimension do the results sum to one?",
)
def always_the_last_dimension(in_features: Tensor, dim: int) -> Tensor:
    return torch.softmax(in_features, -1)


@mistake(
    "softmax",
    "run_softmax",
    kind="laziness",
    wrong="the first dimension is used, whichever is given",
    hint="Call it with the last dimension on a 2 by 3 tensor: along which dimension do the "
    "results sum to one?",
)
def always_the_first_dimension(in_features: Tensor, dim: int) -> Tensor:
    return torch.softmax(in_features, 0)


@mistake(
    "softmax",
    "run_softmax",
    kind="formula",
    wrong="the sum runs over the whole tensor",
    hint="Each row is a distribution of its own: what do the results of one row sum to?",
)
def sum_of_everything(in_features: Tensor, dim: int) -> Tensor:
    exponentials = (in_features - in_features.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum()


@mistake(
    "softmax",
    "run_softmax",
    kind="edge",
    wrong="a constant of 1e-6 is added to the sum",
    hint="The largest exponential is one after the shift, so the sum cannot vanish, and the "
    "constant only keeps probabilities from summing to one.",
)
def constant_in_the_sum(in_features: Tensor, dim: int) -> Tensor:
    exponentials = (in_features - in_features.amax(dim, keepdim=True)).exp()
    return exponentials / (exponentials.sum(dim, keepdim=True) + 1e-6)


@mistake(
    "softmax",
    "run_softmax",
    kind="formula",
    wrong="the logarithm of the probabilities is returned",
    hint="Probabilities lie between zero and one: which sign have yours?",
)
def log_softmax(in_features: Tensor, dim: int) -> Tensor:
    return torch.log_softmax(in_features, dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="formula",
    wrong="powers of 2 take the place of powers of e",
    hint="By what factor does a probability grow when its number grows by one?",
)
def base_two(in_features: Tensor, dim: int) -> Tensor:
    return normalized((in_features - in_features.amax(dim, keepdim=True)).exp2(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="formula",
    wrong="numbers are divided by their sum without an exponential",
    hint="Try a row with negative numbers: can a probability be negative?",
)
def no_exponential(in_features: Tensor, dim: int) -> Tensor:
    return normalized(in_features, dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="formula",
    wrong="each number goes through a sigmoid and does not see its row",
    hint="Raise one number of a row: do the others' probabilities fall?",
)
def sigmoid(in_features: Tensor, dim: int) -> Tensor:
    return in_features.sigmoid()


@mistake(
    "softmax",
    "run_softmax",
    kind="formula",
    wrong="the summed dimension is lost, so that sums are broadcast against other rows",
    hint="Print the shape of the sums beside the shape of the exponentials. Along which dimension "
    "will they be stretched?",
)
def dimension_lost(in_features: Tensor, dim: int) -> Tensor:
    exponentials = (in_features - in_features.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="edge",
    wrong="minus infinity is replaced by zero before the exponential",
    hint="An attention mask writes minus infinity into scores: what probability must such a "
    "number get, and what do you make of it?",
)
def minus_infinity_is_zero(in_features: Tensor, dim: int) -> Tensor:
    return torch.softmax(in_features.masked_fill(in_features.isinf(), 0.0), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="interface",
    wrong="exactly three dimensions are expected",
    hint="Use the given dimension alone: where do you unpack or name the others?",
)
def three_dimensions(in_features: Tensor, dim: int) -> Tensor:
    first, second, third = in_features.shape
    return torch.softmax(in_features.view(first, second, third), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="interface",
    wrong="the maximum is subtracted from the input in place",
    hint="The caller's tensor must stay as it was: which operation writes into it?",
)
def in_place(in_features: Tensor, dim: int) -> Tensor:
    in_features -= in_features.amax(dim, keepdim=True).detach()
    return normalized(in_features.exp(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="interface",
    wrong="the sum is kept out of the gradient",
    hint="Each probability depends on all numbers of its row through the sum: only the maximum "
    "may be detached.",
)
def detached_sum(in_features: Tensor, dim: int) -> Tensor:
    exponentials = (in_features - in_features.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim, keepdim=True).detach()


@mistake(
    "softmax",
    "run_softmax",
    kind="interface",
    wrong="the result is cut off from the input, so that no gradient flows back",
    hint="Only the maximum may be detached. Is the input itself detached, copied as data, or used "
    "in a block without gradients?",
)
def detached(in_features: Tensor, dim: int) -> Tensor:
    return torch.softmax(in_features.detach(), dim)


@mistake(
    "softmax",
    "run_softmax",
    kind="numerics",
    wrong="the exponentials are computed in float16",
    hint="Compare dtypes on the way: float16 keeps three digits, and converting the result back "
    "does not restore the others.",
)
def float16(in_features: Tensor, dim: int) -> Tensor:
    return torch.softmax(in_features.half(), dim).to(in_features.dtype)
