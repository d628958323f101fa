"""Answers without any work, made for adapters that the audit knows nothing of."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cs336_grader.audit.degenerate import ANSWERS, degenerate

RIGHT = SimpleNamespace(
    run_matrix=lambda rows, x: x.repeat(rows, 1),
    run_numbers=lambda count: [float(i) for i in range(count)],
    run_pair=lambda array: (array + 1, torch.tensor(array)),
    run_counts=lambda text: {text: 1},
    run_in_place=lambda parameter: parameter.data.zero_(),
    get_class=lambda: nn.Linear,
)


def answer(kind: str, adapter: str, *arguments: Any) -> Any:
    """What degenerate work of a kind answers."""
    adapters = degenerate(vars(RIGHT), lambda: RIGHT, ANSWERS[kind][1])
    return getattr(adapters, adapter)(*arguments)


@pytest.mark.parametrize("kind", ANSWERS)
def test_it_never_solves_anything(kind: str) -> None:
    """Each kind of answer is another one than the right one, or none."""
    x = torch.tensor([3.0, 5.0])
    found = answer(kind, "run_matrix", 4, x)
    assert not (isinstance(found, Tensor) and torch.equal(found, RIGHT.run_matrix(4, x)))
    assert answer(kind, "run_numbers", 3) != RIGHT.run_numbers(3)
    assert answer(kind, "run_counts", "word") != RIGHT.run_counts("word")


@pytest.mark.parametrize("kind", ["zeros", "ones", "nan", "noise"])
def test_numbers_have_the_right_shape(kind: str) -> None:
    """Tensors, arrays and lists are as long as the right ones, and of their types."""
    found = answer(kind, "run_matrix", 4, torch.ones(2))
    assert (found.shape, found.dtype) == ((4, 2), torch.float32)
    assert len(answer(kind, "run_numbers", 3)) == 3
    array, tensor = answer(kind, "run_pair", np.arange(6))
    assert isinstance(array, np.ndarray)
    assert isinstance(tensor, Tensor)
    assert (array.shape, tensor.shape) == ((6,), (6,))


def test_an_argument_comes_back_that_could_be_the_answer() -> None:
    """The first of the right type, if there is one."""
    x = torch.ones(2)
    assert answer("first_argument", "run_matrix", 4, x) is x
    assert answer("last_argument", "run_numbers", 3) == 3
    assert answer("second_argument", "run_numbers", 3) is None


@pytest.mark.parametrize("kind", ANSWERS)
def test_it_does_nothing_where_it_is_to_change_something(kind: str) -> None:
    """A parameter that it is given stays as it was; it has no answer that is no value."""
    parameter = nn.Parameter(torch.ones(3))
    assert answer(kind, "run_in_place", parameter) is None
    assert torch.equal(parameter, torch.ones(3))
    with pytest.raises(NotImplementedError):
        answer(kind, "get_class")
