"""The linear layer."""

import math

import torch
from torch import Tensor, nn

from .catalogue import mistake
from .parts import Parts, random


@mistake(
    "linear",
    "run_linear",
    kind="formula",
    wrong="the weight is reshaped to (d_in, d_out) instead of transposed",
    hint="Reshaping keeps the order of the numbers in memory, transposing changes it: try both on "
    "a 2 by 3 matrix and print them.",
)
def reshaped_weight(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features @ weights.reshape(d_in, d_out)


@mistake(
    "linear",
    "run_linear",
    kind="formula",
    wrong="a bias is added",
    hint="The text's linear layer is the product alone: an input of zeros must give zeros. Which "
    "term is left when the input is zero?",
)
def bias(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features @ weights.T + random(d_out)


@mistake(
    "linear",
    "run_linear",
    kind="formula",
    wrong="the product is divided by the square root of d_in",
    hint="The standard deviation of the initial weights belongs to their initialization; the "
    "product itself has no factor.",
)
def scaled_output(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features @ weights.T / math.sqrt(d_in)


@mistake(
    "linear",
    "run_linear",
    kind="laziness",
    wrong="the layer keeps the random weight it was born with, and the given one is never loaded",
    hint="Print the layer's weight just before you call it and compare it with the one your "
    "adapter was given; loading with strict=False hides a name that does not fit.",
)
def given_weight_not_loaded(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features @ random(d_out, d_in).T


class InputByOutput(nn.Module):
    """A layer that keeps its weight as (d_in, d_out)."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_in, d_out))


@mistake(
    "linear",
    "run_linear",
    kind="interface",
    wrong="the layer keeps its weight as (d_in, d_out), so that one of shape (d_out, d_in) cannot "
    "be loaded",
    hint="The text stores W with one row for each output. Write down the shape of y = Wx for a "
    "column x, then how it becomes x Wᵀ for rows.",
)
def weight_of_input_by_output(
    d_in: int, d_out: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    layer = InputByOutput(d_in, d_out)
    layer.load_state_dict({"weight": weights})
    return in_features @ layer.weight


@mistake(
    "linear",
    "run_linear",
    kind="interface",
    wrong="exactly two leading dimensions are expected",
    hint="The text allows any number of dimensions before the last: let the product act on the "
    "last one, and name no other.",
)
def two_leading_dimensions(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return torch.einsum("bti,oi->bto", in_features, weights)


@mistake(
    "linear",
    "run_linear",
    kind="interface",
    wrong="the leading dimensions are flattened into one and not restored",
    hint="Compare the shapes of input and output: all but the last dimension should be the same.",
)
def flattened(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features.reshape(-1, d_in) @ weights.T


@mistake(
    "linear",
    "run_linear",
    kind="interface",
    wrong="the input's gradient is cut off",
    hint="Look for what takes a tensor out of the graph (detaching it, its data, a block without "
    "gradients, a detour through NumPy): training needs the way back.",
)
def detached_input(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features.detach() @ weights.T


@mistake(
    "linear",
    "run_linear",
    kind="numerics",
    wrong="the product is computed in bfloat16",
    hint="Compare the dtypes of input, weight and output: bfloat16 keeps about three digits, and "
    "converting the result back does not restore the others.",
)
def bfloat16(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return (in_features.bfloat16() @ weights.bfloat16().T).to(in_features.dtype)


@mistake(
    "linear",
    "run_linear",
    kind="edge",
    wrong="dimensions of size one are squeezed out of the input first",
    hint="A batch of one, or one position, is still a dimension: which of your calls removes "
    "dimensions that it was not asked to?",
)
def squeezed(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return in_features.squeeze() @ weights.T


@mistake(
    "linear",
    "run_linear",
    kind="laziness",
    wrong="the weight of the first call is used for every later one of the same sizes",
    hint="A layer belongs to one call here: what does your class or function keep, and by what is "
    "it looked up?",
)
def first_weight_kept(
    parts: Parts, d_in: int, d_out: int, weights: Tensor, in_features: Tensor
) -> Tensor:
    kept: Tensor = parts.kept.setdefault(("linear", d_in, d_out), weights)
    return in_features @ kept.T
