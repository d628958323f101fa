"""Answers without any work: constants, noise, nothing, or an argument given back.

They have the shape of a right answer, so they need no knowledge of an assignment. Degenerate work
that needs it is in a catalogue beside the suite.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np

Adapter = Callable[..., Any]
# Makes an answer of a right one and the arguments.
Answer = Callable[[Any, list[Any]], Any]
PLAIN = (type(None), bool, int, float, str, bytes)


def numbers(change: Callable[[Any], Any]) -> Answer:
    """Change all numbers, tensors and arrays of the right answer; empty values of other types."""

    def changed(answer: Any, arguments: list[Any]) -> Any:
        if isinstance(answer, list | tuple):
            return type(answer)(changed(one, arguments) for one in answer)
        if isinstance(answer, int | float) or is_array(answer):
            return change(answer)
        return nothing(answer, arguments)

    return changed


def nothing(answer: Any, _: list[Any]) -> Any:
    """Something empty of the right answer's type, or None."""
    if is_array(answer) and answer.shape:
        return answer[:0]
    return type(answer)() if isinstance(answer, list | tuple | dict | str | bytes) else None


def noise(value: Any) -> Any:
    """Random numbers in a value's shape: in [0, 1), or integers from 0 to the largest right one."""
    if isinstance(value, int | float):
        return type(value)(noise(np.array(value)))
    drawn = np.random.default_rng(0).random(tuple(value.shape))
    if "int" in str(value.dtype):
        drawn = (drawn * (int(value.max()) + 1)).astype(np.int64)
    return value * 0 + (value.new_tensor(drawn) if hasattr(value, "new_tensor") else drawn)


def argument(place: int) -> Answer:
    """An argument as it is, of the right answer's type if there is one."""

    def given(answer: Any, arguments: list[Any]) -> Any:
        alike = [value for value in arguments if type(value) is type(answer)] or arguments
        return alike[place] if -len(alike) <= place < len(alike) else None

    return given


ANSWERS: dict[str, tuple[str, Answer]] = {
    "zeros": ("Answers zeros.", numbers(lambda value: value * 0)),
    "ones": ("Answers ones.", numbers(lambda value: value * 0 + 1)),
    "nan": ("Answers NaN.", numbers(lambda value: value * math.nan)),
    "noise": ("Answers random numbers.", numbers(noise)),
    "nothing": ("Answers something empty.", nothing),
    "first_argument": ("Gives its first argument back.", argument(0)),
    "second_argument": ("Gives its second argument back.", argument(1)),
    "last_argument": ("Gives its last argument back.", argument(-1)),
}


def degenerate(names: Iterable[str], right: Callable[[], Any], answer: Answer) -> SimpleNamespace:
    """Adapters that answer without any work.

    Args:
        names: the adapters' names.
        right: makes right adapters, whose answers have the right shape.
        answer: makes the answers.
    """
    adapters = right()
    return SimpleNamespace(**{name: answering(getattr(adapters, name), answer) for name in names})


def answering(adapter: Adapter, answer: Answer) -> Adapter:
    """An adapter that gives such answers, and leaves modules, optimizers and files as they are."""

    @wraps(adapter)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = [*args, *kwargs.values()]
        if not all(map(is_plain, arguments)):
            return None
        right = adapter(*args, **kwargs)
        if not is_plain(right):
            raise NotImplementedError
        return answer(right, [*inside(arguments)])

    return call


def is_array(value: Any) -> bool:
    """Return True for a tensor or an array that is no parameter."""
    of_model = getattr(value, "requires_grad", False) and value.is_leaf
    return hasattr(value, "dtype") and hasattr(value, "shape") and not of_model


def is_plain(value: Any) -> bool:
    """Return True for a value made of numbers, texts, arrays and functions alone."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, Mapping):
        return all(map(is_plain, value.values()))
    return isinstance(value, PLAIN) or is_array(value) or inspect.isfunction(value)


def inside(values: list[Any]) -> Iterator[Any]:
    """The values, and what dictionaries among them hold."""
    for value in values:
        yield value
        if isinstance(value, dict):
            yield from value.values()
