"""Properties that many checks ask for: gradients, arguments left as they were, dropout."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .comparison import CheckFailedError, require
from .snapshots import Snapshot


def gradient(call: Callable[[Tensor], Tensor], x: Tensor, upstream: Tensor) -> Tensor:
    """The gradient of ``(call(x) * upstream).sum()`` with respect to x.

    Args:
        call: what is differentiated.
        x: where; the tensor given is left alone.
        upstream: the gradient of the output, of its shape.

    Raises:
        CheckFailedError: the output cannot be differentiated.
    """
    leaf = x.detach().clone().requires_grad_()
    output = call(leaf)
    require(isinstance(output, Tensor), "A tensor is expected.")
    require(
        output.requires_grad,
        "Your output is cut off from the input: no gradient flows back through it.",
    )
    require_shape(output, upstream)
    output.backward(upstream.to(output.dtype))  # type: ignore[no-untyped-call]  # torch's stub
    if leaf.grad is None:
        raise CheckFailedError("No gradient reached the input.")
    return leaf.grad


def require_shape(actual: Tensor, expected: Tensor) -> None:
    """Fail the check unless two tensors have one shape."""
    require(
        actual.shape == expected.shape,
        f"Shape {tuple(expected.shape)} is expected; yours is {tuple(actual.shape)}.",
    )


def assert_differs(actual: Tensor, other: Tensor, sentence: str) -> None:
    """The two are farther apart somewhere than any rounding explains, or the sentence is said."""
    require((actual - other).abs().max() > 0.05, sentence)


def without_dropout(call: Callable[[], Tensor]) -> Tensor:
    """Return the result of a call in which nothing is to be dropped.

    Raises:
        CheckFailedError: it gives no tensor, or a second call something else.
    """
    first, second = call(), call()
    require(isinstance(first, Tensor), "A tensor is expected.")
    require(
        not (first - second).abs().max() > 0.05,
        "Two calls in a row differ: dropout is active where nothing is to be dropped.",
    )
    return first


def assert_leaves_arguments(
    snapshot: Snapshot, call: Callable[..., Tensor], *arguments: Tensor
) -> None:
    """Call twice with the same tensors: they keep their values, and so does the result.

    Args:
        snapshot: compares the two results.
        call: the function, called with the arguments in their order.
        arguments: the tensors given.

    Raises:
        CheckFailedError: a tensor was changed or the results differ.
    """
    before = [argument.clone() for argument in arguments]
    first = call(*arguments)
    require(isinstance(first, Tensor), "A tensor is expected.")
    first = first.detach().clone()
    for i, (argument, value) in enumerate(zip(arguments, before, strict=True)):
        require(
            torch.equal(argument, value),
            f"Your function changed tensor {i + 1} of the {len(arguments)} it was given.",
        )
    snapshot.assert_close(call(*arguments), first, "the second of two calls", atol=1e-6, rtol=1e-6)


def assert_dropped(
    snapshot: Snapshot, actual: Tensor, values: Tensor, p: float, name: str = "output"
) -> None:
    """Each of the values is 0 now or divided by 1 - p, and about a share of p is 0.

    Args:
        snapshot: compares.
        actual: what dropout made of the values.
        values: numbers that are not 0.
        p: the probability with which a value is dropped.
        name: what is compared, in words.

    Raises:
        CheckFailedError: a value is something else, or too many or too few are 0.
    """
    require(isinstance(actual, Tensor), "A tensor is expected.")
    require_shape(actual, values)
    scaled = values / (1 - p)
    kept = actual.abs() > scaled.abs() / 2
    snapshot.assert_close(actual, torch.where(kept, scaled, 0.0), name)
    count, dropped = kept.numel(), int((~kept).sum())
    # Hoeffding's bound: by chance the count is off by more once in 10^10 runs.
    allowed = math.sqrt(count / 2 * math.log(2e10))
    require(
        abs(dropped - p * count) <= allowed,
        f"{name}: {dropped} of {count} elements are dropped, where p is {p}.",
    )


def assert_drawn_apart(dropped: Tensor, *axes: str) -> None:
    """Require that dropout is not the same all along an axis.

    Args:
        dropped: True where an element was dropped.
        axes: what each axis consists of, in the plural.

    Raises:
        CheckFailedError: the draws are the same along an axis.
    """
    for dim, axis in enumerate(axes):
        require(
            not torch.equal(dropped, dropped.roll(1, dim)),
            f"Dropout is the same for all {axis}: draw for each of them.",
        )
