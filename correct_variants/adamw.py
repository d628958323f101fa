"""AdamW in the four orders that are right, and with other ways to keep its state."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from .catalogue import variant

Closure = Callable[[], Any]


class FourOrders(torch.optim.Optimizer):
    """AdamW whose subclasses say when it decays and where epsilon goes."""

    decays_first = True
    corrects_first = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def step(self, closure: Closure | None = None) -> Any:
        """Update all parameters."""
        loss = None if closure is None else closure()
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self.update(parameter, parameter.grad, group)
        return loss

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter."""
        lr, (beta1, beta2) = group["lr"], group["betas"]
        state = self.state[parameter]
        t = state["t"] = state.get("t", 0) + 1
        m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * gradient
        v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * gradient**2
        if self.decays_first:
            parameter -= lr * group["weight_decay"] * parameter
        if self.corrects_first:
            root = (v / (1 - beta2**t)).sqrt() + group["eps"]
            parameter -= lr * (m / (1 - beta1**t)) / root
        else:
            rate = lr * math.sqrt(1 - beta2**t) / (1 - beta1**t)
            parameter -= rate * m / (v.sqrt() + group["eps"])
        if not self.decays_first:
            parameter -= lr * group["weight_decay"] * parameter


@variant("adamw", "get_adamw_cls")
def decay_first_epsilon_corrected() -> type[torch.optim.Optimizer]:
    """Decays before the update and adds epsilon to the corrected root, as PyTorch does."""
    return FourOrders


@variant("adamw", "get_adamw_cls")
def decay_first_epsilon_raw() -> type[torch.optim.Optimizer]:
    """Decays before the update and adds epsilon to the root as it is."""

    class AdamW(FourOrders):
        corrects_first = False

    return AdamW


@variant("adamw", "get_adamw_cls")
def decay_last_epsilon_corrected() -> type[torch.optim.Optimizer]:
    """Decays after the update and adds epsilon to the corrected root."""

    class AdamW(FourOrders):
        decays_first = False

    return AdamW


@variant("adamw", "get_adamw_cls")
def decay_last_epsilon_raw() -> type[torch.optim.Optimizer]:
    """Decays after the update and adds epsilon to the root as it is, as the paper does."""

    class AdamW(FourOrders):
        decays_first = False
        corrects_first = False

    return AdamW


@variant("adamw", "get_adamw_cls")
def rebound_data() -> type[torch.optim.Optimizer]:
    """Begins its state with the optimizer, and gives parameters other memory by their .data."""

    class AdamW(FourOrders):
        def __init__(self, params: Iterable[Any], **settings: Any) -> None:
            super().__init__(params, **settings)
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p] = {"t": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)}

        def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
            moved = parameter.detach().clone()
            # One dictionary under both names, for as long as the update takes.
            self.state[moved] = self.state[parameter]
            super().update(moved, gradient, group)
            del self.state[moved]
            parameter.data = moved

    return AdamW


@variant("adamw", "get_adamw_cls")
def foreach() -> type[torch.optim.Optimizer]:
    """Updates all parameters of a group with PyTorch's operations on lists."""

    class AdamW(FourOrders):
        @torch.no_grad()
        def step(self, closure: Closure | None = None) -> Any:
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                self.update_group(group, [p for p in group["params"] if p.grad is not None])
            return loss

        def update_group(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
            if not parameters:
                return
            beta1, beta2 = group["betas"]
            for p in parameters:
                if not self.state[p]:
                    self.state[p] = {"t": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)}
                self.state[p]["t"] += 1
            gradients = [p.grad for p in parameters if p.grad is not None]
            m, v, t = ([self.state[p][name] for p in parameters] for name in ("m", "v", "t"))
            torch._foreach_lerp_(m, gradients, 1 - beta1)
            torch._foreach_mul_(v, beta2)
            torch._foreach_addcmul_(v, gradients, gradients, 1 - beta2)
            roots = torch._foreach_sqrt(v)
            torch._foreach_div_(roots, [math.sqrt(1 - beta2**n) for n in t])
            torch._foreach_add_(roots, group["eps"])
            torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            rates = [-group["lr"] / (1 - beta1**n) for n in t]
            torch._foreach_addcdiv_(parameters, m, roots, rates)

    return AdamW


@variant("adamw", "get_adamw_cls")
def float64_state() -> type[torch.optim.Optimizer]:
    """Keeps its state in float64 and copies the result into the parameter."""

    class AdamW(FourOrders):
        def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
            exact = parameter.double()
            # One dictionary under both names, for as long as the update takes.
            self.state[exact] = self.state[parameter]
            super().update(exact, gradient.double(), group)
            del self.state[exact]
            parameter.copy_(exact)

    return AdamW
