"""What a submission says of itself: its project's name and version, and what it needs.

Read as data. A package that looks up its own version while it is imported finds it, though nothing
is installed.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Set
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.utils import canonicalize_name

from cs336_grader.records import CouldNotJudgeError

from .interpreters import Interpreter
from .notes import Notes
from .requirements import PYTHON, Wanted, locked, pinned_python, required, required_python
from .sources import Source

MAX_MANIFEST_BYTES = 2**18
LOCK_FILES = ("uv.lock", "poetry.lock", "pdm.lock")
MAX_LOCK_BYTES = 2**22
MAX_DECLARED = 500
PROJECT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
VERSION = re.compile(r"[A-Za-z0-9.+!_-]{1,64}")
UNKNOWN_VERSION = "0"


class Manifests:
    """The project files above the adapters and above the packages that are taken.

    Args:
        source: the submission.
        files: the adapters and all that is taken, the adapters first.
        packages: the names of the packages that are taken.
        python: what the submission is run in.
        notes: takes what cannot be read.

    Attributes:
        versions: the version of each project, by its name.
        declared: the names of the packages that the projects need.
        wanted: the versions of each package that files ask for.
        pythons: the versions of Python that the nearest file of each kind asks for.
    """

    def __init__(
        self,
        source: Source,
        files: Iterable[PurePosixPath],
        packages: Set[str],
        python: Interpreter,
        notes: Notes,
    ) -> None:
        self.source = source
        self.python = python
        self.notes = notes
        self.versions: dict[str, str] = {}
        self.pythons: dict[str, Wanted] = {}
        folders = dict.fromkeys(folder for path in files for folder in path.parents)
        needed = [wanted for folder in folders for wanted in self.read_folder(folder)]
        # A package that asks for its own version is no less right for having no project file.
        for name in packages:
            if PROJECT_NAME.fullmatch(name):
                self.versions.setdefault(canonicalize_name(name), UNKNOWN_VERSION)
        names = {one.name for one in needed} - self.versions.keys()
        self.declared = tuple(sorted(names)[:MAX_DECLARED])
        self.wanted: dict[str, list[Wanted]] = {name: [] for name in self.declared}
        for wanted in chain(needed, self.read_locks(folders)):
            if wanted.name in self.wanted:
                self.wanted[wanted.name].append(wanted)
        if self.wanted_python is not None:
            self.notes.say(
                f"It asks for {self.wanted_python} and is graded with {python.version}."
                " --worker-python runs it in another."
            )

    def read_folder(self, folder: PurePosixPath) -> list[Wanted]:
        """Note a folder's project and version of Python, and return the packages that it needs."""
        version = self.python.version
        environment = {
            "python_full_version": version,
            "python_version": ".".join(version.split(".")[:2]),
        }
        project = self.read_project(folder / "pyproject.toml")
        self.add_version(project.get("project"))
        pinned = pinned_python(self.read_text(folder / ".python-version"), ".python-version")
        if pinned is not None:
            self.pythons.setdefault(pinned.origin, pinned)
        lines = self.read_text(folder / "requirements.txt").splitlines()
        return [
            *required(requirements(project), "pyproject.toml", environment),
            *required(lines, "requirements.txt", environment),
        ]

    def read_locks(self, folders: Iterable[PurePosixPath]) -> Iterator[Wanted]:
        """The versions of declared packages in the lock files of some folders."""
        for folder in folders:
            for name in LOCK_FILES:
                text = self.read_text(folder / name, MAX_LOCK_BYTES)
                yield from locked(text, name, self.wanted.keys())

    @property
    def wanted_python(self) -> Wanted | None:
        """The Python that the submission asks for, if it is graded with another."""
        version = self.python.version
        return next((one for one in self.pythons.values() if not one.is_met(version)), None)

    @property
    def other_versions(self) -> dict[str, str]:
        """Each package that is installed in another version than asked for, with both in words."""
        found: dict[str, str] = {}
        for name, asked in self.wanted.items():
            present = self.python.version_of(name)
            for one in asked:
                if present is not None and not one.is_met(present):
                    found[name] = f"{one}, but {present} is installed"
        return found

    @property
    def unmet(self) -> dict[str, str]:
        """The versions that are asked for and not installed, in words, by the name in imports.

        The name of Python is "Python". A package that is not installed is entered by its own name.
        """
        found = {
            name.replace("-", "_"): f"{self.wanted[name][0]}, which is not installed"
            for name in self.lacking
        }
        for name, told in self.other_versions.items():
            modules = filter(str.isidentifier, self.python.modules_of(name))
            found |= dict.fromkeys(modules, told)
        if self.wanted_python is not None:
            found[PYTHON] = f"{self.wanted_python}, but {self.python.version} runs it"
        return found

    @property
    def lacking(self) -> list[str]:
        """The names of the packages that are declared and not installed."""
        return [name for name in self.declared if not self.python.is_distribution(name)]

    def declares(self, package: str) -> bool:
        """Whether a package that is imported by this name is declared by the same name."""
        return canonicalize_name(package) in self.declared

    def read_text(self, path: PurePosixPath, limit: int = MAX_MANIFEST_BYTES) -> str:
        """A small file's text; empty where there is none."""
        if self.source.sizes.get(path, limit + 1) > limit:
            return ""
        try:
            return self.source.read(path).decode("utf-8-sig", "replace")
        except CouldNotJudgeError as error:
            self.notes.say(f"{error}.")
            return ""

    def read_project(self, path: PurePosixPath) -> dict[str, Any]:
        """A pyproject.toml's data; empty where there is none or it is no TOML."""
        try:
            return tomllib.loads(self.read_text(path))
        except (ValueError, RecursionError):
            self.notes.say(f"{path} is no valid TOML and was not read.")
            return {}

    def add_version(self, project: object) -> None:
        """Remember a project's name and version, if it gives a proper name."""
        if not isinstance(project, dict):
            return
        name, version = project.get("name"), project.get("version")
        if isinstance(name, str) and PROJECT_NAME.fullmatch(name):
            known = isinstance(version, str) and VERSION.fullmatch(version)
            known_version = str(version) if known else UNKNOWN_VERSION
            self.versions.setdefault(canonicalize_name(name), known_version)
        asked = required_python(project.get("requires-python"), "pyproject.toml")
        if asked is not None:
            self.pythons.setdefault(asked.origin, asked)

    def write(self, folder: Path) -> None:
        """Write what ``importlib.metadata`` looks for, except for what is installed anyway."""
        for name, version in self.versions.items():
            if self.python.is_distribution(name):
                continue
            info = folder / f"{name.replace('-', '_')}-{version.replace('-', '_')}.dist-info"
            info.mkdir(mode=0o700, exist_ok=True)
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            (info / "METADATA").write_text(text, encoding="utf-8")


def requirements(project: dict[str, Any]) -> Iterator[object]:
    """All that a pyproject.toml says its project needs."""
    table = project.get("project")
    table = table if isinstance(table, dict) else {}
    groups = [table.get("dependencies")]
    for extras in (table.get("optional-dependencies"), project.get("dependency-groups")):
        groups += list(extras.values()) if isinstance(extras, dict) else []
    return (line for group in groups if isinstance(group, list) for line in group)
