"""Which top-level names and distributions are installed here, and so are not a submission's."""

import sys
from functools import cache
from importlib import metadata

GRADER = __name__.partition(".")[0]
# Python imports these by itself when it starts.
START_UP = {"sitecustomize", "usercustomize", "__main__"}


def is_installed(name: str) -> bool:
    """Whether a top-level name belongs to Python, to this grader or to an installed package.

    What is installed together with the grader is the assignment's own, and a submission has the
    same: that does not count.
    """
    if name in sys.stdlib_module_names or name in START_UP or name == GRADER:
        return True
    return bool(set(owners().get(name, ())) - set(owners().get(GRADER, ())))


def is_distribution(name: str) -> bool:
    """Whether a distribution of this name is installed, other than the grader's own."""
    try:
        found = metadata.distribution(name).name
    except metadata.PackageNotFoundError:
        return False
    return found not in owners().get(GRADER, ())


@cache
def owners() -> dict[str, list[str]]:
    """The distributions that each installed top-level name belongs to."""
    return dict(metadata.packages_distributions())
