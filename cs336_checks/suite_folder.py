"""The folder that holds an assignment's checks."""

import shlex
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from .rubric import Rubric, RubricError, chapter_of_problems, read_rubric

NAME = "tests"


@dataclass(frozen=True)
class SuiteFolder:
    """The folder ``tests`` of an assignment: checks, adapters, rubric and saved values.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def root(self) -> Path:
        """The assignment's folder, which holds the student's package."""
        return self.path.parent

    @property
    def adapters(self) -> str:
        """The module that holds the adapters."""
        return f"{self.path.name}.adapters"

    @property
    def snapshots(self) -> Path:
        """The folder of expected values at seed 0."""
        return self.path / "_snapshots"

    @property
    def fingerprints(self) -> Path:
        """The folder of what known mistakes give at seed 0."""
        return self.path / "_fingerprints"

    @property
    def command(self) -> str:
        """The command that runs the checks in the assignment's folder.

        Where a copy of this library is in that folder: uv, or the Makefile's copy of uv. Elsewhere:
        the Python that runs now, as the library is installed there.
        """
        if self.root.resolve() != Path(__file__).resolve().parents[1]:
            names = (name for name in ("python", "python3") if shutil.which(name) == sys.executable)
            return f"{next(names, shlex.quote(sys.executable))} -m pytest"
        own = Path(".uv", "bin", "uv")
        return f"{'uv' if shutil.which('uv') or not own.is_file() else own} run pytest"

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric.

        Raises:
            UsageError: it cannot be read.
        """
        try:
            return read_rubric(self.path / "rubric.toml")
        except RubricError as error:
            raise pytest.UsageError(str(error)) from error

    @cached_property
    def chapters(self) -> dict[str, str]:
        """The chapter of the course text about each problem that has one.

        Raises:
            UsageError: a chapter cannot be read.
        """
        try:
            return chapter_of_problems(self.root)
        except RubricError as error:
            raise pytest.UsageError(str(error)) from error

    @cached_property
    def problem_of(self) -> dict[str, str]:
        """The id of the problem that each check belongs to, in the rubric's order."""
        return self.rubric.problem_of_checks()

    def title(self, problem: str) -> str:
        """Return a problem's title as it stands within a sentence."""
        known = self.rubric.problems.get(problem)
        return within_a_sentence(known.title if known else problem)


def suite_folder(config: pytest.Config) -> SuiteFolder:
    """Return the suite of the project that pytest runs in."""
    return config.stash.setdefault(SUITE, SuiteFolder(config.rootpath / NAME))


def within_a_sentence(title: str) -> str:
    """Return a title as it stands within a sentence.

    >>> within_a_sentence("Rotary position embedding"), within_a_sentence("BPE training: speed")
    ('rotary position embedding', 'BPE training')
    """
    short = title.partition(":")[0]
    first = short.partition(" ")[0]
    # "RMSNorm" and "BPE" keep their capitals.
    return short if first[1:] != first[1:].lower() else short[:1].lower() + short[1:]


SUITE = pytest.StashKey[SuiteFolder]()
