"""A wrong tensor or list is told what it looks like, if all of it looks like that."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cs336_checks.comparison import Comparison
from cs336_checks.differences import Tolerance
from cs336_checks.forensics import examine

TOLERANCE = Tolerance(1e-4, 1e-4)
SEEDS = st.integers(0, 2**32 - 1)
SIDES = st.integers(3, 6)
FEW_EXAMPLES = settings(max_examples=25, deadline=None)


def told(actual: object, expected: object, tolerance: Tolerance = TOLERANCE) -> str:
    """What is told of a value beside the expected one."""
    return examine(Comparison("test_x.test_y", "output", actual, (expected,), tolerance))


def numbers(seed: int, *shape: int) -> Tensor:
    """Numbers that have nothing to do with any other seed's."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def noise(x: Tensor) -> Tensor:
    """What another order of summation leaves."""
    return x * (1 + 1e-7 * torch.sign(torch.sin(torch.arange(x.numel()).reshape(x.shape))))


CHANGES: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "transposed": (lambda x: x.transpose(1, 2), "transposed: axes 1 and 2 are swapped"),
    "permuted": (lambda x: x.permute(2, 0, 1), "axes are in the order [2, 0, 1]"),
    "reshaped": (lambda x: x.reshape(-1), "only the shape is another"),
    "last": (lambda x: x[:, -1], "only the last index of axis 1"),
    "negated": (lambda x: -x, "the negative of the right one"),
    "scaled": (lambda x: 0.125 * x, "every number is 0.125 times as large"),
    "moved": (lambda x: x + 0.5, "is 0.5 larger than it should be"),
    "late": (
        lambda x: torch.cat([7 * x[:, :1] + 1, x[:, :-1]], 1),
        "along axis 1, all comes one step too late",
    ),
    "early": (
        lambda x: torch.cat([x[..., 1:], 7 * x[..., :1] + 1], -1),
        "along axis 2, all comes one step too early",
    ),
    "reversed": (lambda x: x.flip(1), "reversed along axis 1"),
    "reordered": (
        lambda x: x[..., [1, 0, *range(2, x.shape[-1])]],
        "Along axis 2, what is right comes in another order: 1, 0, 2",
    ),
    "border": (
        lambda x: torch.cat([x[:, :-1], x[:, -1:] * 3 + 1], 1),
        "wrong only at index",
    ),
    "first row": (
        lambda x: torch.cat([x[:1], x[1:].sin() * 3 + 1]),
        "right only at index 0 of axis 0",
    ),
    "zeros": (torch.zeros_like, "zero everywhere"),
    "constant": (lambda x: torch.full_like(x, 0.2), "the same number everywhere"),
    "half precision": (lambda x: x.bfloat16().float(), "right to the precision of bfloat16"),
    "unwritten": (lambda x: x.clone().index_fill_(0, torch.tensor([0]), 1e33), "never written"),
    "all NaN": (lambda x: x / 0 * 0, "All numbers of your output are NaN"),
    "NaN from a position on": (
        lambda x: torch.cat([x[:, :1], x[:, 1:] * torch.nan], 1),
        "From index 1 of axis 1 on, all numbers are NaN",
    ),
    "NaN at one position": (
        lambda x: torch.cat([x[:, :1] * torch.nan, x[:, 1:]], 1),
        "All numbers at index 0 of axis 1",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@FEW_EXAMPLES
@given(seed=SEEDS, shape=st.tuples(SIDES, SIDES, SIDES))
def test_a_changed_tensor_is_recognised(name: str, seed: int, shape: tuple[int, int, int]) -> None:
    """Whatever its numbers and its shape are, and up to rounding."""
    change, sentence = CHANGES[name]
    x = numbers(seed, *shape) + torch.arange(shape[-1]) * 0.3
    changed = change(x)
    assert sentence in told(changed if name == "half precision" else noise(changed), x)


@pytest.mark.parametrize(
    ("check", "dtype", "change", "told_of"),
    [
        ("test_y", torch.float16, torch.zeros_like, True),
        ("test_y_float16_range", torch.float32, torch.zeros_like, True),
        ("test_y[float16]", torch.float32, lambda x: x / 0, True),
        ("test_y[float16]", torch.float32, lambda x: x.index_fill(0, torch.tensor([0]), 0.0), True),
        ("test_y[float16]", torch.float32, lambda x: x + 1, False),
        ("test_y[bfloat16]", torch.float32, torch.zeros_like, False),
        ("test_y", torch.float32, torch.zeros_like, False),
    ],
)
def test_what_float16_cannot_hold_is_told(
    check: str, dtype: torch.dtype, change: Callable[[Tensor], Tensor], told_of: bool
) -> None:
    """Where all that is wrong is zero or infinite, and float16 is what the check is about."""
    x = numbers(0, 3, 4) + 5
    name = f"test_x.{check}"
    actual = change(x).to(dtype)
    told_there = examine(Comparison(name, "output", actual, (x,), Tolerance(1e-2, 1e-2)))
    assert ("no number above 65,504" in told_there) == told_of


def test_rows_of_nan_are_told() -> None:
    """As those of a mask that hides everything from a position are."""
    x = numbers(0, 3, 4, 5)
    x[0, 2] = x[2, 1] = torch.nan
    assert "2 of 12 rows (16.7 %) are NaN or infinite" in told(x, numbers(0, 3, 4, 5))


@FEW_EXAMPLES
@given(seed=SEEDS, shape=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_of_an_unrelated_tensor_nothing_is_said(seed: int, shape: list[int]) -> None:
    """A likeness must hold for all of it."""
    assert told(numbers(seed, *shape), numbers(seed + 1, *shape)) == ""


@pytest.mark.parametrize(
    "few",
    [torch.tensor(3.0), torch.tensor([True, False]), torch.zeros(9), torch.tensor([1, 2, 1, 2])],
)
def test_of_few_numbers_nothing_is_said(few: Tensor) -> None:
    """Too many changes give the same."""
    assert told(few.flip(0) if few.dim() else 2 * few, few) == ""


def test_one_change_within_the_tolerance_and_one_beyond_is_no_likeness() -> None:
    """A factor must hold for every number."""
    x = numbers(0, 4, 5)
    x[3, 4] = 0.0
    changed = 2 * x
    changed[3, 4] += 0.01
    assert told(changed, x) == ""
    changed[3, 4] = torch.nan
    assert told(changed, x) == ""


IDS = [40, 17, 99, 3, 256, 71]
MERGES = [(b" ", b"t"), (b"h", b"e"), (b" t", b"he"), (b"i", b"n"), (b"a", b"n")]


@pytest.mark.parametrize(
    ("actual", "expected", "sentence"),
    [
        (IDS[:-2], IDS, "ends 2 items early"),
        ([*IDS, 5], IDS, "goes on with 1 item more"),
        ([*IDS[:2], *IDS[3:]], IDS, "One item is missing, at 2"),
        ([*IDS[:2], 8, *IDS[2:]], IDS, "one item too many, at 2"),
        ([*IDS[:2], 8, *IDS[3:]], IDS, "Only item 2 is wrong"),
        ([i + 2 for i in IDS], IDS, "Every number is 2 too large"),
        (IDS[::-1], IDS, "in reverse order"),
        ([MERGES[1], MERGES[0], *MERGES[2:]], MERGES, "Items 0 and 1 are swapped"),
        ([*MERGES[3:], *MERGES[:3]], MERGES, "not their order, from item 0 on"),
        ([("h", "e"), ("t", "h")], MERGES, "characters where bytes are expected"),
        ([*MERGES[:2], (b"e ", b"t"), *MERGES[2:4]], MERGES, "crosses the border of a pre-token"),
        ([*MERGES[:2], (b"<|", b"end"), *MERGES[2:4]], MERGES, "a piece of a special token"),
        ([1, 2, 3, 4], IDS, ""),
        ([], IDS, ""),
        ([[1], {2}, None], IDS, ""),
        ([1], [2], ""),
    ],
)
def test_the_first_difference_of_lists_is_of_a_kind(
    actual: list[object], expected: list[object], sentence: str
) -> None:
    """Where it is of none, nothing is said."""
    found = told(actual, expected)
    assert sentence in found
    assert bool(found) == bool(sentence)


@FEW_EXAMPLES
@given(
    actual=st.lists(st.integers(0, 50_000), min_size=4),
    expected=st.lists(st.integers(50_001, 99_999), min_size=4),
)
def test_of_unrelated_ids_nothing_is_said(actual: list[int], expected: list[int]) -> None:
    """Unless all are off by the same number."""
    steps = {a - e for a, e in zip(actual, expected, strict=False)}
    if len(steps) > 1 or len(actual) != len(expected):
        assert told(actual, expected) == ""


def test_nothing_is_said_of_what_is_no_tensor() -> None:
    """It is told elsewhere."""
    assert told(None, numbers(0, 5)) == ""
    assert told(np.array(["a"] * 5), numbers(0, 5)) == ""
