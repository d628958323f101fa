"""What the adapters lead to, over any number of imports, and what of it cannot be had here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name

from .manifests import Manifests
from .modules import INIT, NearMiss
from .notes import Notes, named

MOST_PACKAGES = 10


@dataclass
class Reading:
    """What one file imports.

    Attributes:
        leads: the files of the submission that its imports run.
        elsewhere: the top-level names that are not the submission's.
        misses: what the submission has in place of something that is imported.
        fault: why the file cannot be parsed, or an empty text.
        names: what the file binds at its top level, each with whether it is more than a stub.
        stars: the files of the submission of which it imports all names.
    """

    leads: set[PurePosixPath] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    misses: set[NearMiss] = field(default_factory=set)
    fault: str = ""
    names: Mapping[str, bool] = field(default_factory=dict)
    stars: set[PurePosixPath] = field(default_factory=set)


class Gaps:
    """What is missing of all that the adapters lead to.

    Args:
        readings: what each file imports.
        adapters: the file to start from.

    Attributes:
        elsewhere: the top-level names that are imported and not the submission's.
        broken: the modules that cannot be parsed, with what is wrong with them.
        unseen: the names of files and folders that were not taken and may hold imported modules.
        unbuilt: the compiled modules that are imported, without an ending.
        misspelled: what is imported by a name that differs in case from its file's.
    """

    def __init__(self, readings: Mapping[PurePosixPath, Reading], adapters: PurePosixPath) -> None:
        reached = reached_from(adapters, readings)
        found = [readings[path] for path in reached]
        misses = [miss for reading in found for miss in reading.misses]
        self.elsewhere = {name for reading in found for name in reading.elsewhere}
        self.broken = {path: readings[path].fault for path in reached if readings[path].fault}
        self.unseen = {miss.unseen for miss in misses if miss.unseen}
        self.unbuilt = {miss.module for miss in misses if miss.spelled is None and not miss.unseen}
        self.misspelled = {
            f"{miss.module.name} ({miss.spelled})" for miss in misses if miss.spelled is not None
        }

    def note(self, manifests: Manifests, package: str, notes: Notes) -> None:
        """Name what is missing."""
        if package in self.elsewhere:
            notes.say(f"It imports {package}, and has no package or module of that name.")
        built = {module.name for module in self.unbuilt}
        others = sorted(self.elsewhere - {package, "tests"} - built)
        missing = [name for name in others if not manifests.python.is_importable(name)]
        if missing:
            marked = [
                f"{name} (declared)" if manifests.declares(name) else name for name in missing
            ]
            told = named(marked, MOST_PACKAGES)
            notes.say(f"It imports packages that are not installed here: {told}.")
        imported = {canonicalize_name(name) for name in (*missing, *built)}
        lacking = [name for name in manifests.lacking if name not in imported]
        if lacking:
            notes.say(f"It declares packages that are not installed here: {named(lacking)}.")
        if manifests.other_versions:
            told = named(list(manifests.other_versions.values()))
            notes.say(f"It asks for other versions than are installed here: {told}.")
        # A module may have been built and installed where the submission runs.
        unbuilt = [one for one in self.unbuilt if not manifests.python.is_importable(one.name)]
        if unbuilt:
            modules = sorted(map(str, unbuilt))
            notes.say(
                f"It imports compiled modules of its own, which are not built here: "
                f"{named(modules)}. To grade it with them, build them in a separate environment, "
                "and name its Python: --worker-python."
            )
        if self.broken:
            faults = [f"{path} ({fault})" for path, fault in self.broken.items()]
            notes.say(f"It imports modules that are no valid Python: {named(faults)}.")
        if self.misspelled:
            notes.say(
                "It imports modules by names that differ in case from their files: "
                f"{named(sorted(self.misspelled))}."
            )


def reached_from(
    adapters: PurePosixPath, readings: Mapping[PurePosixPath, Reading]
) -> list[PurePosixPath]:
    """The files that importing the adapters runs, or that calling them may; sorted."""
    reached: set[PurePosixPath] = set()
    pending = [adapters]
    while pending:
        path = pending.pop()
        if path in readings and path not in reached:
            reached.add(path)
            pending += readings[path].leads
            pending += [folder / INIT for folder in path.parents]
    return sorted(reached)


def names_of(
    adapters: PurePosixPath, readings: Mapping[PurePosixPath, Reading]
) -> tuple[frozenset[str], frozenset[str]]:
    """The names in the adapters that are more than a stub, and all names.

    They include the names of files from which the adapters import all names.
    """
    files: set[PurePosixPath] = set()
    pending = [adapters]
    while pending:
        path = pending.pop()
        if path in readings and path not in files:
            files.add(path)
            pending += readings[path].stars
    names = [item for path in files for item in readings[path].names.items()]
    return frozenset(name for name, is_filled in names if is_filled), frozenset(dict(names))
