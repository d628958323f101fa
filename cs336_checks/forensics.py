"""Describes a wrong tensor beside the right one, where that holds for all of it.

Each question below returns one sentence or nothing. The first that returns a sentence is told.
"""

import re
from collections.abc import Callable
from itertools import permutations

import numpy as np
import numpy.typing as npt
import torch

from .comparison import Comparison
from .differences import Array, Numbers, Tolerance, as_array, errors, rounding, share
from .forensics_lists import examine_list

# Fewer different numbers than this have too many likenesses.
ENOUGH_NUMBERS = 4
# Axes of larger tensors are not tried in every order.
MOST_AXES = 5
# An axis of more slices than this is not searched for a new order.
LONGEST_ORDER = 64
# Memory that nobody wrote to holds numbers like these.
HUGE, TINY = 1e20, 1e-30
# A check of numbers that float16 hardly holds says so in its name.
FLOAT16 = re.compile(r"(?<!b)float16")

Places = npt.NDArray[np.bool_]


def examine(comparison: Comparison) -> str:
    """Return what a failed comparison's value looks like, or an empty text."""
    actual, expected = comparison.actual, comparison.expected[0]
    if isinstance(expected, list):
        return examine_list(actual, expected)
    got, wanted = as_array(actual), as_array(expected)
    if got is None or wanted is None or not telling(wanted) or got.dtype.kind not in "biuf":
        return ""
    half = got.dtype == np.float16 or FLOAT16.search(comparison.check) is not None
    pair = Pair(got, wanted, comparison.tolerance, half=half)
    questions = QUESTIONS if got.shape == wanted.shape else QUESTIONS_OF_SHAPE
    with np.errstate(all="ignore"):
        return next(filter(None, (question(pair) for question in questions)), "")


def telling(array: Array) -> bool:
    """Return True if an array has enough different numbers for a likeness to mean something."""
    return array.dtype.kind in "iuf" and np.unique(array).size >= ENOUGH_NUMBERS


class Pair:
    """A value that came, and the expected one.

    Attributes:
        got: what came.
        wanted: what is expected.
        half: whether something of it is in float16.
    """

    def __init__(
        self, got: Array, wanted: Array, tolerance: Tolerance, *, half: bool = False
    ) -> None:
        self.got: Numbers = got.astype(np.float64)
        self.wanted: Numbers = wanted.astype(np.float64)
        self.tolerance = tolerance
        self.half = half
        self.noise = rounding(self.wanted)

    def near(self, got: Numbers, wanted: Numbers) -> Places:
        """Where numbers agree within the tolerance."""
        return np.asarray(errors(got, wanted) <= self.tolerance.allowed(wanted) + self.noise)

    def agrees(self, got: Numbers, wanted: Numbers) -> bool:
        """Return True if all numbers do, and there are enough of them."""
        return got.shape == wanted.shape and telling(wanted) and bool(self.near(got, wanted).all())


def in_another_order(pair: Pair) -> str:
    """Axes transposed or permuted."""
    axes = tuple(range(pair.wanted.ndim))
    if len(axes) > MOST_AXES:
        return ""
    for order in permutations(axes):
        if order != axes and pair.agrees(pair.got, pair.wanted.transpose(order)):
            moved = [axis for axis in axes if order[axis] != axis]
            if len(moved) == 2:
                swapped = f"axes {moved[0]} and {moved[1]} are swapped"
                return f"Your output is right but transposed: {swapped}."
            return f"Your output is right, but its axes are in the order {list(order)}."
    return ""


def reshaped(pair: Pair) -> str:
    """Return a sentence if the numbers are the same in one row, in another shape."""
    if pair.agrees(pair.got.reshape(-1), pair.wanted.reshape(-1)):
        return "The numbers are right, and in the right order: only the shape is another."
    return ""


def one_slice(pair: Pair) -> str:
    """Only one index of an axis was returned."""
    for axis in range(pair.wanted.ndim):
        for index, name in ((-1, "last"), (0, "first")):
            part = np.take(pair.wanted, [index], axis).squeeze(axis)
            for kept in (part, np.expand_dims(part, axis)):
                if pair.agrees(pair.got, kept):
                    return (
                        f"Your output is only the {name} index of axis {axis} of what is asked for."
                    )
    return ""


