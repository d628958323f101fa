"""AdamW, its learning rate over time, and gradient clipping.

Sources:
    Decoupled Weight Decay Regularization (Loshchilov & Hutter, arXiv:1711.05101): AdamW.
    SGDR (Loshchilov & Hutter, arXiv:1608.03983): cosine annealing.
    MiniCPM (Hu et al., arXiv:2404.06395): warm up, stay, decay.
    On the difficulty of training recurrent neural networks (Pascanu et al., arXiv:1211.5063):
    clipping by norm.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT


class AdamW(torch.optim.Optimizer):
    """Adam with weight decay that bypasses the moments (arXiv:1711.05101, algorithm 2).

    Raises:
        ValueError: a hyperparameter lies outside its range.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        for name, value in (("lr", lr), ("eps", eps), ("weight_decay", weight_decay)):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} = {value} must be at least 0 and finite")
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas = {betas} must each be at least 0 and less than 1")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss and its gradients again, and returns the loss.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.update(parameter, parameter.grad, group)
        return loss

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        """Decay one parameter, then move it along its first moment."""
        lr, (beta1, beta2) = group["lr"], group["betas"]
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        m, v, t = state["exp_avg"], state["exp_avg_sq"], state["step"]
        m.lerp_(gradient, 1 - beta1)
        v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        # Both start at zero, which biases them towards it; the divisions take that out.
        correction1, correction2 = 1 - beta1**t, math.sqrt(1 - beta2**t)
        # sqrt takes ten times as long of 0, which is v where a token never came.
        denominator = (v + 1e-36).sqrt_().add_(group["eps"] * correction2)
        parameter.mul_(1 - lr * group["weight_decay"])
        parameter.addcdiv_(m, denominator, value=-lr * correction2 / correction1)


def get_lr_cosine_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Return the rate of iteration it: linear warm-up, half a cosine down, then the minimum."""
    if it < warmup_iters:
        return max_learning_rate * it / warmup_iters
    # At its end the cosine has the same value, but an empty cycle would divide by zero.
    if it >= cosine_cycle_iters:
        return min_learning_rate
    progress = (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    share = (1 + math.cos(math.pi * progress)) / 2
    return min_learning_rate + share * (max_learning_rate - min_learning_rate)


def get_lr_wsd_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    *,
    decay_start: int,
    decay_end: int,
) -> float:
    """Return the learning rate of iteration it: warm-up, the maximum, linear decay, the minimum.

    Until the decay starts, a run does not depend on how long it will be.
    """
    if it < warmup_iters:
        return max_learning_rate * it / warmup_iters
    if it <= decay_start:
        return max_learning_rate
    if it >= decay_end:
        return min_learning_rate
    left = (decay_end - it) / (decay_end - decay_start)
    return min_learning_rate + left * (max_learning_rate - min_learning_rate)


@torch.no_grad()
def clip_gradients(parameters: Iterable[Tensor], max_l2_norm: float) -> float:
    """Scale all gradients in place by max_l2_norm / (norm + 1e-6) where their norm is larger.

    The norm is that of all gradients as one vector; a smaller one is left as it is, and so are
    parameters without a gradient.

    Returns:
        The norm before.

    Raises:
        ValueError: max_l2_norm is negative or NaN.
    """
    if not max_l2_norm >= 0:
        raise ValueError(f"max_l2_norm = {max_l2_norm} must be at least 0")
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return 0.0
    # In float32 at least, because squares overflow float16 from 256 on.
    norms = [
        torch.linalg.vector_norm(gradient, dtype=torch.promote_types(gradient.dtype, torch.float32))
        for gradient in gradients
    ]
    norm = torch.linalg.vector_norm(torch.stack([n.to(norms[0]) for n in norms]))
    if norm > max_l2_norm:
        for gradient in gradients:
            gradient.mul_((max_l2_norm / (norm + 1e-6)).to(gradient.device))
    return float(norm)
