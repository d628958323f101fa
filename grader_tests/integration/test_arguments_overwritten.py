"""A submission that overwrites its arguments changes the verdict of the checks of arguments alone.

What a check expects, and what it calls an adapter with next, must not depend on values that the
adapter can change.
"""

import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn

from cs336_checks.copies import Copies
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.judging.suite import SuiteRun, names
from grader_tests.assignments import ASSIGNMENT, suite_of
from tests import adapters as reference

Adapter = Callable[..., Any]
# What the reference returns at seed 0, recorded once.
EXPECTED = RecordedValues()


class Verdicts(SuiteRun):
    """Runs all checks with adapters that are made of the reference's.

    Attributes:
        cases: all of them.
        passed: those that pass.
        of_arguments: those whose check passes arguments to an adapter without copying them.
    """

    def __init__(self, make: Callable[[Adapter], Adapter]) -> None:
        super().__init__(suite_of(ASSIGNMENT.checks.values()), EXPECTED)
        right = Copies(reference)
        adapters = {name: make(getattr(right, name)) for name in ASSIGNMENT.adapter_names}
        self.source = LocalAdapters(lambda: SimpleNamespace(**adapters))
        self.cases: set[str] = set()
        self.passed: set[str] = set()
        self.of_arguments: set[str] = set()
        self.run()

    def case(self, item: pytest.Item) -> None:
        """Note whether a case passes."""
        self.record(item)
        self.cases.add(item.nodeid)
        if self.run_with(item, self.source) is None:
            self.passed.add(item.nodeid)
        if isinstance(item, pytest.Function) and names(item.function.__code__, "as_given"):
            self.of_arguments.add(item.nodeid)


def overwriting(adapter: Adapter) -> Adapter:
    """The same answers; afterwards all arguments are overwritten."""

    def call(*args: Any, **kwargs: Any) -> Any:
        answer = adapter(*args, **kwargs)
        for value in (*args, *kwargs.values()):
            overwrite(value)
        if not hasattr(answer, "encode_iterable"):
            return answer
        methods = dict(inspect.getmembers(answer, inspect.ismethod))
        return SimpleNamespace(**{name: overwriting(method) for name, method in methods.items()})

    return call


def zeros(*args: Any, **kwargs: Any) -> Any:
    """Zeros of the last tensor's shape."""
    *_, last = (None, *tensors_in([*args, *kwargs.values()]))
    return None if last is None else last.detach().clone().zero_()


def overwritten_argument(*args: Any, **kwargs: Any) -> Any:
    """The last tensor itself, once it and all other arguments are overwritten with zeros."""
    *_, last = (None, *tensors_in([*args, *kwargs.values()]))
    for value in (*args, *kwargs.values()):
        overwrite(value)
    return None if last is None else last.detach()


def not_written(*args: Any, **kwargs: Any) -> Any:
    """No answer, and all arguments are overwritten."""
    for value in (*args, *kwargs.values()):
        overwrite(value)
    raise NotImplementedError


def overwrite(value: Any) -> None:
    """Change a value and all it holds, but for parameters, which some adapters are to change."""
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        value.data.zero_()
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = 0
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            overwrite(one)
        value.clear()


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors that lists and dictionaries hold, at any depth."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(one)


def test_right_work_fails_the_checks_of_arguments_alone() -> None:
    """Each of them finds that arguments were overwritten, and all other checks pass."""
    found = Verdicts(overwriting)
    assert found.of_arguments, "Some checks pass arguments without copying them."
    assert found.passed == found.cases - found.of_arguments


def test_an_overwritten_argument_is_judged_like_any_other_answer() -> None:
    """To return it passes no check that zeros do not pass: what is expected was not overwritten."""
    plain, overwritten = Verdicts(lambda _: zeros), Verdicts(lambda _: overwritten_argument)
    assert overwritten.passed == plain.passed - plain.of_arguments


def test_work_that_is_not_written_passes_nothing() -> None:
    """Even if it overwrites its arguments before it says so."""
    assert not Verdicts(lambda _: not_written).passed
