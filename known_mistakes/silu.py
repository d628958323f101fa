"""SiLU, the feed-forward network's activation."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import mistake


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="GELU takes the place of SiLU",
    hint="Both are smooth and nearly zero far to the left. Read which function of x the text "
    "multiplies x by.",
)
def gelu(in_features: Tensor) -> Tensor:
    return functional.gelu(in_features)


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="x is multiplied by the sigmoid of 1.702 x",
    hint="That factor belongs to an approximation of GELU: SiLU has no factor inside its sigmoid.",
)
def quick_gelu(in_features: Tensor) -> Tensor:
    return in_features * torch.sigmoid(1.702 * in_features)


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="negative numbers become zero",
    hint="SiLU dips below zero before it vanishes. Plot your function from -5 to 5.",
)
def negative_half_zero(in_features: Tensor) -> Tensor:
    return functional.silu(in_features).clamp(min=0.0)


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="ReLU takes the place of SiLU",
    hint="ReLU has a corner at zero, SiLU is smooth: read the definition with the sigmoid.",
)
def relu(in_features: Tensor) -> Tensor:
    return in_features.relu()


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="x is multiplied by tanh x instead of its sigmoid",
    hint="What should the output be near to for a large negative number, and what does tanh give "
    "there?",
)
def tanh_for_sigmoid(in_features: Tensor) -> Tensor:
    return in_features * in_features.tanh()


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="the sigmoid is returned and not multiplied by x",
    hint="What must a large number become: one, or itself?",
)
def sigmoid_alone(in_features: Tensor) -> Tensor:
    return in_features.sigmoid()


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="the sigmoid's exponent has the wrong sign, so that large numbers vanish and small ones "
    "stay",
    hint="Put a large positive number into your sigmoid: it should give nearly one.",
)
def wrong_sign(in_features: Tensor) -> Tensor:
    return in_features * torch.sigmoid(-in_features)


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="Mish takes the place of SiLU",
    hint="Mish has a tanh of a softplus where SiLU has a sigmoid: compare the definitions.",
)
def mish(in_features: Tensor) -> Tensor:
    return functional.mish(in_features)


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="the sigmoid is replaced by straight lines",
    hint="Straight lines equal the sigmoid only at zero and far from it. How does the text "
    "define the sigmoid?",
)
def hard_swish(in_features: Tensor) -> Tensor:
    return functional.hardswish(in_features)


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="formula",
    wrong="the sigmoid is made of powers of 2 instead of e",
    hint="Compare the sigmoid of one with a table: which base has the exponential of the text?",
)
def base_two(in_features: Tensor) -> Tensor:
    return in_features * torch.sigmoid(in_features * math.log(2.0))


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="numerics",
    wrong="the sigmoid is computed as a quotient of exponentials that overflow for large numbers",
    hint="Infinity divided by infinity is NaN. Which form of the sigmoid has only "
    "exponentials that stay small?",
)
def overflowing_quotient(in_features: Tensor) -> Tensor:
    return in_features * in_features.exp() / (1 + in_features.exp())


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="numerics",
    wrong="the activation is computed in float16",
    hint="Compare dtypes on the way: float16 keeps three digits, and converting the result back "
    "does not restore the others.",
)
def float16(in_features: Tensor) -> Tensor:
    return functional.silu(in_features.half()).to(in_features.dtype)


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="interface",
    wrong="the input is changed in place",
    hint="The caller may need the input again. Which of your operations writes into it?",
)
def in_place(in_features: Tensor) -> Tensor:
    return in_features.mul_(in_features.sigmoid())


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="interface",
    wrong="the sigmoid is kept out of the gradient",
    hint="The derivative of a product has two terms: the sigmoid depends on x too, so nothing of "
    "it may be detached.",
)
def detached_sigmoid(in_features: Tensor) -> Tensor:
    return in_features * in_features.sigmoid().detach()


@mistake(
    "positionwise_feedforward",
    "run_silu",
    kind="interface",
    wrong="the result is cut off from the input, so that no gradient flows back",
    hint="Look for a detour through NumPy or Python numbers, for detached data, or for a block "
    "without gradients.",
)
def detached(in_features: Tensor) -> Tensor:
    return functional.silu(in_features.detach())
