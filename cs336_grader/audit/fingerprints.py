"""Saves in short what each known mistake gives in each comparison at seed 0.

    python -m cs336_grader.audit.fingerprints ASSIGNMENT [--all]

A student's run, which has no known mistake at hand, then names them by ``tests/_fingerprints``.
Only what has changed is made anew, by the digests in ``sources.json``; with ``--all``, everything.
"""

import argparse
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Self, cast

import numpy as np
import numpy.typing as npt
import pytest

from cs336_checks.comparison import Comparison
from cs336_checks.differences import as_array
from cs336_checks.fingerprints import (
    SENTENCES,
    Fingerprint,
    FingerprintFile,
    Group,
    fingerprint,
)
from cs336_checks.rubric import Assignment, load_assignment
from cs336_grader.judging.diagnosis import KnownMistakes
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.judging.suite import Suite, SuiteRun, check_name

from .catalogues import catalogue
from .sampling import telling_places
from .sources import check_digests, mistake_digests
from .workers import assignment_in

FOLDER = Path("tests", "_fingerprints")
SOURCES = "sources.json"
# Every number up to here is kept exactly by float32.
EXACT = 2**24


# The mistakes that each check is run with.
Wanted = dict[str, set[str]]


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
    """Runs each case that compares something with the mistakes that are asked for.

    Args:
        suite: the checks.
        known: the assignment's mistakes.
        wanted: the mistakes to run each check with.
    """

    def __init__(
        self, suite: Suite, known: KnownMistakes, wanted: Mapping[str, Collection[str]]
    ) -> None:
        super().__init__(suite, RecordedValues())
        self.known = known
        self.wanted = wanted
        self.groups: dict[tuple[str, int], list[Group]] = {}

    def case(self, item: pytest.Item) -> None:
        """Take the fingerprints of a case."""
        if "snapshot" not in getattr(item, "fixturenames", ()):
            return
        self.record(item)
        found: dict[int, list[tuple[str, Comparison, Fingerprint]]] = {}
        for mistake in self.known.MISTAKES:
            if mistake.id not in self.wanted[check_name(item)]:
                continue
            witness = Witness()
            wrong = partial(self.known.adapters_with, mistake)
            self.run_with(item, LocalAdapters(wrong), witness)
            for position, (comparison, print_) in witness.seen.items():
                found.setdefault(position, []).append((mistake.id, comparison, print_))
        for position, entries in found.items():
            check = entries[0][1].check
            self.groups[check, position] = list(self.grouped(entries))

    def grouped(self, entries: Iterable[tuple[str, Comparison, Fingerprint]]) -> Iterator[Group]:
        """The fingerprints of one comparison, those of one shape and dtype together."""

        def alike(entry: tuple[str, Comparison, Fingerprint]) -> str:
            return repr((entry[2].dtype, entry[2].shape))

        for _, same in groupby(sorted(entries, key=alike), key=alike):
            members = list(same)
            mistakes = tuple(mistake for mistake, _, _ in members)
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


def suspected(assignment: Assignment, known: KnownMistakes, problem: str) -> list[str]:
    """Return the mistakes of a problem and of all it is built on."""
    problems = {problem, *assignment.rubric.below(problem)}
    return [mistake.id for mistake in known.MISTAKES if mistake.problem in problems]


@dataclass(frozen=True)
class Digests:
    """Digests of what fingerprints are made of, by the names of checks and the ids of mistakes."""

    checks: dict[str, str]
    mistakes: dict[str, str]

    @classmethod
    def now(cls, assignment: Assignment, known: KnownMistakes) -> Self:
        """Return those of the sources as they are."""
        return cls(check_digests(assignment), mistake_digests(known.MISTAKES))

    @classmethod
    def saved(cls, folder: Path) -> Self:
        """Return those of the sources that saved fingerprints were made of."""
        path = folder / SOURCES
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls({}, {})

    def outdated(self, assignment: Assignment, known: KnownMistakes, saved: Self) -> Wanted:
        """Return the mistakes that each check has to be run with anew, where there are any."""
        wanted: Wanted = {}
        for name, check in assignment.checks.items():
            changed = saved.checks.get(name) != self.checks[name]
            mistakes = {
                mistake
                for mistake in suspected(assignment, known, check.problem)
                if changed or saved.mistakes.get(mistake) != self.mistakes[mistake]
            }
            if mistakes:
                wanted[name] = mistakes
        return wanted


