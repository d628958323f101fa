"""Saves in short what each known mistake gives in each comparison at seed 0.

    python -m cs336_grader.audit.fingerprints ASSIGNMENT [FILE …]

A student's run, which has no known mistake at hand, then names them by ``tests/_fingerprints``.
Files of checks may be named, as in ``test_model_rope``; all are written otherwise.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from cs336_checks.comparison import Comparison
from cs336_checks.differences import as_array
from cs336_checks.fingerprints import Fingerprint, FingerprintFile, Group, fingerprint
from cs336_checks.rubric import Assignment, load_assignment
from cs336_grader.judging.diagnosis import KnownMistakes
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.judging.suite import Suite, SuiteRun, check_name

from .catalogues import catalogue
from .sampling import telling_places
from .workers import assignment_in

FOLDER = Path("tests", "_fingerprints")
# Every number up to here is kept exactly by float32.
EXACT = 2**24


class Witness:
    """Takes the whole fingerprint of every comparison of a case that is wrong.

    Attributes:
        seen: the comparison and the fingerprint, by position.
    """

    def __init__(self) -> None:
        self.seen: dict[int, tuple[Comparison, Fingerprint]] = {}

    def observe(self, comparison: Comparison) -> None:
        """Look at a comparison."""
        if comparison.facts(reveal=False) is None:
            return
        print_ = fingerprint(comparison.actual)
        if print_ is not None:
            self.seen[comparison.position] = comparison, print_


class FingerprintRun(SuiteRun):
    """Runs each case that compares something with every mistake its problem may suffer from."""

    def __init__(self, assignment: Assignment, suite: Suite, known: KnownMistakes) -> None:
        super().__init__(suite, RecordedValues())
        self.assignment = assignment
        self.known = known
        self.groups: dict[tuple[str, int], list[Group]] = {}

    def case(self, item: pytest.Item) -> None:
        """Take the fingerprints of a case."""
        if "snapshot" not in getattr(item, "fixturenames", ()):
            return
        self.record(item)
        problem = self.assignment.checks[check_name(item)].problem
        found: dict[int, list[tuple[int, Comparison, Fingerprint]]] = {}
        for i in suspected(self.assignment, self.known, problem):
            witness = Witness()
            wrong = partial(self.known.adapters_with, self.known.MISTAKES[i])
            self.run_with(item, LocalAdapters(wrong), witness)
            for position, (comparison, print_) in witness.seen.items():
                found.setdefault(position, []).append((i, comparison, print_))
        for position, entries in found.items():
            check = entries[0][1].check
            self.groups[check, position] = list(self.grouped(entries))

    def grouped(self, entries: Iterable[tuple[int, Comparison, Fingerprint]]) -> Iterator[Group]:
        """The fingerprints of one comparison, those of one shape and dtype together."""

        def alike(entry: tuple[int, Comparison, Fingerprint]) -> str:
            return repr((entry[2].dtype, entry[2].shape))

        for _, same in groupby(sorted(entries, key=alike), key=alike):
            members = list(same)
            mistakes = np.array([i for i, _, _ in members], dtype=np.uint16)
            print_ = members[0][2]
            if print_.shape is None:
                rows = np.stack([np.frombuffer(p.digest, np.uint8) for _, _, p in members])
                yield Group(print_, mistakes, rows)
                continue
            numbers = np.stack([p.numbers for _, _, p in members])
            places = self.places(numbers, members[0][1], print_.shape)
            short = Fingerprint(
                print_.dtype, print_.kind, print_.shape, places.astype(np.int32), np.zeros(0)
            )
            yield Group(short, mistakes, compact(numbers[:, places]))

    def places(
        self, numbers: npt.NDArray[np.float64], comparison: Comparison, shape: tuple[int, ...]
    ) -> npt.NDArray[np.int64]:
        """The elements to keep of what mistakes give, (mistake, element)."""
        right = as_array(comparison.expected[0])
        if right is None or right.shape != shape:
            return telling_places(numbers, None, np.asarray(comparison.tolerance.atol))
        allowed = comparison.tolerance.allowed(right).reshape(-1)
        return telling_places(numbers, right.reshape(-1).astype(np.float64), allowed)


def compact(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.generic]:
    """Numbers in half the space, where nothing is lost that matters."""
    finite = numbers[np.isfinite(numbers)]
    whole = bool((finite == np.rint(finite)).all())
    if whole and np.abs(finite).max(initial=0.0) > EXACT:
        return numbers
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


def suspected(assignment: Assignment, known: KnownMistakes, problem: str) -> list[int]:
    """The mistakes of a problem and of all it is built on, by their place in the catalogue."""
    problems = {problem, *assignment.rubric.below(problem)}
    return [i for i, mistake in enumerate(known.MISTAKES) if mistake.problem in problems]


def fingerprints(folder: Path, file: str, checks: Sequence[str] = ()) -> FingerprintFile:
    """The fingerprints of the checks in one file of the suite, or of some of them."""
    assignment = assignment_in(folder)
    known = cast(KnownMistakes, catalogue(assignment, "known_mistakes"))
    chosen = {
        check.name: check
        for check in assignment.checks.values()
        if check.file == file and (not checks or check.name in checks)
    }
    suite = Suite(folder, 0, chosen)
    runner = FingerprintRun(assignment, suite, known)
    runner.run()
    problems = {name: assignment.checks[name].problem for name in chosen}
    module = Path(file).stem
    return FingerprintFile(
        {f"{module}.{name}": problem for name, problem in problems.items()},
        {name: len(suspected(assignment, known, name)) for name in set(problems.values())},
        runner.groups,
    )


def write(folder: Path, file: str) -> Path:
    """Write the fingerprints of one file of the suite."""
    path = folder / FOLDER / f"{Path(file).stem}.npz"
    found = fingerprints(folder, file)
    if found.groups:
        found.write(path)
    return path


def sentences(known: KnownMistakes) -> str:
    """What is told of the mistakes, as JSON; without what they do."""
    names = ("id", "problem", "wrong", "hint")
    entries = [{name: getattr(mistake, name) for name in names} for mistake in known.MISTAKES]
    return json.dumps(entries, indent=0, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all fingerprints of an assignment, or those of some of its files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("assignment", type=Path)
    parser.add_argument("files", nargs="*", metavar="FILE", help="all of them by default")
    options = parser.parse_args()
    assignment = load_assignment(options.assignment)
    target = assignment.folder / FOLDER
    target.mkdir(exist_ok=True)
    told = sentences(cast(KnownMistakes, catalogue(assignment, "known_mistakes")))
    (target / "mistakes.json").write_text(told, encoding="utf-8")
    chosen = sorted(
        file
        for file in {check.file for check in assignment.checks.values()}
        if not options.files or Path(file).stem in options.files
    )
    with ProcessPoolExecutor() as pool:
        for path in pool.map(write, [assignment.folder] * len(chosen), chosen):
            print(path)  # noqa: T201 (it is what the command says)


if __name__ == "__main__":
    main()
