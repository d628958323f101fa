"""Reads which versions a submission asks for, and compares them with those installed."""

import contextlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

MAX_REQUIREMENT = 500
PYTHON = "Python"
# A package of a lock file of uv, Poetry or PDM.
LOCKED = re.compile(r'^name = "([\w.-]{1,100})"\r?\nversion = "([\w.+!-]{1,64})"', re.MULTILINE)
PINNED_PYTHON = re.compile(r"\s*(?:cpython-|python-?)?(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A version that a submission asks for.

    Attributes:
        name: of the package, as registries compare names, or "Python".
        versions: those that are asked for; any, if empty.
        origin: the file that says so.
    """

    name: str
    versions: SpecifierSet
    origin: str

    def __str__(self) -> str:
        """As in "einx>=0.4 (pyproject.toml)"."""
        space = " " if self.name == PYTHON else ""
        return f"{self.name}{space}{self.versions} ({self.origin})"

    def is_met(self, present: str) -> bool:
        """Return True for a version that is asked for, or a later one of the same series.

        A later one has all that was there before.
        """
        try:
            version = Version(present)
        except InvalidVersion:
            return True
        return all(
            specifier.contains(version, prereleases=True) or is_later_in_series(version, specifier)
            for specifier in self.versions
        )


def is_later_in_series(version: Version, specifier: Specifier) -> bool:
    """Return True for a version that is later than the one asked for, and compatible with it."""
    if specifier.operator not in {"==", "~="}:
        return False
    asked = Version(specifier.version.removesuffix(".*"))
    return version > asked and series(version) == series(asked)


def series(version: Version) -> tuple[int, ...]:
    """The part of a version that changes with incompatible releases: 2 of 2.13, 0.4 of 0.4.3."""
    return version.release[:1] if version.major else version.release[:2]


def required(
    lines: Iterable[object], origin: str, environment: Mapping[str, str]
) -> Iterator[Wanted]:
    """Yield the versions that requirements ask for in an environment; skip what cannot be read."""
    for line in lines:
        if not isinstance(line, str) or len(line) > MAX_REQUIREMENT:
            continue
        try:
            requirement = Requirement(line.partition("#")[0])
            marker = requirement.marker
            is_meant = marker is None or marker.evaluate({"extra": "", **environment})
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            continue
        if is_meant:
            yield Wanted(canonicalize_name(requirement.name), requirement.specifier, origin)


def locked(text: str, origin: str, packages: Container[str]) -> Iterator[Wanted]:
    """The version of each of some packages that a lock file has in one version alone."""
    found = [(canonicalize_name(name), version) for name, version in LOCKED.findall(text)]
    times = Counter(name for name, _ in found)
    for name, version in found:
        if name not in packages or times[name] > 1:
            continue
        with contextlib.suppress(InvalidVersion):
            release = (*Version(version).release, 0)[:2]
            yield Wanted(name, SpecifierSet(f"=={release[0]}.{release[1]}.*"), origin)


def pinned_python(text: str, origin: str) -> Wanted | None:
    """The version of Python that a ``.python-version`` names; a later one will do."""
    found = PINNED_PYTHON.match(text)
    return found and Wanted(PYTHON, SpecifierSet(f">={found[1]}"), origin)


def required_python(versions: object, origin: str) -> Wanted | None:
    """The versions of Python that a project asks for, if that can be read."""
    if not isinstance(versions, str) or len(versions) > MAX_REQUIREMENT:
        return None
    try:
        return Wanted(PYTHON, SpecifierSet(versions), origin)
    except InvalidSpecifier:
        return None
