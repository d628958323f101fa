"""Weights that are given and not used are noticed, and nothing else is taken for that."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from cs336_checks.copies import Copies
from cs336_checks.weights import DRAWN, IGNORED, Watched

# Has the published signatures.
MODULE = "tests.adapters"
Linear = Callable[[int, int, Tensor, Tensor], object]


def in_place(_: int, __: int, weights: Tensor, x: Tensor) -> Tensor:
    """Right at the first call."""
    return x @ weights.mul_(2).T


def broken(*_: object) -> Tensor:
    """No linear layer at all."""
    raise ValueError("no")


KINDS: dict[str, tuple[Linear, str]] = {
    "right": (lambda _, __, w, x: x @ w.T, ""),
    "another formula": (lambda _, __, w, x: (x * 2) @ w.T + 1, ""),
    "drawn": (lambda i, o, _, x: x @ torch.randn(i, o), DRAWN),
    "ones": (lambda i, o, _, x: x @ torch.ones(i, o), IGNORED),
    "half of them": (lambda i, _, w, x: torch.cat([x @ w.T[:, :1], x @ torch.ones(i, 2)], -1), ""),
    "in place": (in_place, ""),
    "no tensor": (lambda *_: None, ""),
}


def fault(run_linear: Linear) -> str:
    """What is told once a function was called."""
    watched = Watched(Copies(SimpleNamespace(run_linear=run_linear)), MODULE)
    assert watched.fault() == ""
    watched.run_linear(4, 3, torch.ones(3, 4), torch.ones(2, 4))
    return watched.fault()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_not_used_are_noticed(kind: str) -> None:
    """Whether what stands in their place is drawn anew or always the same."""
    run_linear, told = KINDS[kind]
    assert fault(run_linear) == told


def test_a_call_that_raised_is_not_made_again() -> None:
    """Nor is another one that came before it."""
    watched = Watched(SimpleNamespace(run_linear=lambda *_: torch.randn(2, 3)), MODULE)
    watched.run_linear(4, 3, torch.ones(3, 4), torch.ones(2, 4))
    watched._adapters.run_linear = broken
    with pytest.raises(ValueError, match="no"):
        watched.run_linear(4, 3, torch.ones(3, 4), torch.ones(2, 4))
    assert watched.fault() == ""


@pytest.mark.parametrize(("training", "told"), [(True, ""), (False, DRAWN)])
def test_dropout_is_no_weight(training: bool, told: str) -> None:
    """In training, two calls are to differ."""
    watched = Watched(SimpleNamespace(run_gpt_feed_forward=lambda *_: torch.randn(2, 4)), MODULE)
    weights = {"w1.weight": torch.ones(8, 4), "w2.weight": torch.ones(4, 8)}
    watched.run_gpt_feed_forward(4, 8, 0.5, weights, torch.ones(2, 4), training)
    assert watched.fault() == told


def test_what_is_given_no_weights_is_left_as_it_is() -> None:
    """It is the student's own function, with nothing around it."""
    adapters = SimpleNamespace(run_silu=torch.sigmoid, pid=7)
    watched = Watched(adapters, MODULE)
    assert watched.run_silu is torch.sigmoid
    assert watched.pid == 7
    assert not hasattr(watched, "run_rope")