def overflowed(pair: Pair) -> str:
    """Zero or infinite where it is wrong, as what is too large for float16 leaves it."""
    wrong = ~pair.near(pair.got, pair.wanted)
    lost = (pair.got == 0) | ~np.isfinite(pair.got)
    if not pair.half or not wrong.any() or not lost[wrong].all():
        return ""
    return (
        "Where your output is wrong, it is zero or not finite: is something of it computed in"
        " float16, which holds no number above 65,504?"
    )


def not_a_number(pair: Pair) -> str:
    """Where NaN comes from, as far as its places tell."""
    bad = ~np.isfinite(pair.got) & np.isfinite(pair.wanted)
    if not bad.any():
        return ""
    if bad.all():
        return "All numbers of your output are NaN or infinite."
    for axis in range(bad.ndim):
        others = tuple(i for i in range(bad.ndim) if i != axis)
        anywhere, throughout = np.asarray(bad.any(others)), np.asarray(bad.all(others))
        if (anywhere == throughout).all():
            first = int(anywhere.argmax())
            if anywhere[first:].all() and first:
                return f"From index {first} of axis {axis} on, all numbers are NaN or infinite."
            where = np.flatnonzero(anywhere).tolist()
            if len(where) == 1:
                place = f"index {where[0]} of axis {axis}"
                return f"All numbers at {place} are NaN or infinite, and no others."
    rows = np.asarray(bad.any(-1))
    if (rows == bad.all(-1)).all():
        return (
            f"{share(rows).replace('elements', 'rows')} are NaN or infinite, and no numbers of"
            " other rows. Is everything masked in these rows, or is something divided by zero?"
        )
    return ""


def empty(pair: Pair) -> str:
    """All zeros, or one number everywhere."""
    if not pair.got.any():
        return "Your output is zero everywhere."
    if pair.near(pair.got, np.full_like(pair.got, pair.got.flat[0])).all():
        return "Your output is the same number everywhere."
    return ""


def unwritten(pair: Pair) -> str:
    """Memory that was never written."""
    size = np.abs(pair.got)
    strange = (size > HUGE) | ((size > 0) & (size < TINY))
    usual = np.abs(pair.wanted)
    if strange.any() and not ((usual > HUGE) | ((usual > 0) & (usual < TINY))).any():
        return (
            "Some numbers are absurdly large or small, as in memory that was never written: is"
            " something made with torch.empty and not filled?"
        )
    return ""


def negated(pair: Pair) -> str:
    """The sign."""
    if pair.agrees(pair.got, -pair.wanted):
        return "Your output has the wrong sign: every number is the negative of the right one."
    return ""


def scaled(pair: Pair) -> str:
    """One factor."""
    wanted, got = pair.wanted, pair.got
    clear = np.isfinite(wanted) & (np.abs(wanted) > 100 * pair.tolerance.allowed(wanted))
    if np.unique(wanted[clear]).size < ENOUGH_NUMBERS:
        return ""
    factor = float((got[clear] * wanted[clear]).sum() / np.square(wanted[clear]).sum())
    if not np.isfinite(factor) or abs(factor) < 1e-3:
        return ""
    allowed = min(abs(factor), 1.0) * (pair.tolerance.allowed(wanted) + pair.noise)
    if (errors(got, factor * wanted) <= allowed).all():
        times = f"{factor:.6g} times as large"
        return f"Your output is right except for a factor: every number is {times}."
    return ""


def moved(pair: Pair) -> str:
    """One summand."""
    finite = np.isfinite(pair.wanted) & np.isfinite(pair.got)
    if not finite.all():
        return ""
    summand = float(np.mean(pair.got - pair.wanted))
    if pair.agrees(pair.got - summand, pair.wanted):
        direction = "larger" if summand > 0 else "smaller"
        return f"Every number of your output is {abs(summand):.6g} {direction} than it should be."
    return ""


