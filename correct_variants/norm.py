"""RMSNorm."""

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import variant


@variant("rmsnorm", "run_rmsnorm")
def reciprocal_root(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    """Multiplies by rsqrt, and by the gain after rounding to the input's type."""
    assert in_features.shape[-1] == d_model, "The last axis is normalised."
    x = in_features.float()
    normalised = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return normalised.to(in_features.dtype) * weights.to(in_features.dtype)


@variant("rmsnorm", "run_rmsnorm")
def division(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    """Divides by the root, and rounds after multiplying by the gain."""
    x = in_features.to(torch.float32)
    root = torch.sqrt(torch.einsum("...d,...d->...", x, x) / d_model + eps)
    return (x / root[..., None] * weights).to(in_features.dtype)


@variant("rmsnorm", "run_rmsnorm")
def vector_norm(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    """Takes the mean square from the vector's length."""
    x = in_features.float()
    length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return (weights * x / (length.square() / d_model + eps).sqrt()).to(in_features.dtype)


@variant("rmsnorm", "run_rmsnorm")
def float64_inside(
    d_model: int,  # noqa: ARG001 - published parameters
    eps: float,
    weights: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Computes in float64."""
    x = in_features.double()
    return (x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weights).to(in_features.dtype)


@variant("rmsnorm", "run_rmsnorm")
def gain_first(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    """Multiplies by the gain before dividing by the root."""
    x = in_features.float()
    scaled = x * weights.view(d_model)
    return (scaled * (x.pow(2).mean(-1, keepdim=True) + eps) ** -0.5).type_as(in_features)


@variant("rmsnorm", "run_rmsnorm")
def torch_function(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    """Gives what PyTorch's own function gives in float32."""
    y = functional.rms_norm(in_features.float(), (d_model,), weights.float(), eps)
    return y.to(in_features.dtype)
