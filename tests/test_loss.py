"""Checks of the loss."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.comparison import is_finite
from cs336_checks.draws import Draws
from cs336_checks.properties import assert_leaves_arguments, gradient
from cs336_checks.snapshots import Snapshot


def one_number(loss: Any) -> Tensor:
    """The loss as a tensor without dimensions; one of shape (1,) counts too."""
    assert isinstance(loss, Tensor | float), "A tensor is expected."
    value = torch.as_tensor(loss)
    assert value.numel() == 1, (
        "One number is expected, the mean over all positions; "
        f"your loss has shape {tuple(value.shape)}."
    )
    return value.reshape(())


def test_cross_entropy(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Averages the negative log-probability of the targets."""
    logits, targets = draw.normal(7, 11, scale=3.0), draw.integers(7, high=11)
    targets[:2] = torch.tensor([0, 10])
    expected = functional.cross_entropy(logits, targets)
    loss = one_number(adapters.run_cross_entropy(logits, targets))
    snapshot.assert_close(loss, expected)
    snapshot.assert_match(loss)


def test_cross_entropy_far_apart(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Subtracts each row's own maximum and takes no logarithm of a probability."""
    for scale in (1.0, 100.0):
        logits = draw.normal(4, 11, scale=scale)
        # The least likely class of the first row has a probability of 0 in float32.
        targets = torch.cat([logits[:1].argmin(-1), draw.integers(3, high=11)])
        logits += torch.tensor([[0.0], [-200.0], [1000.0], [-3000.0]])
        expected = functional.cross_entropy(logits, targets)
        loss = one_number(adapters.run_cross_entropy(logits, targets))
        assert is_finite(loss), (
            "Your loss is not finite: shift each row of logits by its own maximum, and let the "
            "logarithm and the exponential cancel."
        )
        snapshot.assert_close(loss, expected, f"logits of size {scale:g} far apart", atol=2e-3)


def test_cross_entropy_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Stays differentiable with respect to the logits."""
    logits, targets = draw.normal(7, 11, scale=2.0), draw.integers(7, high=11)
    upstream = torch.tensor(1.0)
    expected = gradient(lambda x: functional.cross_entropy(x, targets), logits, upstream)
    found = gradient(lambda x: one_number(adapters.run_cross_entropy(x, targets)), logits, upstream)
    # Each number is at most 1/7, and a mistake must differ by ten times the tolerance.
    snapshot.assert_close(found, expected, "gradient", atol=1e-5)


def test_cross_entropy_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes logits with any number of dimensions before the last and averages over all of them."""
    for leading in [(1,), (3, 5), (2, 3, 4)]:
        logits = draw.normal(*leading, 11, scale=3.0)
        targets = draw.integers(*leading, high=11)
        expected = functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
        loss = one_number(adapters.run_cross_entropy(logits, targets))
        snapshot.assert_close(loss, expected, f"logits of shape {tuple(logits.shape)}")


def test_cross_entropy_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments as they were and gives the same result when called again."""
    assert_leaves_arguments(
        snapshot,
        lambda logits, targets: one_number(adapters.as_given.run_cross_entropy(logits, targets)),
        draw.normal(7, 11),
        draw.integers(7, high=11),
    )


def test_cross_entropy_shape(adapters: Any, draw: Draws) -> None:
    """Returns a tensor without dimensions, as a loss that is differentiated has."""
    loss = adapters.run_cross_entropy(draw.normal(7, 11), draw.integers(7, high=11))
    assert isinstance(loss, Tensor), "A tensor is expected."
    assert loss.shape == (), "Reduce the loss over every dimension: its shape is ()."


def test_cross_entropy_float16(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives a finite loss for float16 logits near the largest number they can be."""
    logits = (draw.normal(7, 11, scale=4.0) + 60000.0).to(torch.float16)
    targets = draw.integers(7, high=11)
    expected = functional.cross_entropy(logits.float(), targets)
    loss = one_number(adapters.run_cross_entropy(logits, targets))
    snapshot.assert_close(loss, expected, atol=0.05, rtol=0.01)
