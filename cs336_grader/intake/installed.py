"""Which top-level names belong to the grader's surroundings, and so are not a submission's."""

import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from inspect import getmodulename

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

GRADER = __name__.partition(".")[0]
# Python imports these by itself when it starts.
START_UP = {"sitecustomize", "usercustomize", "__main__"}


def is_needed(name: str) -> bool:
    """Whether a top-level name belongs to Python, to this grader or to what the grader needs.

    What else happens to be installed is a submission's to hide, so that the verdict on it does not
    depend on that. What is installed together with the grader is the assignment's own, and a
    submission has the same: that does not count.
    """
    if name in sys.stdlib_module_names or name in START_UP or name == GRADER:
        return True
    return is_importable(name) and any(
        name in top_level_names(distribution) for distribution in needed_distributions()
    )


def is_importable(name: str) -> bool:
    """Whether a top-level name can be imported here; nothing is imported to find out."""
    return name in sys.stdlib_module_names or any(
        finder.find_spec(name, None) is not None for finder in sys.meta_path
    )


def is_distribution(name: str) -> bool:
    """Whether a distribution of this plain name is installed, other than the grader's own."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return name not in own_distributions()


@cache
def own_distributions() -> frozenset[str]:
    """The grader's own distribution, also where it is installed as a link to its source."""
    return frozenset(
        canonicalize_name(script.dist.name)
        for script in metadata.entry_points(group="console_scripts")
        if script.module.partition(".")[0] == GRADER and script.dist is not None
    )


def needed_distributions() -> Iterator[str]:
    """All that is installed because the grader's own distribution asks for it, directly or not.

    All that is installed at all, where the grader has no distribution. What is asked for directly
    comes first, and is mostly what was looked for: no more is read than is needed.
    """
    own = own_distributions()
    if not own:
        yield from {canonicalize_name(found.name) for found in metadata.distributions()}
    seen, waiting = set(own), deque(own)
    while waiting:
        name = waiting.popleft()
        for required in requirements_of(name, with_extras=name in own):
            if required not in seen:
                seen.add(required)
                waiting.append(required)
                yield required


@cache
def requirements_of(name: str, *, with_extras: bool) -> list[str]:
    """The distributions that another asks for on this machine."""
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return []
    wanted = ["", *(told.get_all("Provides-Extra") or [])] if with_extras else [""]
    found: list[str] = []
    for requirement in map(Requirement, told.get_all("Requires-Dist") or []):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in wanted):
            found.append(canonicalize_name(requirement.name))
    return found


@cache
def top_level_names(distribution: str) -> frozenset[str]:
    """What a distribution's modules and packages are imported by; nothing if it is not there."""
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return frozenset()
    if declared := found.read_text("top_level.txt"):
        return frozenset(declared.split())
    return frozenset(
        file.parts[0] if len(file.parts) > 1 else module
        for file in found.files or ()
        if (module := getmodulename(file.name)) is not None
    )
