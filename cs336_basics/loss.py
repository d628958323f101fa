"""The training objective."""

from jaxtyping import Float, Int
from torch import Tensor


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
    # Shifting a row changes nothing in the result, so no gradient is due to the shift.
    shifted = logits - logits.amax(dim=-1, keepdim=True).detach()
    log_normalizer = shifted.exp().sum(dim=-1).log()
    target_logit = shifted.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    return (log_normalizer - target_logit).mean()
