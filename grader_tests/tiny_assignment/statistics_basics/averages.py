"""Moving averages."""

from collections.abc import Sequence


def moving_average(values: Sequence[float], width: int) -> list[float]:
    """Return the mean of each run of `width` neighbours; there are none in fewer values."""
    return [sum(values[i : i + width]) / width for i in range(len(values) - width + 1)]
