"""What an assignment's suite is tried on: right and wrong ways to write its adapters.

The assignment brings them in packages beside its suite, which the rubric names. Each has a list of
entries with ``id`` and ``problem``, a function ``adapters_with`` that makes all adapters of a
submission with one of them in it, and may have ``NARROW_MARGINS``: comparisons that are known to
separate right from wrong by less than a factor of ten, each with the reason. To an assignment's own
degenerate work the audit adds some that needs no knowledge of the assignment.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Literal

from cs336_checks.rubric import Assignment
from cs336_grader.judging.local_adapters import LocalAdapters

from .degenerate import ANSWERS, degenerate
from .records import Entry, Kind, Listing
from .sources import check_digests, mistake_digests


class CatalogueError(Exception):
    """A catalogue is missing or does not fit the rubric; the text says where and what to do."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """All adapters of a submission, to try checks on.

    Attributes:
        adapters: the suite's own where there is nothing.
    """

    entry: Entry
    adapters: LocalAdapters | None


@dataclass(frozen=True, slots=True)
class Catalogues:
    """All that an assignment's suite is tried on.

    Attributes:
        implementations: of each problem, what is right before what is wrong.
        narrow: why a comparison's margin is narrow, by its id.
        sources: a digest of the source of each check and each mistake, by its name or id.
    """

    implementations: Mapping[str, tuple[Implementation, ...]]
    narrow: Mapping[str, str]
    sources: Mapping[str, str]

    def listing(self) -> Listing:
        """Return what they say, without the implementations."""
        entries = (known.entry for own in self.implementations.values() for known in own)
        return Listing(tuple(entries), dict(self.narrow), dict(self.sources))


def load(assignment: Assignment) -> Catalogues:
    """Import an assignment's catalogues.

    Raises:
        CatalogueError: one is missing or does not fit the rubric.
    """
    mistakes = catalogue(assignment, "known_mistakes")
    variants = catalogue(assignment, "correct_variants")
    stubs = LocalAdapters(
        lambda: SimpleNamespace(**dict.fromkeys(assignment.adapter_names, not_written))
    )
    found: dict[str, list[Implementation]] = {
        problem: [
            Implementation(Entry("reference", Kind.REFERENCE, problem, "the reference"), None),
            Implementation(Entry("stubs", Kind.STUBS, problem, "nothing"), stubs),
        ]
        for problem in assignment.rubric.problems
    }
    for known in (
        *implementations(variants, Kind.VARIANT),
        *implementations(mistakes, Kind.MISTAKE),
        *answers(assignment, variants),
        *own_degenerate(assignment),
    ):
        if known.entry.problem not in found:
            raise CatalogueError(f"{known.entry.id}: the rubric has no such problem")
        if any(known.entry.id == other.entry.id for other in found[known.entry.problem]):
            raise CatalogueError(f"{known.entry.id} is entered twice: rename one of them")
        found[known.entry.problem].append(known)
    narrow: dict[str, str] = {}
    for package in (variants, mistakes):
        narrow |= getattr(package, "NARROW_MARGINS", {})
    sources = check_digests(assignment) | mistake_digests(mistakes.MISTAKES)
    return Catalogues({problem: tuple(own) for problem, own in found.items()}, narrow, sources)


Key = Literal["known_mistakes", "correct_variants", "degenerate_work"]


def catalogue(assignment: Assignment, key: Key) -> ModuleType:
    """One of an assignment's catalogues.

    Raises:
        CatalogueError: the rubric names none, or it cannot be imported.
    """
    name: str | None = getattr(assignment.rubric, key)
    if name is None:
        raise CatalogueError(f'tests/rubric.toml names no {key}; add {key} = "PACKAGE"')
    folder = str(assignment.folder.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise CatalogueError(f"{name} cannot be imported: {problem}") from error


def implementations(package: ModuleType, kind: Kind) -> Iterator[Implementation]:
    """The entries of a catalogue."""
    lists = {
        Kind.VARIANT: "VARIANTS",
        Kind.MISTAKE: "MISTAKES",
        Kind.DEGENERATE: "DEGENERATE",
    }
    for known in getattr(package, lists[kind]):
        sentence = known.wrong if kind is Kind.MISTAKE else known.sentence
        yield Implementation(
            Entry(known.id, kind, known.problem, sentence),
            LocalAdapters(partial(package.adapters_with, known)),
        )


def answers(assignment: Assignment, variants: ModuleType) -> Iterator[Implementation]:
    """For each problem, the degenerate work that needs no knowledge of it."""
    if not variants.VARIANTS:
        return
    right = partial(variants.adapters_with, variants.VARIANTS[0])
    for problem in assignment.rubric.problems:
        for name, (sentence, answer) in ANSWERS.items():
            make = partial(degenerate, assignment.adapter_names, right, answer)
            entry = Entry(f"{problem}/answers_{name}", Kind.DEGENERATE, problem, sentence)
            yield Implementation(entry, LocalAdapters(make))


def own_degenerate(assignment: Assignment) -> Iterator[Implementation]:
    """The assignment's own degenerate work, if the rubric names any."""
    if assignment.rubric.degenerate_work is not None:
        yield from implementations(catalogue(assignment, "degenerate_work"), Kind.DEGENERATE)


def not_written(*_arguments: object, **_options: object) -> None:
    """What a student starts from."""
    raise NotImplementedError
