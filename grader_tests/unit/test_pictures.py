"""The picture of a failed comparison shows where and how much, and holds no expected number."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cs336_checks.comparison import CheckFailedError
from cs336_checks.differences import Tolerance
from cs336_checks.pictures import MOST_COLUMNS, MOST_ROWS, error_picture
from cs336_checks.rubric import Check, Tier
from cs336_checks.snapshots import Snapshot
from cs336_grader.judging.verdict import case_result, check_result
from cs336_grader.records import Picture

TOLERANCE = Tolerance(1e-3, 0.0)
CHECK = Check("test_x", "x", Tier.CORE, "tests/test_x.py", "Is so.")


def levels(actual: object, expected: object) -> list[str]:
    """The rows of the picture of two arrays."""
    picture = error_picture(actual, expected, TOLERANCE)
    assert picture is not None
    rows = picture["levels"]
    assert isinstance(rows, list)
    return rows


def test_levels_are_half_powers_of_ten_of_the_tolerance() -> None:
    """0 is within it, 9 is hopeless, NaN where a number belongs is hopeless too."""
    errors = [0.0, 0.0009, 0.002, 0.005, 0.05, 0.5, 50.0, np.nan, np.inf]
    assert levels(np.array(errors), np.zeros(9)) == ["001246999"]


def test_numbers_that_are_no_numbers_in_both_are_right() -> None:
    """Infinity and NaN agree with themselves."""
    same = np.array([np.inf, -np.inf, np.nan])
    assert levels(same, same.copy()) == ["000"]


def test_leading_axes_are_one_side() -> None:
    """They run down, or across where they are the longer side; words say which axis is where."""
    expected = torch.zeros(3, 2, 8)
    actual = expected.clone()
    actual[1, 1, 2] = 1.0
    empty = "0" * 8
    assert error_picture(actual, expected, TOLERANCE) == {
        "shape": [3, 2, 8],
        "rows": "axes 0, 1 (3 by 2)",
        "columns": "axis 2 (8)",
        "levels": [empty, empty, empty, "00700000", empty, empty],
    }
    assert error_picture(actual[..., :3], expected[..., :3], TOLERANCE) == {
        "shape": [3, 2, 3],
        "rows": "axis 2 (3)",
        "columns": "axes 0, 1 (3 by 2)",
        "levels": ["000000", "000000", "000700"],
    }


def test_a_cell_of_many_elements_shows_the_worst() -> None:
    """One wrong element among a million is seen."""
    actual, expected = np.zeros((1000, 1000)), np.zeros((1000, 1000))
    actual[-1, -1] = 1.0
    found = levels(actual, expected)
    assert len(found) <= MOST_ROWS
    assert found[-1][-1] == "7"
    assert sum(row.count("0") for row in found) == len(found) * len(found[0]) - 1


@pytest.mark.parametrize(
    ("actual", "expected"), [(1.0, 2.0), (np.zeros(3), np.zeros(4)), ("x", np.zeros(3)), ([1], [2])]
)
def test_what_cannot_be_laid_side_by_side_has_no_picture(actual: object, expected: object) -> None:
    """Other shapes, single numbers and texts are told in words alone."""
    assert error_picture(actual, expected, TOLERANCE) is None


@settings(deadline=None, max_examples=50)
@given(arrays.arrays(np.float64, arrays.array_shapes(max_dims=3, max_side=60)), st.floats())
def test_any_arrays(expected: np.ndarray[tuple[int, ...], np.dtype[np.float64]], by: float) -> None:
    """The picture is small and all digits, whatever the numbers are."""
    with np.errstate(all="ignore"):
        actual = expected + by
    if expected.size < 2:
        assert error_picture(actual, expected, TOLERANCE) is None
        return
    rows = levels(actual, expected)
    assert 0 < len(rows) <= MOST_ROWS
    assert len({len(row) for row in rows}) == 1
    assert all(len(row) <= MOST_COLUMNS and row.isdecimal() for row in rows)


def test_the_picture_reaches_the_result() -> None:
    """What the comparison drew is in the record of the check."""
    snapshot = Snapshot("test_x", "Is right.", None, exact=False)
    with pytest.raises(CheckFailedError) as failure:
        snapshot.assert_close(torch.ones(2), torch.zeros(2))
    found = check_result(CHECK, [case_result("test_x", failure.value)], 0.1)
    assert found.picture == Picture((2,), "a single row", "axis 0 (2)", ("99",))
