"""Checks of the moving average."""

import random
from typing import Any

import pytest


@pytest.mark.parametrize("width", [1, 2, 5])
def test_moving_average(adapters: Any, snapshot: Any, draw: random.Random, width: int) -> None:
    """Returns the mean of each run of neighbours."""
    values = [draw.uniform(-10, 10) for _ in range(12)]
    snapshot.assert_match(adapters.run_moving_average(values, width))


def test_moving_average_of_a_constant(adapters: Any, draw: random.Random) -> None:
    """Leaves a constant as it is."""
    constant = float(draw.randint(1, 9))
    averages = adapters.run_moving_average([constant] * 6, 4)
    assert averages == [constant] * 3, "The average of equal values is not their value."


def test_moving_average_of_too_few(adapters: Any) -> None:
    """Returns an empty list when there are fewer values than the width."""
    assert adapters.run_moving_average([1.0, 2.0], 3) == [], "There is no such run."


def test_moving_average_keeps_its_argument(adapters: Any) -> None:
    """Leaves the list it is given as it is."""
    values = [3.0, 1.0, 2.0]
    adapters.run_moving_average(values, 2)
    assert values == [3.0, 1.0, 2.0], "The list was changed."
