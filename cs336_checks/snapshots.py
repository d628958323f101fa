"""Expected values: where they are kept, and the one fixture every comparison goes through."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from .comparison import CheckFailedError, Comparison, Explanation
from .differences import Array, Tolerance, as_array, kind, text_difference
from .pictures import error_picture

DEFAULT_ATOL = 1e-4
DEFAULT_RTOL = 1e-4

Entries = dict[str, Array]


class ExpectedValues(Protocol):
    """Keeps what the reference returned in each check.

    Attributes:
        recording: whether values are being recorded instead of compared.
        reveal: whether a failure may show expected values.
    """

    recording: bool
    reveal: bool

    def load(self, check: str, name: str) -> Array | None:
        """One of the entries recorded for a check, or None if there is none of the name."""

    def save(self, check: str, entries: Entries) -> None:
        """Record a check's entries."""


class Observer(Protocol):
    """Is shown every comparison of a run, none of which fails then."""

    def observe(self, comparison: Comparison) -> None:
        """Look at a comparison; its values may change afterwards."""


class SnapshotFolder:
    """Expected values in ``.npz`` files, one a check."""

    reveal = True

    def __init__(self, folder: Path, *, recording: bool) -> None:
        self.folder = folder
        self.recording = recording
        self.written: list[str] = []

    def path(self, check: str) -> Path:
        """The file of a check; characters that some file systems refuse become ``-``."""
        return self.folder / (re.sub(r"[^\w.\[\]=+-]", "-", check) + ".npz")

    def load(self, check: str, name: str) -> Array | None:
        """One of the entries saved for a check, or None if there is none of the name."""
        return self.entries(check).get(name)

    def entries(self, check: str) -> Entries:
        """The entries saved for a check."""
        if not self.path(check).exists():
            return {}
        with np.load(self.path(check), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def save(self, check: str, entries: Entries) -> None:
        """Write a check's entries, unless the file already holds exactly these."""
        if equal_entries(self.entries(check), entries):
            return
        self.folder.mkdir(exist_ok=True)
        with self.path(check).open("wb") as file:
            np.savez_compressed(file, **entries)  # type: ignore[arg-type]  # numpy's stub
        self.written.append(check)

    def unused(self, checks: set[str]) -> list[Path]:
        """Files that belong to none of the checks."""
        used = {self.path(check) for check in checks}
        return sorted(path for path in self.folder.glob("*") if path not in used)


def equal_entries(one: Entries, other: Entries) -> bool:
    """Return True if two sets of entries are the same to the bit."""
    return one.keys() == other.keys() and all(
        (one[name].dtype, one[name].shape, one[name].tobytes())
        == (other[name].dtype, other[name].shape, other[name].tobytes())
        for name in one
    )


class Snapshot:
    """Compares what a check got with what is expected.

    Args:
        check: the check's name with its parameters.
        requirement: the check's docstring, the first line of every failure.
        expected_values: where the reference's values are kept, or None where there are none.
        observer: is shown the comparisons instead, if there is one.
        explain: explains a failed comparison, if it can.
        exact: whether every tolerance is taken as zero.
    """

    def __init__(
        self,
        check: str,
        requirement: str,
        expected_values: ExpectedValues | None,
        observer: Observer | None = None,
        explain: Callable[[Comparison], Explanation | None] = lambda _: None,
        *,
        exact: bool = False,
    ) -> None:
        self.check = check
        self.requirement = requirement
        self.expected_values = expected_values
        self.observer = observer
        self.explain = explain
        self.exact = exact
        self.entries: Entries = {}
        self.seen: set[str] = set()
        self.compared = 0

    def assert_match(
        self,
        actual: object,
        name: str = "output",
        *,
        atol: float = DEFAULT_ATOL,
        rtol: float = DEFAULT_RTOL,
        same_dtype: bool = False,
    ) -> None:
        """Compare with what the reference returned in this check.

        Args:
            actual: a tensor or array, or a list of integers, texts, bytes or tuples of them.
            name: tells the values apart where a check compares several.
            atol: the absolute error allowed.
            rtol: the error allowed relative to the expected number.
            same_dtype: whether the dtype must be the same, not only of the same kind.

        Raises:
            CheckFailedError: it differs.
        """
        __tracebackhide__ = True
        if self.expected_values is None:
            pytest.skip("expected values are saved for seed 0 only")
        if name in self.seen:
            raise ValueError(f"{self.check} compares {name!r} twice")
        self.seen.add(name)
        if self.expected_values.recording:
            self.entries[name] = encode(actual)
            return
        saved = self.expected_values.load(self.check, name)
        if saved is None:
            step = "write it: pytest --update-snapshots"
            pytest.fail(f"no snapshot holds {name!r} of {self.check}; {step}")
        right = (decode(saved),)
        self.compare(name, actual, right, self.tolerance(atol, rtol), same_dtype=same_dtype)

    def assert_close(
        self,
        actual: object,
        expected: object,
        name: str = "output",
        *,
        alternatives: tuple[object, ...] = (),
        atol: float = DEFAULT_ATOL,
        rtol: float = DEFAULT_RTOL,
        same_dtype: bool = False,
        meaning: Mapping[int, bytes] | None = None,
    ) -> None:
        """Compare with a value that an outside oracle or a law gives.

        Args:
            actual: as in ``assert_match``.
            expected: the value that is explained when nothing matches.
            name: what is compared, in words.
            alternatives: other values that are just as right.
            atol: the absolute error allowed.
            rtol: the error allowed relative to the expected number.
            same_dtype: whether the dtype must be the same, not only of the same kind.
            meaning: the bytes that each integer of a list stands for, as a token id does.

        Raises:
            CheckFailedError: it differs from all of them.
        """
        __tracebackhide__ = True
        right = (expected, *alternatives)
        self.compare(
            name, actual, right, self.tolerance(atol, rtol), same_dtype=same_dtype, meaning=meaning
        )

    def assert_text(self, actual: object, expected: str, sentence: str) -> None:
        """Compare a text, and show where the two part.

        Args:
            actual: the text that came.
            expected: the right one.
            sentence: the requirement that it does not meet otherwise.

        Raises:
            CheckFailedError: it is another text, or none.
        """
        __tracebackhide__ = True
        if isinstance(actual, str) and actual == expected:
            return
        told = text_difference(actual, expected, reveal=self.reveal)
        raise CheckFailedError(f"{sentence} {told}", self.requirement)

    def compare(
        self,
        name: str,
        actual: object,
        expected: tuple[object, ...],
        tolerance: Tolerance,
        *,
        same_dtype: bool,
        meaning: Mapping[int, bytes] | None = None,
    ) -> None:
        """Raise a failure that begins with the requirement, if there are facts."""
        __tracebackhide__ = True
        comparison = Comparison(
            self.check, name, actual, expected, tolerance, same_dtype, self.compared, meaning
        )
        self.compared += 1
        if self.observer is not None:
            self.observer.observe(comparison)
            return
        facts = comparison.facts(reveal=self.reveal)
        if facts is None:
            return
        where = "" if name == "output" else f"{name}: "
        if comparison.is_oversized():
            raise CheckFailedError(where + facts, self.requirement)
        picture = error_picture(actual, expected[0], tolerance)
        raise CheckFailedError(
            where + facts, self.requirement, comparison, picture, self.explain(comparison)
        )

    @property
    def reveal(self) -> bool:
        """True if a failure may show expected values: they are public where none are secret."""
        return self.expected_values is None or self.expected_values.reveal

    def tolerance(self, atol: float, rtol: float) -> Tolerance:
        """The tolerance asked for, or zero where the run asks for exactness."""
        return Tolerance(0.0, 0.0) if self.exact else Tolerance(atol, rtol)

    def finish(self) -> None:
        """Save what was recorded."""
        if self.expected_values is not None and self.entries:
            self.expected_values.save(self.check, self.entries)


def encode(value: object) -> Array:
    """A value as an array that ``.npz`` holds without pickling.

    Lists become the bytes of a JSON text, in which bytes are written as Latin-1.
    """
    if isinstance(value, list | tuple):
        text = json.dumps(value, default=lambda item: {"bytes": item.decode("latin-1")})
        return np.frombuffer(text.encode(), dtype=np.dtype("S1"))
    array = as_array(value)
    if array is None:
        raise TypeError(f"no snapshot can hold a value that is {kind(value)}")
    return array.copy()


def decode(array: Array) -> object:
    """The value that ``encode`` made the array from; tuples come back as lists."""
    if array.dtype.kind != "S":
        return array
    return json.loads(array.tobytes(), object_hook=lambda item: item["bytes"].encode("latin-1"))
