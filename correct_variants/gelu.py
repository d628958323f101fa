"""GELU and the gated linear unit."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant


@variant("gelu", "run_gelu")
def torch_function(in_features: Tensor) -> Tensor:
    """Gives what PyTorch's own function gives."""
    return functional.gelu(in_features)


@variant("gelu", "run_gelu")
def normal_distribution(in_features: Tensor) -> Tensor:
    """Multiplies by the distribution function that PyTorch knows for special functions."""
    probability: Tensor = torch.special.ndtr(in_features)
    return in_features * probability


@variant("gelu", "run_gelu")
def complement(in_features: Tensor) -> Tensor:
    """Takes the distribution function from the complement of the error function."""
    probability: Tensor = torch.special.erfc(-in_features / math.sqrt(2.0)) / 2
    return in_features * probability


@variant("gelu", "run_gelu")
def float64_inside(in_features: Tensor) -> Tensor:
    """Computes in float64."""
    x = in_features.double()
    return (x / 2 * (1 + torch.erf(x * 2**-0.5))).to(in_features.dtype)


@variant("gelu", "run_gelu")
def float32_throughout(in_features: Tensor) -> Tensor:
    """Computes half of x first, in float32 whatever the input is."""
    x = in_features.float()
    return (0.5 * x + 0.5 * x * torch.erf(x * math.sqrt(0.5))).to(in_features.dtype)


@variant("glu", "run_glu")
def layers(w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    """Uses layers that are loaded with the weights; the output requires a gradient."""
    d_ff, d_model = w1_weight.shape
    gate, value = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
    gate.load_state_dict({"weight": w1_weight})
    value.load_state_dict({"weight": w2_weight})
    return torch.as_tensor(gate(in_features).sigmoid() * value(in_features))


@variant("glu", "run_glu")
def torch_function_of_fused(w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    """Uses PyTorch's own function, which takes the gate from the second half."""
    fused = torch.cat([w2_weight, w1_weight])
    return functional.glu(functional.linear(in_features, fused), dim=-1)


@variant("glu", "run_glu")
def summed(w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    """Writes the sums with einsum and the sigmoid with a tanh."""
    gate = torch.einsum("...d,fd->...f", in_features, w1_weight)
    return (1 + torch.tanh(gate / 2)) / 2 * torch.einsum("...d,fd->...f", in_features, w2_weight)
