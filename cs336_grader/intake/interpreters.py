"""The interpreter that a submission is run in: this one, or another that is asked what it has."""

import json
import platform
import subprocess
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from cs336_grader.records import WrongRequestError

from . import inventory
from .installed import is_distribution, is_importable, own_distributions, top_level_names

MAX_SECONDS = 60


class Interpreter:
    """The interpreter that runs this.

    Attributes:
        version: as in "3.11.9".
    """

    version = platform.python_version()

    def is_importable(self, name: str) -> bool:
        """Whether a top-level name can be imported without the submission."""
        return is_importable(name)

    def is_distribution(self, name: str) -> bool:
        """Whether a distribution of this plain name is installed, other than the grader's own."""
        return is_distribution(name)

    def version_of(self, distribution: str) -> str | None:
        """The installed version of a distribution; None if it is not installed."""
        return metadata.version(distribution) if is_distribution(distribution) else None

    def modules_of(self, distribution: str) -> frozenset[str]:
        """The top-level names by which a distribution's modules and packages are imported."""
        return top_level_names(distribution)

    @property
    def reads_as_here(self) -> bool:
        """Whether what is no valid Python here is none there."""
        return self.version.split(".")[:2] == platform.python_version().split(".")[:2]


class OtherInterpreter(Interpreter):
    """Another, by what it says of itself.

    Args:
        told: as ``inventory`` has it.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.version = told["version"]
        self.modules = {
            name: frozenset(map(canonicalize_name, owners))
            for name, owners in told["modules"].items()
        }
        self.distributions: dict[str, str] = {
            canonicalize_name(name): version for name, version in told["distributions"].items()
        }
        self.path = list(told["path"])

    def is_importable(self, name: str) -> bool:
        """The same, there."""
        return name in self.modules or PathFinder.find_spec(name, self.path) is not None

    def is_distribution(self, name: str) -> bool:
        """The same, there."""
        return name in self.distributions and name not in own_distributions()

    def version_of(self, distribution: str) -> str | None:
        """The same, there."""
        return self.distributions[distribution] if self.is_distribution(distribution) else None

    def modules_of(self, distribution: str) -> frozenset[str]:
        """The same, there."""
        return frozenset(name for name, owners in self.modules.items() if distribution in owners)


@cache
def interpreter(python: str) -> Interpreter:
    """The interpreter at a path; this one if that is empty.

    Raises:
        WrongRequestError: there is no Python at the path that could run a submission.
    """
    return OtherInterpreter(asked(python)) if python else Interpreter()


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
