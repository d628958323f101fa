"""When a case has ended, the judge keeps none of its tensors."""

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch

from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.judging.suite import forget_tracebacks
from cs336_grader.records import CheckResult, Verdict
from grader_tests.assignments import ASSIGNMENT, SCOPE, suite_of
from grader_tests.judged import judged
from known_mistakes import Parts

# Each holds what it gave and what came back in variables of its own.
CHECKS = (
    "test_transformer_block_causal",
    "test_transformer_block_scale",
    "test_transformer_block_epsilon",
    "test_transformer_block",
)


class Changed:
    """Right adapters, but for what is made of their results."""

    def __init__(self, change: Callable[[torch.Tensor], object]) -> None:
        self.right = Parts()
        self.change = change

    def __getattr__(self, name: str) -> Any:
        """An adapter."""
        return lambda *args, **kwargs: self.change(getattr(self.right, name)(*args, **kwargs))


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Do not look for garbage: large values would lie in it for long."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda result: result, Verdict.PASSED),
        (lambda result: result * torch.rand(result.shape), Verdict.FAILED),
        (lambda result: [result], Verdict.FAILED),
    ],
    ids=["right", "wrong", "of no use"],
)
def test_a_case_that_has_ended_holds_no_tensor(
    change: Callable[[torch.Tensor], object], verdict: Verdict
) -> None:
    """Whatever became of it."""
    outcomes: list[CheckResult] = []
    alive: list[int] = []

    def finished(found: CheckResult) -> None:
        outcomes.append(found)
        # Where pytest keeps the last one for a debugger, until the next case.
        vars(sys).update(dict.fromkeys(("last_exc", "last_type", "last_value", "last_traceback")))
        alive.append(sum(issubclass(type(value), torch.Tensor) for value in gc.get_objects()))

    suite = suite_of([ASSIGNMENT.checks[name] for name in CHECKS])
    source = LocalAdapters(partial(Changed, change))
    judged(suite, source, scope=SCOPE, finished=finished)
    assert {outcome.verdict for outcome in outcomes} == {verdict}
    assert alive == [alive[0]] * len(CHECKS)


def test_an_exception_that_is_its_own_cause_is_forgotten() -> None:
    """Following its causes has an end."""
    with pytest.raises(ValueError, match="its own") as raised:
        raise_for_itself()
    forget_tracebacks(raised.value)
    assert raised.value.__traceback__ is None


def raise_for_itself() -> None:
    """Raise an exception that is its own cause."""
    error = ValueError("its own")
    raise error from error
