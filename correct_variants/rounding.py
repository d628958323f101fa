"""The reference with other rounding: what it computes is the same to the last few bits.

Nothing else is different, so these tell how far apart right results lie at least.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from cs336_checks.catalogue import Part
from tests import adapters as reference

from .catalogue import variant

ADAPTERS = {
    "linear": ("run_linear",),
    "rmsnorm": ("run_rmsnorm",),
    "positionwise_feedforward": ("run_silu", "run_swiglu"),
    "rope": ("run_rope",),
    "softmax": ("run_softmax",),
    "scaled_dot_product_attention": ("run_scaled_dot_product_attention",),
    "multihead_self_attention": (
        "run_multihead_self_attention",
        "run_multihead_self_attention_with_rope",
    ),
    "transformer_block": ("run_transformer_block",),
    "transformer_lm": ("run_transformer_lm",),
    "cross_entropy": ("run_cross_entropy",),
    "gelu": ("run_gelu",),
    "layer_norm": ("run_layer_norm",),
    "gpt_feed_forward": ("run_gpt_feed_forward",),
    "gpt_attention": ("run_gpt_attention",),
    "gpt_block": ("run_gpt_block",),
    "gpt": ("run_gpt",),
    "sampling": ("run_next_token_probabilities",),
    "glu": ("run_glu",),
}
aten = torch.ops.aten


class FromTheEnd(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Adds up from the last summand to the first, in matrix products, sums and means."""

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Reverse what an operator adds up."""
        kwargs = kwargs or {}
        if operator in {aten.mm.default, aten.bmm.default}:
            return operator(args[0].flip(-1), args[1].flip(-2), **kwargs)
        if operator in {aten.sum.dim_IntList, aten.mean.dim, aten.logsumexp.default}:
            axes = [args[1]] if isinstance(args[1], int) else args[1]
            return operator(args[0].flip(*axes), *args[1:], **kwargs)
        return operator(*args, **kwargs)


def summed_from_the_end(adapter: Part) -> Part:
    """Is the reference, and adds up in the opposite order."""

    @wraps(adapter)
    def in_that_order(*arguments: Any, **options: Any) -> Any:
        with FromTheEnd():  # type: ignore[no-untyped-call]  # torch's own
            return adapter(*arguments, **options)

    return in_that_order


def on_four_threads(adapter: Part) -> Part:
    """Is the reference, on four threads."""

    @wraps(adapter)
    def there(*arguments: Any, **options: Any) -> Any:
        threads = torch.get_num_threads()
        torch.set_num_threads(4)
        try:
            return adapter(*arguments, **options)
        finally:
            torch.set_num_threads(threads)

    return there


def given_float64(adapter: Part) -> Part:
    """Is the reference, given float64; the result has the dtype of the last tensor given."""

    @wraps(adapter)
    def exactly(*arguments: Any, **options: Any) -> Any:
        *_, dtype = filter(None, map(float_dtype, (*arguments, *options.values())))
        exact = {name: doubled(value) for name, value in options.items()}
        return adapter(*map(doubled, arguments), **exact).to(dtype)

    return exactly


def float_dtype(value: Any) -> torch.dtype | None:
    """The dtype of a tensor of floating-point numbers, or of the first in a dict."""
    if isinstance(value, dict):
        return next(map(float_dtype, value.values()))
    return value.dtype if isinstance(value, Tensor) and value.is_floating_point() else None


def doubled(value: Any) -> Any:
    """The same in float64, if it is made of floating-point numbers."""
    if isinstance(value, dict):
        return {name: doubled(entry) for name, entry in value.items()}
    return value if float_dtype(value) is None else value.double()


def enter(problem: str, names: tuple[str, ...], rounded: Callable[[Part], Part]) -> None:
    """Enter a problem's adapters as variants that only round otherwise."""
    adapters = {name: rounded(getattr(reference, name)) for name in names}
    function = adapters.pop(names[0])
    function.__name__, function.__doc__ = rounded.__name__, rounded.__doc__
    variant(problem, names[0], **adapters)(function)


for problem, names in ADAPTERS.items():
    for rounded in (summed_from_the_end, on_four_threads, given_float64):
        enter(problem, names, rounded)
