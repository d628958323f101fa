"""Checks of gradient clipping."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

SHAPES = ((7, 4), (5,), (2, 3, 4))


def parameters_with(draw: Draws, gradients: Sequence[Tensor | None]) -> list[nn.Parameter]:
    """Parameters that have these gradients, of the same shapes; (3,) where there is none."""
    parameters = []
    for gradient in gradients:
        shape = (3,) if gradient is None else tuple(gradient.shape)
        parameter = nn.Parameter(draw.normal(*shape))
        parameter.grad = None if gradient is None else gradient.clone()
        parameters.append(parameter)
    return parameters


def gradients_of_norm(draw: Draws, norm: float) -> list[Tensor]:
    """Gradients of several shapes and sizes that as one vector have this norm."""
    sizes = (1.0, 5.0, 0.2)
    gradients = [draw.normal(*shape) * size for shape, size in zip(SHAPES, sizes, strict=True)]
    whole = torch.cat([gradient.flatten() for gradient in gradients])
    return [gradient * (norm / whole.norm()) for gradient in gradients]


def flat(gradients: Sequence[Tensor | None]) -> Tensor:
    """All gradients as one vector."""
    assert all(gradient is not None for gradient in gradients), "A parameter has lost its gradient."
    return torch.cat([gradient.flatten() for gradient in gradients if gradient is not None])


def torch_clipped(gradients: Sequence[Tensor], max_l2_norm: float) -> Tensor:
    """All gradients after PyTorch's clip_grad_norm_, as one vector."""
    parameters = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    nn.utils.clip_grad_norm_(parameters, max_l2_norm)
    return flat([parameter.grad for parameter in parameters])


def test_gradient_clipping(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Scales all gradients by one factor that brings their norm, taken together, to the maximum."""
    gradients = [draw.normal(*shape, scale=3.0) for shape in SHAPES]
    parameters = parameters_with(draw, gradients)
    adapters.run_gradient_clipping(parameters, 1.5)
    snapshot.assert_match(flat([parameter.grad for parameter in parameters]), atol=1e-5)


# In the first the 1e-6 beside the norm is too little to see, while 1e-3 would not be.
@pytest.mark.parametrize(("norm", "max_l2_norm"), [(0.1, 0.01), (40.0, 30.0), (2000.0, 1.0)])
def test_gradient_clipping_as_torch_does(
    adapters: Any, snapshot: Snapshot, draw: Draws, norm: float, max_l2_norm: float
) -> None:
    """Gives the gradients that PyTorch's clip_grad_norm_ gives, however large they are."""
    gradients = gradients_of_norm(draw, norm)
    parameters = parameters_with(draw, gradients)
    adapters.run_gradient_clipping(parameters, max_l2_norm)
    actual = flat([parameter.grad for parameter in parameters])
    expected = torch_clipped(gradients, max_l2_norm)
    snapshot.assert_close(actual, expected, "gradients", atol=1e-5 * max_l2_norm)


@pytest.mark.parametrize("share", [0.001, 0.9])
def test_gradient_clipping_below_the_maximum(
    adapters: Any, snapshot: Snapshot, draw: Draws, share: float
) -> None:
    """Leaves gradients exactly as they are where their norm is below the maximum."""
    gradients = gradients_of_norm(draw, 2.0 * share)
    parameters = parameters_with(draw, gradients)
    adapters.run_gradient_clipping(parameters, 2.0)
    actual = flat([parameter.grad for parameter in parameters])
    snapshot.assert_close(actual, flat(gradients), "gradients", atol=0.0, rtol=0.0)


def test_gradient_clipping_keeps_weights(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Changes the gradients and not the parameters themselves."""
    gradients = gradients_of_norm(draw, 20.0)
    parameters = parameters_with(draw, gradients)
    before = flat([parameter.detach().clone() for parameter in parameters])
    adapters.run_gradient_clipping(parameters, 1.0)
    actual = flat([parameter.detach() for parameter in parameters])
    snapshot.assert_close(actual, before, "parameters", atol=0.0, rtol=0.0)


def test_gradient_clipping_generator(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Clips the parameters of a generator, such as model.parameters(), which can be read once."""
    gradients = gradients_of_norm(draw, 20.0)
    parameters = parameters_with(draw, gradients)
    adapters.run_gradient_clipping((parameter for parameter in parameters), 1.0)
    actual = flat([parameter.grad for parameter in parameters])
    snapshot.assert_close(actual, torch_clipped(gradients, 1.0), "gradients", atol=1e-5)


def test_gradient_clipping_missing_gradients(
    adapters: Any, snapshot: Snapshot, draw: Draws
) -> None:
    """Passes over parameters that have no gradient."""
    gradients = gradients_of_norm(draw, 20.0)
    parameters = parameters_with(draw, [None, *gradients[:2], None, gradients[2]])
    adapters.run_gradient_clipping(parameters, 1.0)
    missing = (parameters.pop(3), parameters.pop(0))
    assert all(parameter.grad is None for parameter in missing), (
        "A parameter without a gradient has one after clipping."
    )
    actual = flat([parameter.grad for parameter in parameters])
    snapshot.assert_close(actual, torch_clipped(gradients, 1.0), "gradients", atol=1e-5)


def test_gradient_clipping_zero_gradients(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves gradients zero where all of them are."""
    gradients = [torch.zeros(*shape) for shape in SHAPES]
    parameters = parameters_with(draw, gradients)
    adapters.run_gradient_clipping(parameters, 1.0)
    actual = flat([parameter.grad for parameter in parameters])
    snapshot.assert_close(actual, flat(gradients), "gradients", atol=0.0, rtol=0.0)


def test_gradient_clipping_nothing_to_clip(adapters: Any, draw: Draws) -> None:
    """Does nothing where there are no parameters, or none that has a gradient."""
    adapters.run_gradient_clipping([], 1.0)
    (parameter,) = parameters_with(draw, [None])
    adapters.run_gradient_clipping([parameter], 1.0)
    assert parameter.grad is None, "A parameter without a gradient has one after clipping."
