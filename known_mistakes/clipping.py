"""Wrong ways to clip gradients by their norm."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .catalogue import mistake

Parameters = Iterable[nn.Parameter]


def gradients_of(parameters: Parameters) -> list[Tensor]:
    """The gradients that there are."""
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def norm_of(tensors: Iterable[Tensor]) -> float:
    """The norm of all tensors as one vector."""
    return math.sqrt(sum(float(tensor.square().sum()) for tensor in tensors))


def scale_down(gradients: list[Tensor], norm: float, max_l2_norm: float) -> None:
    """Scale gradients whose norm is said to be this one, if it is too large."""
    if norm > max_l2_norm:
        for gradient in gradients:
            gradient.mul_(max_l2_norm / (norm + 1e-6))


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="each gradient is clipped by its own norm",
    hint="The direction of the whole step must stay as it is, so one factor is for all gradients. "
    "Of what is the norm taken?",
)
def each_by_itself(parameters: Parameters, max_l2_norm: float) -> None:
    for gradient in gradients_of(parameters):
        scale_down([gradient], norm_of([gradient]), max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="each element is clamped to the maximum",
    hint="Clipping by value is another method. By norm, a small element beside a large one becomes "
    "smaller, too.",
)
def by_value(parameters: Parameters, max_l2_norm: float) -> None:
    for gradient in gradients_of(parameters):
        gradient.clamp_(-max_l2_norm, max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the norm is the sum of the elements' absolute values",
    hint="The L2 norm of 3 and 4 is 5. What is yours?",
)
def sum_of_sizes(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = sum(float(gradient.abs().sum()) for gradient in gradients)
    scale_down(gradients, norm, max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the norms of the gradients are added up",
    hint="Two parameters with gradients 3 and 4 have a norm of 5 together. What is yours?",
)
def sum_of_norms(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = sum(float(gradient.norm()) for gradient in gradients)
    scale_down(gradients, norm, max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the norm is the largest absolute value",
    hint="The L2 norm of 3 and 4 is 5. What is yours?",
)
def largest_element(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = max((float(gradient.abs().max()) for gradient in gradients), default=0.0)
    scale_down(gradients, norm, max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the sum of squares is taken for the norm, without a root",
    hint="The L2 norm of 3 and 4 is 5. What is yours?",
)
def no_root(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    scale_down(gradients, norm_of(gradients) ** 2, max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the sum of squares is compared with the maximum, and the root taken only afterwards",
    hint="Take a norm of 1.5 and a maximum of 2: nothing is to be clipped. What do you compare "
    "with the maximum?",
)
def squares_compared(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm**2 > max_l2_norm:
        for gradient in gradients:
            gradient.mul_(max_l2_norm / (norm + 1e-6))


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the mean of the squares is taken instead of their sum",
    hint="Twice as many parameters with the same gradients have a larger norm. Does yours grow?",
)
def mean_of_squares(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    count = max(1, sum(gradient.numel() for gradient in gradients))
    scale_down(gradients, norm_of(gradients) / count**0.5, max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="only the last gradient counts in the norm",
    hint="Is the norm added to in your loop, or set anew by each parameter?",
)
def last_gradient_counts(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    scale_down(gradients, norm_of(gradients[-1:]), max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="laziness",
    wrong="only the first gradient is scaled",
    hint="Give it two parameters: are both scaled? Look at how far a return or break is indented.",
)
def first_gradient_scaled(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    scale_down(gradients[:1], norm_of(gradients), max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the norm is that of the parameters, not of their gradients",
    hint="The norm to limit is that of the gradients. Which tensor of each parameter do you read?",
)
def norm_of_the_weights(parameters: Parameters, max_l2_norm: float) -> None:
    kept = [parameter for parameter in parameters if parameter.grad is not None]
    scale_down(gradients_of(kept), norm_of(kept), max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="interface",
    wrong="the parameters are scaled instead of their gradients",
    hint="Clipping happens before the step and leaves the weights alone. Which tensor do you write "
    "to?",
)
def weights_scaled(parameters: Parameters, max_l2_norm: float) -> None:
    kept = [parameter for parameter in parameters if parameter.grad is not None]
    scale_down([parameter.data for parameter in kept], norm_of(gradients_of(kept)), max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="gradients are brought to the maximum also where their norm is smaller",
    hint="Take a norm of half the maximum: the gradients must stay as they are.",
)
def always_rescaled(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    for gradient in gradients:
        gradient.mul_(max_l2_norm / (norm + 1e-6))


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="the factor is at least 1 where it should be at most 1",
    hint="Take a norm of twice the maximum: by what do you multiply? Do you need min or max?",
)
def factor_turned_round(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    factor = max(1.0, max_l2_norm / (norm_of(gradients) + 1e-6))
    for gradient in gradients:
        gradient.mul_(factor)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="formula",
    wrong="gradients that are too large are brought to a norm of 1, whatever the maximum is",
    hint="Try two different maxima: the result must differ. Where does the maximum stand in your "
    "factor?",
)
def unit_norm(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_l2_norm:
        scale_down(gradients, norm, 1.0)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="numerics",
    wrong="gradients are divided by their norm, which may be zero",
    hint="Take gradients that are all zero: what is zero divided by zero?",
)
def direction_times_length(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = torch.tensor(norm_of(gradients))
    for gradient in gradients:
        gradient.div_(norm).mul_(norm.clamp(max=max_l2_norm))


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="numerics",
    wrong="1e-3 is added to the norm where 1e-6 is meant",
    hint="Take a norm of 0.01 and a smaller maximum: what does the number that you add "
    "change? The text says how large it is.",
)
def large_epsilon(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_l2_norm:
        for gradient in gradients:
            gradient.mul_(max_l2_norm / (norm + 1e-3))


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="interface",
    wrong="the scaled gradients are assigned to a variable only, and the parameters keep "
    "the old ones",
    hint="Assigning to the loop's variable changes no parameter. What must be written to, "
    "so that the optimizer sees it?",
)
def gradients_left_alone(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = gradients_of(parameters)
    scale_down([gradient.clone() for gradient in gradients], norm_of(gradients), max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="edge",
    wrong="the parameters are read twice, although a generator can be read only once",
    hint="What does a second loop over a generator find? Keep what the first one finds.",
)
def generator_read_twice(parameters: Parameters, max_l2_norm: float) -> None:
    norm = norm_of(gradients_of(parameters))
    scale_down(gradients_of(parameters), norm, max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="edge",
    wrong="a parameter without a gradient is not skipped",
    hint="Before the first backward, and for parameters that a loss does not use, the gradient is "
    "None.",
)
def missing_gradient_unexpected(parameters: Parameters, max_l2_norm: float) -> None:
    gradients = [torch.as_tensor(parameter.grad) for parameter in parameters]
    scale_down(gradients, norm_of(gradients), max_l2_norm)


@mistake(
    "gradient_clipping",
    "run_gradient_clipping",
    kind="edge",
    wrong="parameters without a gradient are given one of zeros",
    hint="An optimizer skips a parameter without a gradient, but with a gradient of zeros "
    "it goes on moving it.",
)
def missing_gradient_filled_in(parameters: Parameters, max_l2_norm: float) -> None:
    kept = list(parameters)
    for parameter in kept:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    scale_down(gradients_of(kept), norm_of(gradients_of(kept)), max_l2_norm)
