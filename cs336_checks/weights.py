"""Notices that an adapter does nothing with the weights it is given, by calling it again.

A model whose weights were never loaded is wrong in each of its numbers, and like nothing that is
known. So the call that led to a failure is made again: twice as it was, and with other weights.
"""

import importlib
import inspect
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

WEIGHTS = re.compile(r"(?:^|_)weights?$")
DRAWN = (
    "Two calls with the same arguments give different numbers: do you load the weights that are"
    " given, or are others drawn each time?"
)
IGNORED = "With other weights your output stays the same: do you load those that are given?"


class Watched:
    """Adapters that note the last call that was given weights.

    Args:
        adapters: the submission's.
        module: the name of the suite's own module of adapters, which has the published signatures.
    """

    def __init__(self, adapters: Any, module: str) -> None:
        self._adapters = adapters
        self._module = module
        self._last: tuple[Callable[..., Any], inspect.BoundArguments] | None = None

    def __getattr__(self, name: str) -> Any:
        """An adapter, or what else there is of the name."""
        found = getattr(self._adapters, name)
        # The other process's functions have no signature: the published one is that of the suite's.
        published = getattr(importlib.import_module(self._module), name, None)
        if not inspect.isfunction(published) or not weights(inspect.signature(published)):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            """The adapter."""
            self._last = None
            result = found(*args, **kwargs)
            self._last = found, inspect.signature(published).bind(*args, **kwargs)
            return result

        return call

    def fault(self) -> str:
        """Return what is wrong with how the last call took its weights, or an empty text."""
        if self._last is None or self._last[1].arguments.get("training"):
            return ""
        try:
            with torch.no_grad():
                return compared(*self._last)
        except Exception:  # which says no more than what failed before
            return ""


def compared(function: Callable[..., Any], given: inspect.BoundArguments) -> str:
    """Return it for a call that is made again, twice as it was and with other weights."""
    others = {name: other(given.arguments[name]) for name in weights(given.signature)}
    first, second = called(function, given, {}), called(function, given, {})
    if not torch.allclose(first, second, rtol=1e-2, atol=1e-3, equal_nan=True):
        return DRAWN
    return IGNORED if torch.equal(first, called(function, given, others)) else ""


def weights(signature: inspect.Signature) -> list[str]:
    """The parameters that are weights."""
    return [name for name in signature.parameters if WEIGHTS.search(name)]


def called(
    function: Callable[..., Any], given: inspect.BoundArguments, others: dict[str, Any]
) -> Any:
    """Call a function again, with some of its arguments replaced."""
    arguments: dict[str, Any] = {**given.arguments, **others}
    again = inspect.BoundArguments(given.signature, OrderedDict(arguments))
    return function(*again.args, **again.kwargs)


def other(value: Any) -> Any:
    """Other weights of the same names, shapes and dtypes; anything else stays as it is."""
    if isinstance(value, dict):
        return {name: other(one) for name, one in value.items()}
    return value * 1.5 + 0.25 if isinstance(value, Tensor) else value
