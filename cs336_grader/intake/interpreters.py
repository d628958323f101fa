"""The interpreter that a submission is run in: this one, or another that is asked what it has."""

import json
import platform
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from cs336_grader.records import WrongRequestError

from . import inventory
from .installed import own_distributions

MAX_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter and what is installed for it.

    Attributes:
        version: as in "3.11.9".
        modules: the top-level names of its library and of what is installed.
        distributions: the plain names of what is installed, without the grader's own.
        path: the folders that imports look in.
    """

    version: str
    modules: frozenset[str]
    distributions: frozenset[str]
    path: tuple[str, ...]

    def is_importable(self, name: str) -> bool:
        """Whether a top-level name can be imported without the submission."""
        return name in self.modules or PathFinder.find_spec(name, list(self.path)) is not None

    def is_distribution(self, name: str) -> bool:
        """Whether a distribution of this name is installed, other than the grader's own."""
        return canonicalize_name(name) in self.distributions

    @property
    def reads_as_here(self) -> bool:
        """Whether what is no valid Python here is none there."""
        return self.version.split(".")[:2] == platform.python_version().split(".")[:2]


@cache
def interpreter(python: str) -> Interpreter:
    """The interpreter at a path; this one if that is empty.

    Raises:
        WrongRequestError: there is no Python at the path that could run a submission.
    """
    found = asked(python) if python else inventory.inventory()
    installed = frozenset(map(canonicalize_name, found["distributions"]))
    return Interpreter(
        found["version"],
        frozenset([*found["library"], *found["owners"]]),
        installed - own_distributions(),
        tuple(found["path"]),
    )


def asked(python: str) -> dict[str, Any]:
    """What an interpreter at a path says of itself."""
    command = [python, "-I", str(Path(inventory.__file__))]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=MAX_SECONDS, check=True
        )
        return dict(json.loads(answer.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError) as error:
        raise WrongRequestError(
            f"{python} is no Python that runs a submission: --worker-python takes one from 3.11 on"
        ) from error
