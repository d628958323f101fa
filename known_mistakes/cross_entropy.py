"""Wrong ways to compute the cross-entropy."""

import math

import torch
from torch import Tensor

from .catalogue import mistake


def log_probabilities(inputs: Tensor) -> Tensor:
    """The logarithm of each row's softmax."""
    shifted = inputs - inputs.amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def losses(inputs: Tensor, targets: Tensor) -> Tensor:
    """The loss of each row, with the targets' shape."""
    return -log_probabilities(inputs).gather(-1, targets.unsqueeze(-1)).squeeze(-1)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="numerics",
    wrong="the logarithm is taken of probabilities that have become 0",
    hint="Put the softmax into the formula of the loss: where a logarithm is taken of an "
    "exponential, both cancel. Compute what is left.",
)
def log_of_softmax(inputs: Tensor, targets: Tensor) -> Tensor:
    return -torch.softmax(inputs, -1).log().gather(-1, targets.unsqueeze(-1)).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="numerics",
    wrong="a small number is added to the probability before its logarithm is taken",
    hint="With the small number, no loss can be larger than minus its logarithm. Rewrite "
    "the formula so that it takes no logarithm of a probability.",
)
def epsilon_in_logarithm(inputs: Tensor, targets: Tensor) -> Tensor:
    right = torch.softmax(inputs, -1).gather(-1, targets.unsqueeze(-1))
    return -torch.log(right + 1e-12).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="numerics",
    wrong="the exponentials are taken of the logits as they are, without the maximum subtracted",
    hint="Try one logit of 100: its exponential is more than float32 can hold. Which number can be "
    "taken from all logits of a row without changing the loss?",
)
def without_maximum(inputs: Tensor, targets: Tensor) -> Tensor:
    right = inputs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (inputs.exp().sum(-1).log() - right).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="numerics",
    wrong="the maximum of all logits, not each row's own, is subtracted",
    hint="In a row that lies far below the others every exponential becomes 0. Each row needs a "
    "maximum of its own.",
)
def global_maximum(inputs: Tensor, targets: Tensor) -> Tensor:
    return without_maximum(inputs - inputs.max(), targets)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="each class's maximum over the rows, not each row's over the classes, is subtracted",
    hint="The loss stays the same only if all logits of a row are shifted by the same number. "
    "Along which dimension does your maximum go?",
)
def maximum_of_each_class(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs - inputs.amax(0, keepdim=True), targets).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="the maximum is subtracted in the sum of exponentials but not from the target's logit",
    hint="Add 10 to all logits: the loss must stay the same. Where do you use the logits before "
    "they are shifted, and where after?",
)
def target_not_shifted(inputs: Tensor, targets: Tensor) -> Tensor:
    shifted = inputs - inputs.amax(-1, keepdim=True)
    right = inputs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (shifted.exp().sum(-1).log() - right).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="numerics",
    wrong="the logits are cut off at a bound on both sides so that no exponential overflows",
    hint="Two logits beyond the bound become equal and get no gradient. What can be "
    "subtracted from a whole row that keeps its differences?",
)
def clamped_logits(inputs: Tensor, targets: Tensor) -> Tensor:
    return without_maximum(inputs.clamp(-50.0, 50.0), targets)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="numerics",
    wrong="the loss is computed in half precision",
    hint="Half precision keeps three decimal digits. Which conversion in your code makes the "
    "numbers coarser than those you were given?",
)
def half_precision(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs.bfloat16(), targets).mean().to(inputs.dtype)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="the losses of all rows are added up, not averaged",
    hint="Give the same row twice: should the loss double?",
)
def sum_of_losses(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets).sum()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="interface",
    wrong="a loss for each row is returned, not their mean",
    hint="Training needs one number to differentiate. What is still to be done with the losses of "
    "the rows?",
)
def one_loss_a_row(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="the loss is also divided by the number of classes",
    hint="There is one loss for each row, not one for each class. Of how many numbers do "
    "you take the mean?",
)
def mean_over_classes(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets).mean() / inputs.shape[-1]


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="the logarithm is to base 2",
    hint="For equal logits of two classes the loss is the natural logarithm of 2. What is yours?",
)
def base_two(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets).mean() / math.log(2)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="the log-probability keeps its sign",
    hint="A loss is never negative and becomes smaller as the target becomes more likely. Which "
    "sign has the logarithm of a probability?",
)
def sign_missing(inputs: Tensor, targets: Tensor) -> Tensor:
    return -losses(inputs, targets).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="the exponential of the loss, the perplexity, is returned",
    hint="A target that is certain costs nothing. What do you return when all targets are certain?",
)
def perplexity(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets).mean().exp()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="softmax is applied twice",
    hint="The inputs are logits, and the loss contains a softmax. Does something before it turn "
    "them into probabilities already?",
)
def softmax_twice(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(torch.softmax(inputs, -1), targets).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="the loss of each row contains the targets of all rows",
    hint="Indexing a matrix with a slice and a vector picks those columns from every row. Compare "
    "the shape of what you pick with the shape of the targets.",
)
def every_target_for_every_row(inputs: Tensor, targets: Tensor) -> Tensor:
    return -log_probabilities(inputs)[..., targets.flatten()].mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="only the last row counts",
    hint="Change the logits of the first row: does the loss change?",
)
def last_row_only(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets).flatten()[-1]


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="formula",
    wrong="rows whose target is 0 are left out, as if 0 stood for padding",
    hint="Token 0 is a token like any other. Is a target compared with 0 anywhere?",
)
def zero_is_padding(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets)[targets != 0].mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="edge",
    wrong="the sum of all losses is divided by the first dimension alone",
    hint="With logits of three dimensions there are more rows than the first dimension says. By "
    "what is a mean over all of them divided?",
)
def mean_over_batch(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets).sum() / len(inputs)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="edge",
    wrong="dimension 1 is taken for the classes, however many dimensions there are",
    hint="The classes are the last dimension of the logits. Count dimensions from the end, not "
    "from the front.",
)
def classes_in_dimension_one(inputs: Tensor, targets: Tensor) -> Tensor:
    normalizer = torch.logsumexp(inputs, 1, keepdim=True)
    return (normalizer - inputs).gather(-1, targets.unsqueeze(-1)).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="edge",
    wrong="the mean goes over the last dimension of the losses alone",
    hint="Losses of three-dimensional logits have two dimensions. The mean is one number, "
    "however many dimensions there are.",
)
def mean_over_last_dimension(inputs: Tensor, targets: Tensor) -> Tensor:
    return losses(inputs, targets).mean(-1)


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="interface",
    wrong="a Python number, which has no gradient, is returned",
    hint="A number taken out of a tensor no longer knows how it was computed. What does training "
    "call backward on?",
)
def python_number(inputs: Tensor, targets: Tensor) -> float:
    return losses(inputs, targets).mean().item()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="interface",
    wrong="the gradient flows through the sum of exponentials but not through the target's logit",
    hint="At the target the gradient is its probability minus 1. Does the target's logit go "
    "through detach, data, a list or NumPy?",
)
def target_without_gradient(inputs: Tensor, targets: Tensor) -> Tensor:
    right = inputs.detach().gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (torch.logsumexp(inputs, -1) - right).mean()


@mistake(
    "cross_entropy",
    "run_cross_entropy",
    kind="interface",
    wrong="the caller's logits are changed in place",
    hint="Compare the logits before and after the call. Which of your operations writes into the "
    "tensor that it was given?",
)
def logits_shifted_in_place(inputs: Tensor, targets: Tensor) -> Tensor:
    inputs -= inputs.detach().amax(-1, keepdim=True)
    return without_maximum(inputs, targets)
