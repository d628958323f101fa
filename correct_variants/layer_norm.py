"""LayerNorm."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant

Weights = Mapping[str, Tensor]


@variant("layer_norm", "run_layer_norm")
def var_and_mean(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    """Takes the biased variance from PyTorch, and multiplies by rsqrt."""
    assert in_features.shape[-1] == d_model, "The last axis is normalised."
    x = in_features.float()
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    y = (x - mean) * torch.rsqrt(variance + eps) * weights["weight"] + weights["bias"]
    return y.to(in_features.dtype)


@variant("layer_norm", "run_layer_norm")
def torch_function(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    """Gives what PyTorch's own function gives in float32."""
    gain, bias = weights["weight"].float(), weights["bias"].float()
    y = functional.layer_norm(in_features.float(), (d_model,), gain, bias, eps)
    return y.to(in_features.dtype)


@variant("layer_norm", "run_layer_norm")
def module(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    """Is a module of PyTorch in the input's own precision; the output requires a gradient."""
    norm = nn.LayerNorm(d_model, eps=eps)
    norm.load_state_dict(dict(weights))
    return torch.as_tensor(norm.to(in_features.dtype)(in_features))


@variant("layer_norm", "run_layer_norm")
def rounded_before_gain(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    """Rounds to the input's type before gain and bias are applied."""
    dtype, x = in_features.dtype, in_features.to(torch.float32)
    x = x - x.sum(-1, keepdim=True) / d_model
    normalised = x / torch.sqrt(torch.einsum("...d,...d->...", x, x)[..., None] / d_model + eps)
    return normalised.to(dtype) * weights["weight"].to(dtype) + weights["bias"].to(dtype)


@variant("layer_norm", "run_layer_norm")
def float64_inside(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    """Computes in float64, the variance as a difference of two means."""
    x = in_features.double().view(-1, d_model)
    mean = x.mean(1, keepdim=True)
    scale = (x.square().mean(1, keepdim=True) - mean.square() + eps) ** -0.5
    y = torch.addcmul(weights["bias"].double(), (x - mean) * scale, weights["weight"].double())
    return y.view(in_features.shape).to(in_features.dtype)


@variant("layer_norm", "run_layer_norm")
def centring_matrix(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    """Takes the mean away by one matrix, whose product rounds."""
    centred = in_features.float() @ (torch.eye(d_model) - 1.0 / d_model)
    y = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
    return (y * weights["weight"] + weights["bias"]).to(in_features.dtype)
