"""Gradient clipping."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .catalogue import variant


def gradients_of(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    """The gradients that there are."""
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


@variant("gradient_clipping", "run_gradient_clipping")
def no_epsilon(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Divides by the norm alone."""
    gradients = gradients_of(parameters)
    total = sum((gradient.square().sum() for gradient in gradients), torch.tensor(0.0)).sqrt()
    if total > max_l2_norm:
        for gradient in gradients:
            gradient.mul_(max_l2_norm / total)


@variant("gradient_clipping", "run_gradient_clipping")
def always_multiplied(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Multiplies by a factor of at most 1 without asking whether it must."""
    gradients = gradients_of(parameters)
    if gradients:
        norms = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients])
        factor = (max_l2_norm / (norms.norm() + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)


@variant("gradient_clipping", "run_gradient_clipping")
def rebound(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Binds .grad to new tensors."""
    kept = [parameter for parameter in parameters if parameter.grad is not None]
    total = torch.cat([torch.zeros(1), *(g.flatten() for g in gradients_of(kept))]).norm()
    if total >= max_l2_norm:
        for parameter, gradient in zip(kept, gradients_of(kept), strict=True):
            parameter.grad = gradient * (max_l2_norm / (total + 1e-6))


@variant("gradient_clipping", "run_gradient_clipping")
def python_number(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Adds up in Python's float64."""
    gradients = gradients_of(parameters)
    total = sum(gradient.double().pow(2).sum().item() for gradient in gradients) ** 0.5
    if total > max_l2_norm:
        for gradient in gradients:
            gradient.data.mul_(max_l2_norm / (total + 1e-6))


@variant("gradient_clipping", "run_gradient_clipping")
def foreach(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> float:
    """Uses PyTorch's operations on lists, and returns the norm."""
    gradients = gradients_of(parameters)
    if not gradients:
        return 0.0
    total = float(torch.stack(torch._foreach_norm(gradients)).norm())
    if total > max_l2_norm:
        torch._foreach_mul_(gradients, max_l2_norm / (total + 1e-6))
    return total


@variant("gradient_clipping", "run_gradient_clipping")
def torch_function(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Does what PyTorch's own function does."""
    nn.utils.clip_grad_norm_(parameters, max_l2_norm)
