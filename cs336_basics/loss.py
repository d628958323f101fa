"""The training objective."""

from jaxtyping import Float, Int
from torch import Tensor

from cs336_basics.gradients import CrossEntropy


def cross_entropy(
    logits: Float[Tensor, "... vocab_size"], targets: Int[Tensor, "..."]
) -> Float[Tensor, ""]:
    """-log softmax(logits)[target], averaged over all leading axes.

    exp is never taken of a positive number and log never of less than 1, so logits of any size
    are fine.

    Raises:
        ValueError: the targets' shape is not that of the logits without their last axis.
    """
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"targets of shape {tuple(targets.shape)} do not fit logits of shape "
            f"{tuple(logits.shape)}: one target for each row of logits"
        )
    return CrossEntropy.of(logits, targets.long().unsqueeze(-1))
