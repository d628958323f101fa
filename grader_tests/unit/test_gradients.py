"""Tests of the gradients that are written out by hand, against numerical ones."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cs336_basics.gpt import LayerNorm, gelu
from cs336_basics.gradients import UnitRMS
from cs336_basics.layers import scaled_dot_product_attention, softmax
from cs336_basics.loss import cross_entropy
from cs336_basics.model import RMSNorm, silu

Function = Callable[[Tensor], Tensor]
TARGETS = torch.tensor([[0, 4, 2], [3, 3, 1]])
FUNCTIONS: dict[str, Function] = {
    "softmax": lambda x: softmax(x, -1),
    "softmax along the first axis": lambda x: softmax(x, 0),
    "cross-entropy": lambda x: cross_entropy(x, TARGETS),
    "unit RMS": lambda x: UnitRMS.of(x, 1e-5),
    "SiLU": silu,
    "GELU": gelu,
}
functions = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())


def drawn() -> Tensor:
    """A (2, 3, 5) tensor that is precise enough for differences."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)


@functions
def test_gradients_are_those_of_differences(function: Function) -> None:
    """What is written out is the derivative of what is computed, however often it is asked for."""
    x = drawn().requires_grad_()
    assert torch.autograd.gradcheck(function, (x,))
    y = function(x).sum()
    (first,) = torch.autograd.grad(y, x, retain_graph=True)
    (second,) = torch.autograd.grad(y, x)
    assert torch.equal(first, second)


@functions
def test_nothing_changes_where_no_gradient_is_asked_for(function: Function) -> None:
    """Without gradients the same is computed, and no argument is touched."""
    x = drawn()
    before = x.clone()
    expected = function(x.clone().requires_grad_()).detach()
    with torch.inference_mode():
        assert torch.equal(function(x), expected)
    assert torch.equal(x, before)


@functions
def test_only_softmax_has_a_second_derivative(function: Function) -> None:
    """A second derivative is either right or refused, whatever the result goes into."""
    x = drawn().requires_grad_()
    if function in {FUNCTIONS["softmax"], FUNCTIONS["softmax along the first axis"]}:
        assert torch.autograd.gradgradcheck(function, (x,))
        return
    for loss in (function(x).sum(), function(x).square().sum()):
        with pytest.raises(RuntimeError, match="this gradient has no gradient"):
            torch.autograd.grad(loss, x, create_graph=True)


@pytest.mark.parametrize("function", [FUNCTIONS["softmax"], RMSNorm(5), LayerNorm(5)])
def test_integers_are_refused(function: Function) -> None:
    """What has the dtype of its argument cannot be told in integers."""
    with pytest.raises(TypeError, match=r"torch\.int64 are given where floating-point"):
        function(torch.ones(2, 5, dtype=torch.int64))


@functions
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays(function: Function, dtype: torch.dtype) -> None:
    """Results and gradients have the dtype of the argument, on no device too."""
    x = drawn().to(dtype).requires_grad_()
    y = function(x)
    y.sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert y.dtype == x.grad.dtype == dtype
    torch.testing.assert_close(y.double(), function(drawn()), atol=0.03, rtol=0.03)


def test_a_query_that_sees_no_key_gets_zeros_and_gives_none_a_gradient() -> None:
    """Nothing becomes NaN, whatever the rest of the mask."""
    x = drawn().requires_grad_()
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    y = scaled_dot_product_attention(x, x.detach(), x.detach(), mask)
    assert y[:, 1].count_nonzero() == 0
    y.sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert x.grad[:, 1].count_nonzero() == 0


def test_softmax_of_what_is_hidden() -> None:
    """-inf gets nothing, also where there is nothing else, and the lowest finite number counts."""
    lowest = torch.finfo(torch.float32).min
    x = torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf], [lowest, -math.inf]])
    expected = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert torch.equal(softmax(x, -1), expected)
