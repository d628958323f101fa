"""Differences between two values, in words.

Facts come in one order: kind, then shape, dtype, NaN, and only then how many numbers differ and by
how much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

# Of a comparison that failed, this many places are shown.
SHOWN = 5
# So many characters of a single item are shown.
ITEM = 60
# Around the first difference of two sequences, this many items are shown on either side.
CONTEXT = 4
# So many pieces of text are shown where two lists of token ids part.
PIECES = 3
# So many characters of two texts are shown on either side of where they part.
TEXT = 20

# Equivalent float32 computations differ by about this much of the largest number.
ROUNDING = 1e-6

Array = npt.NDArray[np.generic]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tolerance:
    """A number may differ from what is expected by ``atol + rtol * abs(expected)``."""

    atol: float
    rtol: float

    def allowed(self, expected: Array) -> Numbers:
        """The largest error allowed at each place of the expected array."""
        magnitude = np.abs(np.nan_to_num(expected.astype(np.float64), posinf=0.0, neginf=0.0))
        return np.asarray(self.atol + self.rtol * magnitude)


def as_array(value: object) -> Array | None:
    """The value as a NumPy array if it is a tensor, an array or a number, else None."""
    if isinstance(value, torch.Tensor):
        tensor = value.detach()
        if tensor.device.type == "meta":
            return None
        # NumPy has no bfloat16; float32 holds each of its values exactly.
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return np.asarray(value)
    return None


def dtype_name(value: object) -> str:
    """The dtype as people write it: ``float32``, ``bfloat16``, ``int64``."""
    dtype = getattr(value, "dtype", type(value).__name__)
    return str(dtype).removeprefix("torch.")


def difference(
    actual: object,
    expected: object,
    tolerance: Tolerance,
    *,
    same_dtype: bool = False,
    reveal: bool = False,
    meaning: Mapping[int, bytes] | None = None,
) -> str | None:
    """Return what differs between the actual and the expected value, or None if nothing does.

    Args:
        actual: what the submission returned.
        expected: a tensor or array (compared as numbers), or a list (compared item by item).
        tolerance: how far numbers may differ.
        same_dtype: whether, say, float64 is a failure where float32 is expected. Otherwise only
            the kind matters: floating point, integer or boolean.
        reveal: whether the text may show expected values.
        meaning: the bytes that each integer of a list stands for, as a token id does.
    """
    if isinstance(expected, list):
        return sequence_difference(actual, expected, meaning, reveal=reveal)
    wanted = as_array(expected)
    if wanted is None:
        raise TypeError(f"cannot compare with a {type(expected).__name__}")
    got = as_array(actual)
    if got is None:
        return f"A tensor is expected; yours is {of_kind(actual)}"
    if got.shape != wanted.shape:
        return f"Shape {tuple(wanted.shape)} is expected; yours is {tuple(got.shape)}."
    if same_dtype and dtype_name(actual) != dtype_name(expected):
        return f"dtype {dtype_name(expected)} is expected; yours is {dtype_name(actual)}."
    if number_kind(got) != number_kind(wanted):
        return (
            f"A tensor of {number_kind(wanted)} numbers is expected; yours is {dtype_name(actual)}."
        )
    return number_difference(got, wanted, tolerance, reveal=reveal)


def distance(
    actual: object, expected: object, tolerance: Tolerance, *, same_dtype: bool = False
) -> float:
    """The largest error as a multiple of what is allowed at its place.

    It is infinite where more is wrong than numbers, as with a shape, NaN or an item of a list.
    """
    anything = Tolerance(np.inf, 0.0)
    if difference(actual, expected, anything, same_dtype=same_dtype) is not None:
        return np.inf
    got, wanted = as_array(actual), as_array(expected)
    if got is None or wanted is None:
        return 0.0
    error = errors(got.astype(np.float64), wanted.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        multiples = np.where(error == 0.0, 0.0, error / tolerance.allowed(wanted))
    return float(multiples.max(initial=0.0))


def of_kind(value: object) -> str:
    """Return what a value is, as the end of a sentence, and the likely cause."""
    return "None. Is a return statement missing?" if value is None else f"{kind(value)}."


def kind(value: object) -> str:
    """Return what a value is, in words for a failure."""
    if isinstance(value, torch.Tensor):
        return f"a tensor on the {value.device.type} device"
    return f"of type {getattr(value, 'type_name', type(value).__name__)}"


def number_kind(array: Array) -> str:
    """Boolean, integer or floating-point; of anything else, the dtype."""
    names = {"b": "boolean", "i": "integer", "u": "integer", "f": "floating-point"}
    return names.get(array.dtype.kind, str(array.dtype))


def number_difference(
    got: Array, wanted: Array, tolerance: Tolerance, *, reveal: bool
) -> str | None:
    """Return what differs between two arrays of one shape and kind, or None."""
    actual, expected = got.astype(np.float64), wanted.astype(np.float64)
    error = errors(actual, expected)
    unexpected = ~np.isfinite(actual) & (error > 0)
    if unexpected.any():
        nan = bool(np.isnan(actual[unexpected]).all())
        if unexpected.size == 1:
            return f"The number is {'NaN' if nan else 'infinite'}."
        names = "NaN" if nan else "NaN or infinity"
        return f"{share(unexpected)} are {names}, first at {place(first(unexpected))}."
    allowed = tolerance.allowed(wanted)
    wrong = error > allowed
    if not wrong.any():
        return None
    if wrong.size == 1:
        facts = f"The number is off by {error.item():.3g}, where {allowed.item():.1g} is allowed."
        both = f"\n  yours {actual.item():.6g}, expected {expected.item():.6g}"
        return facts + both if reveal else facts
    worst = np.unravel_index(int(np.argmax(np.where(wrong, error, 0.0))), error.shape)
    facts = (
        f"{share(wrong)} differ, largest error {error[worst]:.3g}"
        f" where {allowed[worst]:.1g} is allowed; mean error {error[wrong].mean():.3g}."
    )
    return facts + "\n" + places(actual, expected, wrong, reveal=reveal)


def errors(actual: Numbers, expected: Numbers) -> Numbers:
    """The error at each place: none where both are NaN, infinite where only one is."""
    with np.errstate(invalid="ignore"):
        error = np.abs(actual - expected)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))


def rounding(numbers: Numbers) -> float:
    """How far apart equivalent computations of these may be; never nothing."""
    finite = np.abs(numbers[np.isfinite(numbers)])
    return ROUNDING * float(finite.max(initial=0.0)) + np.finfo(np.float64).tiny


def share(where: npt.NDArray[np.bool_]) -> str:
    """How many of how many elements: ``1,024 of 1,536 elements (66.7 %)``."""
    count = int(where.sum())
    return f"{count:,} of {where.size:,} elements ({100 * count / where.size:.1f} %)"


def first(where: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The first place that is true."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(where)), where.shape))


def place(index: Sequence[int]) -> str:
    """An index as people write it: ``[0, 2, 5]``."""
    return str(list(index))


def places(
    actual: Numbers,
    expected: Numbers,
    wrong: npt.NDArray[np.bool_],
    *,
    reveal: bool,
) -> str:
    """The first places that differ, with both numbers where they may be shown."""
    indices = [tuple(map(int, index)) for index in np.argwhere(wrong)[:SHOWN]]
    if not reveal:
        return "First places that differ: " + ", ".join(place(index) for index in indices) + "."
    lines = [
        f"  {place(index)}: yours {actual[index]:.6g}, expected {expected[index]:.6g}"
        for index in indices
    ]
    return "First places that differ:\n" + "\n".join(lines)


def sequence_difference(
    actual: object,
    expected: list[object],
    meaning: Mapping[int, bytes] | None,
    *,
    reveal: bool,
) -> str | None:
    """Return the first difference between two lists, with what stands around it."""
    if isinstance(actual, torch.Tensor | np.ndarray):
        actual = actual.tolist()
    if not isinstance(actual, list | tuple):
        return f"A list is expected; yours is {of_kind(actual)}"
    got, wanted = with_tuples(actual), with_tuples(expected)
    if got == wanted and all(same_kind(a, e) for a, e in zip(got, wanted, strict=True)):
        return None
    shorter = min(len(got), len(wanted))
    at = next(
        (i for i in range(shorter) if got[i] != wanted[i] or not same_kind(got[i], wanted[i])),
        shorter,
    )
    facts = f"The first difference is at item {at} of {len(wanted)}"
    facts += f"; yours has {len(got)} items." if len(got) != len(wanted) else "."
    if meaning is None and at < len(got):
        facts = f"{facts} Yours is {clipped(got[at], ITEM)}."
    elif meaning is not None and at < len(got) and got[at] not in meaning:
        facts = f"{facts} Yours is {clipped(got[at], ITEM)}, an id that the given vocabulary lacks."
    elif meaning is not None:
        facts = f"{facts} {in_pieces(got, wanted, at, meaning, reveal=reveal)}"
    around = slice(max(0, at - CONTEXT), at + CONTEXT + 1)
    facts += f"\n  yours:    {clipped(got[around])}"
    if reveal:
        facts += f"\n  expected: {clipped(wanted[around])}"
    return facts


def in_pieces(
    got: list[object],
    wanted: list[object],
    at: int,
    meaning: Mapping[int, bytes],
    *,
    reveal: bool,
) -> str:
    """Return a sentence on the pieces of text that two lists of token ids go on with."""

    def piece(item: object) -> bytes:
        return meaning.get(item, b"?") if isinstance(item, int) else b"?"

    def pieces(ids: list[object]) -> str:
        shown = [repr(piece(item).decode("utf-8", "replace")) for item in ids[at : at + PIECES]]
        return ", ".join(shown) or "nothing"

    before = b"".join(map(piece, wanted[max(0, at - CONTEXT) : at])).decode("utf-8", "replace")
    after = f"After {before!r}, yours" if before else "Yours"
    where = f" where {pieces(wanted)} is expected" if reveal else ""
    return f"{after} goes on with {pieces(got)}{where}."


def text_difference(actual: object, expected: str, *, reveal: bool) -> str:
    """Return a sentence on where a text differs from the expected one."""
    if not isinstance(actual, str):
        return f"A text is expected; yours is {of_kind(actual)}"
    pairs = zip(actual, expected, strict=False)
    shorter = min(len(actual), len(expected))
    at = next((i for i, (a, e) in enumerate(pairs) if a != e), shorter)
    before = f"After {expected[max(0, at - TEXT) : at]!r}, yours" if at else "Yours"
    got, wanted = (
        repr(text[at : at + TEXT]) if text[at:] else "nothing" for text in (actual, expected)
    )
    where = f" where {wanted} is expected" if reveal else ""
    return f"{before} goes on with {got}{where}."


def with_tuples(items: Sequence[object]) -> list[object]:
    """The items, with lists as tuples: JSON keeps no difference between the two."""
    return [tuple(item) if isinstance(item, list) else item for item in items]


def same_kind(actual: object, expected: object) -> bool:
    """Return True if two items are equal and of one type: 1 is neither True nor 1.0."""
    if isinstance(actual, tuple) and isinstance(expected, tuple):
        return all(map(same_kind, actual, expected))
    return isinstance(actual, bool) == isinstance(expected, bool) and isinstance(
        actual, float
    ) == isinstance(expected, float)


def clipped(value: object, limit: int = 400) -> str:
    """The value's text, cut at a limit."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