def shifted(pair: Pair) -> str:
    """One step along an axis; what comes in at the border may be anything."""
    for axis in range(pair.wanted.ndim):
        length = pair.wanted.shape[axis]
        if length < 3:
            continue
        later, earlier = np.arange(1, length), np.arange(length - 1)
        for mine, theirs, word in ((later, earlier, "late"), (earlier, later, "early")):
            if pair.agrees(pair.got.take(mine, axis), pair.wanted.take(theirs, axis)):
                step = f"along axis {axis}, all comes one step too {word}"
                return f"Your output is right but shifted: {step}."
    return ""


def reordered(pair: Pair) -> str:
    """The slices of an axis in another order."""
    for axis in range(pair.wanted.ndim):
        length = pair.wanted.shape[axis]
        if not 2 <= length <= LONGEST_ORDER:
            continue
        order = order_of_slices(pair, axis)
        if order is None or order == list(range(length)):
            continue
        if order == list(reversed(range(length))):
            return f"Your output is right but reversed along axis {axis}."
        shown = ", ".join(map(str, order[:12])) + (", …" if length > 12 else "")
        return f"Along axis {axis}, what is right comes in another order: {shown}."
    return ""


def order_of_slices(pair: Pair, axis: int) -> list[int] | None:
    """Which right slice each slice is, if each is another one."""
    got, wanted = np.moveaxis(pair.got, axis, 0), np.moveaxis(pair.wanted, axis, 0)
    free = list(range(len(wanted)))
    order: list[int] = []
    for part in got:
        found = next((i for i in free if pair.agrees(part, wanted[i])), None)
        if found is None:
            return None
        free.remove(found)
        order.append(found)
    return order


def wrong_in_one_slice(pair: Pair) -> str:
    """Right but for one index of an axis: a border, a position, a head."""
    right = pair.near(pair.got, pair.wanted)
    for axis in range(right.ndim):
        length = right.shape[axis]
        others = tuple(i for i in range(right.ndim) if i != axis)
        good = right.all(others)
        if length < 3 or good.sum() != length - 1 or not telling(np.take(pair.wanted, [0], axis)):
            continue
        index = int(good.argmin())
        return f"Your output is wrong only at index {index} of axis {axis}, which has {length}."
    return ""


def right_in_one_slice(pair: Pair) -> str:
    """Right only at the first index of an axis: one row of a batch, one position, one head."""
    right = pair.near(pair.got, pair.wanted)
    for axis in range(right.ndim):
        length = right.shape[axis]
        others = tuple(i for i in range(right.ndim) if i != axis)
        good = np.asarray(right.all(others))
        if length > 1 and good.sum() == 1 and good[0]:
            rest = right.take(np.arange(1, length), axis)
            if rest.mean() < 0.5 and telling(np.take(pair.wanted, [0], axis)):
                return f"Your output is right only at index 0 of axis {axis}, which has {length}."
    return ""


def coarse(pair: Pair) -> str:
    """Right to the precision of a smaller floating-point type."""
    if not (np.isfinite(pair.got).all() and np.isfinite(pair.wanted).all()):
        return ""
    for dtype, digits in ((torch.float16, 2**-10), (torch.bfloat16, 2**-7)):
        there = torch.from_numpy(pair.got)
        back = there.to(dtype).double().numpy()
        close = np.abs(pair.got - pair.wanted) <= digits * np.abs(pair.wanted) + pair.noise
        if np.array_equal(back, pair.got) and close.all():
            name = str(dtype).removeprefix("torch.")
            return (
                f"Your output is right to the precision of {name}, and holds only numbers that"
                f" {name} has: is something converted to it?"
            )
    return ""


QUESTIONS: tuple[Callable[[Pair], str], ...] = (
    *(
        overflowed,
        not_a_number,
        empty,
        unwritten,
        negated,
        scaled,
        moved,
        in_another_order,
        shifted,
    ),
    *(reordered, wrong_in_one_slice, right_in_one_slice, coarse),
)
QUESTIONS_OF_SHAPE: tuple[Callable[[Pair], str], ...] = (in_another_order, reshaped, one_slice)