def fingerprints(folder: Path, file: str, wanted: Wanted) -> dict[tuple[str, int], list[Group]]:
    """Return the fingerprints of some mistakes in the checks of one file of the suite."""
    assignment = assignment_in(folder)
    known = known_mistakes(assignment)
    checks = {name: check for name, check in assignment.checks.items() if check.file == file}
    chosen = {name: check for name, check in checks.items() if name in wanted}
    runner = FingerprintRun(Suite(folder, 0, chosen), known, wanted)
    runner.run()
    return runner.groups


def update(folder: Path, file: str, wanted: Wanted) -> Path:
    """Bring the fingerprints of one file of the suite up to date."""
    assignment = assignment_in(folder)
    known = known_mistakes(assignment)
    path = folder / FOLDER / f"{Path(file).stem}.npz"
    checks = {
        f"{Path(file).stem}.{name}": check
        for name, check in assignment.checks.items()
        if check.file == file
    }
    problems = {name: check.problem for name, check in checks.items()}
    groups: dict[tuple[str, int], list[Group]] = {}
    ids = {mistake.id for mistake in known.MISTAKES}
    for key, old in FingerprintFile.read(path).groups.items():
        check = checks.get(key[0].partition("[")[0])
        if check is not None:
            gone = wanted.get(check.name, set()) | {
                m for g in old for m in g.mistakes if m not in ids
            }
            groups[key] = [kept for g in old if (kept := g.without(gone)) is not None]
    for key, new in fingerprints(folder, file, wanted).items():
        groups[key] = [*groups.get(key, []), *new]
    made = FingerprintFile(problems, {key: found for key, found in groups.items() if found})
    if made.groups:
        made.write(path)
    else:
        path.unlink(missing_ok=True)
    return path


def known_mistakes(assignment: Assignment) -> KnownMistakes:
    """Return an assignment's known mistakes."""
    return cast(KnownMistakes, catalogue(assignment, "known_mistakes"))


def sentences(known: KnownMistakes) -> str:
    """Return what is told of the mistakes, as JSON; without what they do."""
    names = ("id", "problem", "wrong", "hint")
    entries = [{name: getattr(mistake, name) for name in names} for mistake in known.MISTAKES]
    return json.dumps(entries, indent=0, ensure_ascii=False) + "\n"


def main() -> None:
    """Bring the fingerprints of an assignment up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("assignment", type=Path)
    parser.add_argument("--all", action="store_true", help="make everything anew")
    options = parser.parse_args()
    assignment = load_assignment(options.assignment)
    known = known_mistakes(assignment)
    target = assignment.folder / FOLDER
    target.mkdir(exist_ok=True)
    (target / SENTENCES).write_text(sentences(known), encoding="utf-8")
    now = Digests.now(assignment, known)
    saved = Digests({}, {}) if options.all else Digests.saved(target)
    wanted = now.outdated(assignment, known, saved)
    # A check or a mistake that is gone leaves its file, too.
    gone = saved.checks.keys() - now.checks.keys() | saved.mistakes.keys() - now.mistakes.keys()
    files = {check.file for name, check in assignment.checks.items() if name in wanted or gone}
    for path in target.glob("*.npz"):
        if path.stem not in {Path(check.file).stem for check in assignment.checks.values()}:
            path.unlink()
    with ProcessPoolExecutor() as pool:
        for path in pool.map(partial(update, assignment.folder, wanted=wanted), sorted(files)):
            print(path)  # noqa: T201 (it is what the command says)
    (target / SOURCES).write_text(json.dumps(asdict(now), indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
