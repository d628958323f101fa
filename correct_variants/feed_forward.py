"""SiLU and SwiGLU."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant


@variant("positionwise_feedforward", "run_silu")
def silu_quotient(in_features: Tensor) -> Tensor:
    """Divides by 1 + exp(-x)."""
    return in_features / (1 + torch.exp(-in_features))


@variant("positionwise_feedforward", "run_silu")
def silu_tanh(in_features: Tensor) -> Tensor:
    """Writes the sigmoid with a hyperbolic tangent."""
    return in_features * (1 + torch.tanh(in_features / 2)) / 2


@variant("positionwise_feedforward", "run_silu")
def silu_float64(in_features: Tensor) -> Tensor:
    """Computes in float64."""
    x = in_features.double()
    return (x * x.sigmoid()).to(in_features.dtype)


@variant("positionwise_feedforward", "run_silu")
def silu_in_place_of_a_copy(in_features: Tensor) -> Tensor:
    """Multiplies the sigmoid in place."""
    return torch.sigmoid(in_features).mul(in_features).clone().mul_(1.0)


@variant("positionwise_feedforward", "run_swiglu")
def swiglu_fused(
    d_model: int,
    d_ff: int,
    w1_weight: Tensor,
    w2_weight: Tensor,
    w3_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Multiplies by both outer weights at once and splits the result."""
    assert w2_weight.shape == (d_model, d_ff), "The second weight is (d_model, d_ff)."
    gate, up = (in_features @ torch.cat([w1_weight, w3_weight]).T).chunk(2, dim=-1)
    return (gate * gate.sigmoid() * up) @ w2_weight.T


@variant("positionwise_feedforward", "run_swiglu")
def swiglu_einsum(
    d_model: int,
    d_ff: int,
    w1_weight: Tensor,
    w2_weight: Tensor,
    w3_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Sums with einsum and multiplies in another order."""
    up = torch.einsum("fd,...d->...f", w3_weight.view(d_ff, d_model), in_features)
    gate = torch.einsum("fd,...d->...f", w1_weight.view(d_ff, d_model), in_features)
    return torch.einsum("df,...f->...d", w2_weight, up * functional.silu(gate))


@variant("positionwise_feedforward", "run_swiglu")
def swiglu_layers(
    d_model: int,
    d_ff: int,
    w1_weight: Tensor,
    w2_weight: Tensor,
    w3_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Builds layers and loads the weights into them."""
    layers = nn.ModuleDict(
        {
            "gate": nn.Linear(d_model, d_ff, bias=False),
            "down": nn.Linear(d_ff, d_model, bias=False),
            "up": nn.Linear(d_model, d_ff, bias=False),
        }
    )
    layers.load_state_dict(
        {"gate.weight": w1_weight, "down.weight": w2_weight, "up.weight": w3_weight}
    )
    gated = functional.silu(layers["gate"](in_features)) * layers["up"](in_features)
    return torch.as_tensor(layers["down"](gated))
