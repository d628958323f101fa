"""Draws where a result differs from what is expected: a small grid of how much, never of which."""

import math

import numpy as np
import numpy.typing as npt

from .differences import Array, Tolerance, as_array, errors

MOST_ROWS, MOST_COLUMNS = 24, 48
HIGHEST_LEVEL = 9

Picture = dict[str, object]


def error_picture(actual: object, expected: object, tolerance: Tolerance) -> Picture | None:
    """A grid of error levels, or None where there are no two arrays of one shape to compare.

    The last axis makes one side, all others folded into one make the other, and the longer of the
    two runs across. Where there are more elements than cells, a cell shows the worst of its own.

    Returns:
        ``shape`` of the result; ``rows`` and ``columns``, what they are in words; ``levels``, a
        text a row with a digit a cell, as ``error_levels`` counts them.
    """
    got, wanted = as_array(actual), as_array(expected)
    if got is None or wanted is None or got.shape != wanted.shape or got.size < 2:
        return None
    grid = error_levels(got, wanted, tolerance).reshape(-1, got.shape[-1])
    above, last = tuple(range(got.ndim))[:-1], tuple(range(got.ndim))[-1:]
    sides = (above, last)
    if grid.shape[0] > grid.shape[1]:
        grid, sides = grid.T, (last, above)
    down, across = math.ceil(grid.shape[0] / MOST_ROWS), math.ceil(grid.shape[1] / MOST_COLUMNS)
    cells = worst_of_blocks(grid, down, across)
    return {
        "shape": list(got.shape),
        "rows": axes_in_words(got.shape, sides[0], down),
        "columns": axes_in_words(got.shape, sides[1], across),
        "levels": ["".join(map(str, row)) for row in cells.tolist()],
    }


def error_levels(got: Array, wanted: Array, tolerance: Tolerance) -> npt.NDArray[np.int64]:
    """How far each element is off: 0 within the tolerance, one more for each half power of ten.

    Level 1 is up to 3.2 times the tolerance, level 2 up to 10 times, 9 all from 10,000 times on.
    """
    actual, expected = got.astype(np.float64), wanted.astype(np.float64)
    error = errors(actual, expected)
    with np.errstate(all="ignore"):
        times = error / tolerance.allowed(wanted)
        halves = np.floor(2 * np.log10(np.maximum(times, 1.0)))
    off = np.minimum(1 + np.nan_to_num(halves, nan=np.inf, posinf=HIGHEST_LEVEL), HIGHEST_LEVEL)
    return np.where((error == 0) | (times <= 1), 0, off).astype(np.int64)


def worst_of_blocks(grid: npt.NDArray[np.int64], down: int, across: int) -> npt.NDArray[np.int64]:
    """The largest value of each block of so many rows and columns; what is missing counts as 0."""
    rows, columns = math.ceil(grid.shape[0] / down), math.ceil(grid.shape[1] / across)
    padded = np.zeros((rows * down, columns * across), dtype=np.int64)
    padded[: grid.shape[0], : grid.shape[1]] = grid
    worst: npt.NDArray[np.int64] = padded.reshape(rows, down, columns, across).max(axis=(1, 3))
    return worst


def axes_in_words(shape: tuple[int, ...], axes: tuple[int, ...], step: int) -> str:
    """Return what runs along one side of the grid: ``axes 0, 1 (3 by 2), 2 to a cell``."""
    if not axes:
        return "a single row"
    kind = "axis" if len(axes) == 1 else "axes"
    sizes = " by ".join(str(shape[axis]) for axis in axes)
    together = f", {step} to a cell" if step > 1 else ""
    return f"{kind} {', '.join(map(str, axes))} ({sizes}){together}"
