"""Which top-level names belong to the grader's surroundings, and so are not a submission's."""

import sys
from functools import cache
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .inventory import inventory

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
    return not needed_distributions().isdisjoint(owners().get(name, ()))


@cache
def own_distributions() -> frozenset[str]:
    """The grader's own distribution, also where it is installed as a link to its source."""
    return frozenset(
        canonicalize_name(script.dist.name)
        for script in metadata.entry_points(group="console_scripts")
        if script.module.partition(".")[0] == GRADER and script.dist is not None
    )


@cache
def owners() -> dict[str, list[str]]:
    """The distributions that each installed top-level name belongs to, by their plain names."""
    return {
        name: [canonicalize_name(distribution) for distribution in distributions]
        for name, distributions in inventory()["owners"].items()
    }


@cache
def needed_distributions() -> frozenset[str]:
    """All that is installed because the grader's own distribution asks for it, however indirectly.

    All that is installed at all, where the grader has no distribution.
    """
    own = own_distributions()
    if not own:
        return frozenset(name for names in owners().values() for name in names)
    needed: set[str] = set()
    pending = [(name, True) for name in own]
    while pending:
        name, with_extras = pending.pop()
        for required in requirements_of(name, with_extras=with_extras):
            if required not in needed:
                needed.add(required)
                pending.append((required, False))
    return frozenset(needed - own)


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
