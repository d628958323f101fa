"""Functions whose gradient is written out by hand, because autograd's takes much longer.

Autograd keeps what each step of a formula makes, and on its way back makes as much again. Below, a
formula runs in place where it can and keeps only what its derivative is made of. What is called dy
is the gradient of the loss with respect to the result y, and dx that with respect to x.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class NoWayBack:
    """A ctx that keeps nothing."""

    def save_for_backward(self, *_: Tensor) -> None:
        """Let go what only a gradient would need."""


class WithGradient(torch.autograd.Function):
    """A function with its gradient: forward keeps in ctx what backward needs."""

    @classmethod
    def of(cls, *inputs: Any) -> Tensor:
        """Give the result, and a way back if somebody may ask for a gradient."""
        if torch.is_grad_enabled():
            # Some releases of torch give it a type, others none.
            apply: Any = cls.apply
            result: Tensor = apply(*inputs)
        else:
            # For a single token, as in generation, apply takes as long as the arithmetic.
            result = cls.forward(NoWayBack(), *inputs)
        return result


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Let a backward refuse to be differentiated.

    torch's decorator of this name leaves that to a node of the graph, which torch.autograd.grad
    goes round on its way to the inputs: what it gives is wrong, and nobody is told.

    Raises:
        RuntimeError: somebody asks for a gradient that has a gradient.
    """

    def backward_once(ctx: Any, dy: Tensor) -> Any:
        if torch.is_grad_enabled():  # on the way back, that is what create_graph asks for
            raise RuntimeError("this gradient has no gradient: do without create_graph=True")
        return backward(ctx, dy)

    return backward_once


def float32_at_least(x: Tensor) -> Tensor:
    """Half precision is too narrow for sums and squares, and has no complex numbers.

    Raises:
        TypeError: x is of integers, to which a result would be cut off.
    """
    if not x.is_floating_point():
        raise TypeError(f"numbers of {x.dtype} are given where floating-point numbers are needed")
    return x.to(torch.promote_types(x.dtype, torch.float32))


class Softmax(WithGradient):
    """y = exp(x) / Σ exp(x) along one axis, and zeros where all of x is -inf."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        """Shift each row, which changes nothing but keeps exp from overflowing."""
        a = float32_at_least(x)
        largest = a.amax(dim=dim, keepdim=True).clamp_(min=torch.finfo(a.dtype).min)
        # e^a = 2^(a log₂ e): on a CPU, exp takes up to a hundred times as long where it underflows.
        y = (a - largest).mul_(1 / math.log(2)).exp2_()
        # The largest alone makes 1, so that less is only the sum of a row of -inf.
        y = y.div_(y.sum(dim=dim, keepdim=True).clamp_(min=1)).to(x.dtype)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None]:
        """Give dx = y ⊙ dy - y Σ y ⊙ dy."""
        (y,) = ctx.saved_tensors
        product = y * dy
        return product.addcmul_(y, product.sum(dim=ctx.dim, keepdim=True), value=-1), None


class CrossEntropy(WithGradient):
    """The mean of log Σ exp(logits) - logits[target]."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        """Shift each row, which changes nothing but keeps exp from overflowing.

        Targets have an axis of 1 where the logits have the vocabulary.
        """
        shifted = logits - logits.amax(dim=-1, keepdim=True)
        target_logits = shifted.gather(-1, targets)
        exponentials = shifted.exp_()
        total = exponentials.sum(dim=-1, keepdim=True)
        ctx.save_for_backward(exponentials, total, targets)
        return (total.log() - target_logits).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dloss: Tensor) -> tuple[Tensor, None]:
        """Give dlogits = (softmax(logits) - one-hot target) dloss / number of targets."""
        exponentials, total, targets = ctx.saved_tensors
        share = dloss / targets.numel()
        dlogits = exponentials * (share / total)
        return dlogits.scatter_add_(-1, targets, -share.expand(targets.shape)), None


class UnitRMS(WithGradient):
    """y = x / r over the last axis, r = sqrt(mean(x²) + ε)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        """Multiply by 1/r."""
        scale = x.square().mean(dim=-1, keepdim=True).add_(eps).rsqrt_()
        y = x * scale
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None]:
        """Give dx = (dy - y mean(y ⊙ dy)) / r."""
        y, scale = ctx.saved_tensors
        mean = (y * dy).mean(dim=-1, keepdim=True)
        return dy.addcmul(y, mean, value=-1).mul_(scale), None


class SiLU(WithGradient):
    """y = x s, s = sigmoid(x)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Keep s and y."""
        s = torch.sigmoid(x)
        y = x * s
        ctx.save_for_backward(s, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        """Give dx = dy ⊙ (s + y (1 - s)), which goes y of the way from s to 1."""
        s, y = ctx.saved_tensors
        dx: Tensor = s.lerp(s.new_ones(()), y).mul_(dy)
        return dx


class GELU(WithGradient):
    """y = x Φ(x), Φ(x) = (1 + erf(x/√2)) / 2, the normal distribution function."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Keep x and Φ(x)."""
        phi = (x / math.sqrt(2)).erf_().add_(1).mul_(0.5)
        ctx.save_for_backward(x, phi)
        return x * phi

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        """Give dx = dy ⊙ (Φ(x) + x exp(-x²/2) / √(2π))."""
        x, phi = ctx.saved_tensors
        density = x.square().mul_(-0.5).exp_().mul_(1 / math.sqrt(2 * math.pi))
        dx: Tensor = density.mul_(x).add_(phi).mul_(dy)
        return dx
