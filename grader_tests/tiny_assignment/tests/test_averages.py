"""Checks of the moving average."""

from typing import Any

import numpy as np
import pytest

from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot


@pytest.mark.parametrize("width", [1, 2, 5])
def test_moving_average(adapters: Any, snapshot: Snapshot, draw: Draws, width: int) -> None:
    """Returns the mean of each run of neighbours."""
    values = draw.uniform(12, low=-10, high=10).tolist()
    snapshot.assert_match(np.asarray(adapters.run_moving_average(values, width)), atol=1e-9)


def test_moving_average_of_a_constant(adapters: Any, draw: Draws) -> None:
    """Leaves a constant as it is."""
    constant = float(draw.integers(low=1, high=10))
    averages = adapters.run_moving_average([constant] * 6, 4)
    assert averages == [constant] * 3, "The average of equal values is not their value."


def test_moving_average_of_too_few(adapters: Any) -> None:
    """Returns an empty list when there are fewer values than the width."""
    assert adapters.run_moving_average([1.0, 2.0], 3) == [], "There is no such run."


def test_moving_average_keeps_its_argument(adapters: Any) -> None:
    """Leaves the list it is given as it is."""
    values = [3.0, 1.0, 2.0]
    adapters.as_given.run_moving_average(values, 2)
    assert values == [3.0, 1.0, 2.0], "The list was changed."
