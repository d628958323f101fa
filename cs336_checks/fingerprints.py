"""Results of known mistakes at seed 0, in short: enough to recognise, too little to learn from.

One file holds the sentences of all mistakes; one for each test file holds, for every comparison,
sampled elements of what each mistake that changes it gives, or a digest where that is a list.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .catalogue import Mistake
from .comparison import Comparison
from .differences import Array, Numbers, as_array, dtype_name, number_kind, with_tuples

SENTENCES = "mistakes.json"
DIGEST_BYTES = 8

Places = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """A value in short.

    Attributes:
        dtype: as people write it; "list" for a list.
        kind: boolean, integer or floating-point.
        shape: of a tensor or an array; None for a list.
        places: which elements are known, counted through all axes.
        numbers: these elements.
        digest: of a list.
    """

    dtype: str
    kind: str
    shape: tuple[int, ...] | None
    places: Places
    numbers: Numbers
    digest: bytes = b""


def fingerprint(value: object, places: Places | None = None) -> Fingerprint | None:
    """A value's fingerprint, or None if it is neither numbers nor a list.

    Args:
        value: what an adapter returned.
        places: the elements to keep; all of them by default.
    """
    if isinstance(value, list | tuple):
        nothing = np.zeros(0)
        return Fingerprint("list", "list", None, nothing.astype(np.int64), nothing, digest(value))
    array = as_array(value)
    if array is None or array.dtype.kind not in "biuf":
        return None
    chosen = np.arange(array.size) if places is None else places
    numbers = elements(array, chosen)
    return Fingerprint(dtype_name(value), number_kind(array), array.shape, chosen, numbers)


def elements(array: Array, places: Places) -> Numbers:
    """Some of an array's elements, as float64."""
    return np.asarray(array.reshape(-1)[places], dtype=np.float64)


def digest(value: list[object] | tuple[object, ...]) -> bytes:
    """A short digest of a list, in which tuples count as lists."""
    return hashlib.sha256(repr(with_tuples(value)).encode()).digest()[:DIGEST_BYTES]


class FingerprintFolder:
    """The fingerprints beside the suite; nothing of them is read before a comparison has failed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, FingerprintFile] = {}

    @cached_property
    def mistakes(self) -> dict[str, Mistake]:
        """The known mistakes, by their ids."""
        path = self.folder / SENTENCES
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return {entry["id"]: Mistake(**entry) for entry in entries}

    def file(self, check: str) -> "FingerprintFile":
        """The fingerprints of a test file, by the name of one of its checks."""
        module = check.partition(".")[0]
        if module not in self.files:
            self.files[module] = FingerprintFile.read(self.folder / f"{module}.npz")
        return self.files[module]

    def failing(self, case: str) -> set[str]:
        """Return the mistakes that fail a case."""
        return self.file(case).failing.get(case, set())

    def of(self, comparison: Comparison) -> list[tuple[Mistake, Fingerprint]]:
        """Each mistake that is wrong in a comparison, and what it gives there.

        One that an earlier comparison of the case would have found, which the submission passed, is
        left out.
        """
        file = self.file(comparison.check)
        earlier = {
            mistake
            for position in range(comparison.position)
            for mistake, _ in file.prints(comparison.check, position)
        }
        return [
            (self.mistakes[mistake], found)
            for mistake, found in file.prints(comparison.check, comparison.position)
            if mistake not in earlier and mistake in self.mistakes
        ]


@dataclass(frozen=True, eq=False)
class Group:
    """Results of some mistakes for one comparison, in one shape and dtype.

    Attributes:
        alike: a fingerprint without its numbers.
        mistakes: the ids of the mistakes.
        rows: the numbers of each, or the digest of each.
    """

    alike: Fingerprint
    mistakes: tuple[str, ...]
    rows: Array

    def prints(self) -> Iterator[tuple[str, Fingerprint]]:
        """Yield the fingerprint of each mistake, by its id."""
        for mistake, row in zip(self.mistakes, self.rows, strict=True):
            if self.alike.shape is None:
                yield mistake, replace(self.alike, digest=row.tobytes())
            else:
                yield mistake, replace(self.alike, numbers=row.astype(np.float64))

    def without(self, mistakes: Container[str]) -> "Group | None":
        """Return the group without some mistakes, or None if it has no other."""
        kept = [i for i, mistake in enumerate(self.mistakes) if mistake not in mistakes]
        if not kept:
            return None
        return replace(self, mistakes=tuple(self.mistakes[i] for i in kept), rows=self.rows[kept])


@dataclass(frozen=True, eq=False)
class FingerprintFile:
    """The fingerprints of one test file.

    Attributes:
        problems: the problem of each check, without parameters.
        groups: by the check, with its parameters, and the position of the comparison in it.
    """

    problems: dict[str, str]
    groups: dict[tuple[str, int], list[Group]]

    @cached_property
    def failing(self) -> dict[str, set[str]]:
        """The mistakes that fail each case."""
        found: dict[str, set[str]] = defaultdict(set)
        for (case, _), groups in self.groups.items():
            found[case].update(mistake for group in groups for mistake in group.mistakes)
        return dict(found)

    def prints(self, check: str, position: int) -> Iterator[tuple[str, Fingerprint]]:
        """The fingerprints of one comparison."""
        for group in self.groups.get((check, position), []):
            yield from group.prints()

    def problem(self, check: str) -> str:
        """The problem of a check with parameters; nothing where it is not known."""
        return self.problems.get(check.partition("[")[0], "")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; where there is none, nothing is known."""
        if not path.exists():
            return cls({}, {})
        groups: dict[tuple[str, int], list[Group]] = {}
        with np.load(path, allow_pickle=False) as file:
            index = json.loads(file["index"].tobytes())
            for i, entry in enumerate(index["groups"]):
                shape = None if entry["shape"] is None else tuple(entry["shape"])
                places = file[f"{i}.places"]
                alike = Fingerprint(entry["dtype"], entry["kind"], shape, places, np.zeros(0))
                mistakes = tuple(index["mistakes"][number] for number in file[f"{i}.mistakes"])
                group = Group(alike, mistakes, file[f"{i}.rows"])
                groups.setdefault((entry["check"], entry["position"]), []).append(group)
        return cls(index["problems"], groups)

    def write(self, path: Path) -> None:
        """Write the file."""
        arrays: dict[str, Array] = {}
        entries: list[dict[str, object]] = []
        known = sorted({one for each in self.groups.values() for g in each for one in g.mistakes})
        number = {mistake: i for i, mistake in enumerate(known)}
        for (check, position), groups in self.groups.items():
            for group in groups:
                alike, i = group.alike, len(entries)
                arrays[f"{i}.places"] = alike.places
                numbers = [number[mistake] for mistake in group.mistakes]
                arrays[f"{i}.mistakes"] = np.array(numbers, dtype=np.uint16)
                arrays[f"{i}.rows"] = group.rows
                entries.append(
                    {
                        "check": check,
                        "position": position,
                        "dtype": alike.dtype,
                        "kind": alike.kind,
                        "shape": alike.shape,
                    }
                )
        index = {
            "problems": self.problems,
            "mistakes": known,
            "groups": entries,
        }
        arrays["index"] = np.frombuffer(json.dumps(index).encode(), dtype=np.uint8)
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # numpy's stub
