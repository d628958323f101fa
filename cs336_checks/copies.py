"""Adapters take and return copies, so that they can change nothing that a check still needs."""

from typing import Any

import numpy as np
from torch import Tensor


class Copies:
    """Adapters that take and return copies of tensors, arrays, lists, tuples and dictionaries.

    Parameters, modules, optimizers, files and memory-mapped arrays are not copied: adapters are to
    change the first three, and to read the others piece by piece.

    Attributes:
        as_given: the adapters without copies, for checks that arguments are left as they were.
    """

    def __init__(self, adapters: Any) -> None:
        self.as_given = adapters

    def __getattr__(self, name: str) -> Any:
        """An adapter, or what else there is of the name."""
        found = getattr(self.as_given, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            """The adapter."""
            __tracebackhide__ = True
            return copied(found(*map(copied, args), **copied(kwargs)))

        return call if callable(found) else found


def copied(value: Any) -> Any:
    """A copy with all it holds; what is of none of these types exactly is returned itself."""
    if type(value) is Tensor:
        return value.clone()
    if type(value) is np.ndarray:
        return value.copy()
    if type(value) in {list, tuple}:
        return type(value)(map(copied, value))
    if type(value) is dict:
        return {name: copied(one) for name, one in value.items()}
    return value
