"""GELU, the classic feed-forward network's activation."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import mistake


def distribution(x: Tensor) -> Tensor:
    """The distribution function of the normal distribution."""
    return (1 + torch.erf(x / math.sqrt(2))) / 2


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="GELU is approximated with a tanh",
    hint="The text asks for the exact function, with the distribution function of the normal "
    "distribution. The approximation is near to it, but not equal.",
)
def tanh_approximation(in_features: Tensor) -> Tensor:
    return functional.gelu(in_features, approximate="tanh")


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="GELU is approximated by x times the sigmoid of 1.702 x",
    hint="The text asks for the exact function, with the distribution function of the normal "
    "distribution and not a sigmoid.",
)
def sigmoid_approximation(in_features: Tensor) -> Tensor:
    return in_features * torch.sigmoid(1.702 * in_features)


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="the cubic term is left out of the approximation with a tanh",
    hint="The text asks for the exact function, which has the error function and no tanh.",
)
def tanh_without_cube(in_features: Tensor) -> Tensor:
    return in_features * (1 + torch.tanh(math.sqrt(2 / math.pi) * in_features)) / 2


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="the approximation with a tanh has the square of x where its cube belongs",
    hint="Negative numbers show it. The text asks for the exact function, without a tanh.",
)
def tanh_of_a_square(in_features: Tensor) -> Tensor:
    inner = math.sqrt(2 / math.pi) * (in_features + 0.044715 * in_features.square())
    return in_features * (1 + torch.tanh(inner)) / 2


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="ReLU takes the place of GELU",
    hint="ReLU has a corner at zero, GELU is smooth: what does yours give for a small negative "
    "number?",
)
def relu(in_features: Tensor) -> Tensor:
    return in_features.relu()


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="SiLU takes the place of GELU: x is multiplied by its sigmoid",
    hint="The two look alike. GELU has the distribution function of the normal distribution where "
    "SiLU has the logistic one.",
)
def silu(in_features: Tensor) -> Tensor:
    return functional.silu(in_features)


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="x is not divided by the square root of 2 inside the error function",
    hint="The error function belongs to a normal distribution of variance one half: what must be "
    "done to x first? Compare Φ(1) with a table.",
)
def root_of_two_missing(in_features: Tensor) -> Tensor:
    return in_features * (1 + torch.erf(in_features)) / 2


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="the factor one half is missing",
    hint="What must GELU of a large number be: the number, or twice the number?",
)
def half_missing(in_features: Tensor) -> Tensor:
    return 2 * in_features * distribution(in_features)


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="x is multiplied by the error function itself, which is negative to the left of zero",
    hint="A distribution function lies between zero and one: what has to be done to the error "
    "function?",
)
def error_function_alone(in_features: Tensor) -> Tensor:
    return in_features * torch.erf(in_features / math.sqrt(2))


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="the distribution function is returned and not multiplied by x",
    hint="What must a large number become: one, or itself?",
)
def distribution_alone(in_features: Tensor) -> Tensor:
    return distribution(in_features)


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="x is multiplied by the density of the normal distribution instead of its distribution "
    "function",
    hint="What must GELU of a large number be: zero, or the number? Capital Φ is the "
    "integral of small φ.",
)
def density(in_features: Tensor) -> Tensor:
    return in_features * torch.exp(-in_features.square() / 2) / math.sqrt(2 * math.pi)


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="the sign of x is wrong inside the error function, so that large numbers vanish and "
    "small ones stay",
    hint="Put a large positive number into your Φ: it should give nearly one.",
)
def wrong_sign(in_features: Tensor) -> Tensor:
    return in_features * distribution(-in_features)


@mistake(
    "gelu",
    "run_gelu",
    kind="formula",
    wrong="negative numbers become zero",
    hint="GELU dips below zero before it vanishes. Plot your function from -5 to 5.",
)
def negative_half_zero(in_features: Tensor) -> Tensor:
    return functional.gelu(in_features).clamp(min=0.0)


@mistake(
    "gelu",
    "run_gelu",
    kind="numerics",
    wrong="the activation is computed in bfloat16",
    hint="Compare dtypes on the way: bfloat16 keeps two digits, and converting the result back "
    "does not restore the others.",
)
def bfloat16(in_features: Tensor) -> Tensor:
    return functional.gelu(in_features.bfloat16()).to(in_features.dtype)


@mistake(
    "gelu",
    "run_gelu",
    kind="interface",
    wrong="the input is changed in place",
    hint="The caller may need the input again. Which of your operations writes into it?",
)
def in_place(in_features: Tensor) -> Tensor:
    return in_features.mul_(distribution(in_features))


@mistake(
    "gelu",
    "run_gelu",
    kind="interface",
    wrong="the distribution function is kept out of the gradient",
    hint="The derivative of a product has two terms: Φ depends on x too, so nothing of it may be "
    "detached.",
)
def detached_distribution(in_features: Tensor) -> Tensor:
    return in_features * distribution(in_features).detach()


@mistake(
    "gelu",
    "run_gelu",
    kind="interface",
    wrong="the result is cut off from the input, so that no gradient flows back",
    hint="Look for a detour through math.erf, NumPy or Python numbers, or for a block without "
    "gradients.",
)
def detached(in_features: Tensor) -> Tensor:
    return functional.gelu(in_features.detach())
