"""Checks of the running totals."""

from collections.abc import Iterator
from typing import Any

from cs336_checks.draws import Draws


def test_running_totals(adapters: Any, draw: Draws) -> None:
    """Gives the total so far after each number."""
    numbers = draw.integers(8, low=-9, high=10).double().tolist()
    totals = [float(total) for total in adapters.run_running_totals(numbers)]
    wanted = [sum(numbers[: count + 1]) for count in range(len(numbers))]
    assert totals == wanted, "A total is not the sum of the numbers up to it."


def test_running_totals_takes_one_at_a_time(adapters: Any) -> None:
    """Gives the first total before it asks for the second number."""
    asked = 0

    def numbers() -> Iterator[float]:
        nonlocal asked
        for number in (1.0, 2.0, 3.0):
            asked += 1
            yield number

    first = next(iter(adapters.run_running_totals(numbers())))
    assert first == 1.0, "The first total is not the first number."
    assert asked == 1, f"{asked} numbers were taken before the first total."
