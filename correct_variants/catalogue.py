"""How one implementation is entered in a catalogue: a function, its problem, and one sentence."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

from tests import adapters as reference

Adapter = Callable[..., Any]
A = TypeVar("A", bound=Adapter)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to write what a problem asks for.

    Attributes:
        id: the problem and the function's name: "softmax/log_sum_exp".
        problem: the problem's name in the rubric.
        adapters: what takes the place of the reference's adapters, by their names.
        sentence: what is special about it.
    """

    id: str
    problem: str
    adapters: Mapping[str, Adapter]
    sentence: str


VARIANTS: list[Variant] = []


def enter(
    catalogue: list[Variant], problem: str, adapter: str, **beside: Adapter
) -> Callable[[A], A]:
    """Enter the function below as a way to write an adapter.

    Args:
        catalogue: the list it goes to.
        problem: the problem it belongs to.
        adapter: the adapter it takes the place of.
        beside: further adapters that go with it.

    Raises:
        ValueError: it has no docstring or its name is taken.
    """

    def entered(function: A) -> A:
        name = f"{problem}/{function.__name__}"
        sentence = inspect.getdoc(function)
        if not sentence:
            raise ValueError(f"{name} has no docstring: say what is special about it")
        if any(known.id == name for known in catalogue):
            raise ValueError(f"{name} is entered twice: rename one of them")
        catalogue.append(Variant(name, problem, {adapter: function, **beside}, sentence))
        return function

    return entered


variant = partial(enter, VARIANTS)


def adapters_with(variant: Variant) -> SimpleNamespace:
    """The reference's adapters, some replaced by those of a variant."""
    return SimpleNamespace(**{**vars(reference), **variant.adapters})
