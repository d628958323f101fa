"""What a submission says of itself: its project's name and version, and what it needs.

Read as data. A package that looks up its own version while it is imported finds it, though nothing
is installed.
"""

import re
import tomllib
from collections.abc import Iterable, Set
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from cs336_grader.records import CouldNotJudgeError

from .interpreters import Interpreter
from .notes import Notes
from .sources import Source

MAX_MANIFEST_BYTES = 2**18
MAX_DECLARED = 500
PROJECT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
VERSION = re.compile(r"[A-Za-z0-9.+!_-]{1,64}")
MAX_REQUIREMENT = 500
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
        wanted_python: the versions of Python that the nearest project which says so asks for.
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
        self.wanted_python = ""
        needed: set[str] = set()
        for folder in dict.fromkeys(folder for path in files for folder in path.parents):
            project = self.read_project(folder / "pyproject.toml")
            self.add_version(project.get("project"))
            needed |= set(requirements(project))
            needed |= set(self.read_requirements(folder / "requirements.txt"))
        # A package that asks for its own version is no less right for having no project file.
        for name in packages:
            if PROJECT_NAME.fullmatch(name):
                self.versions.setdefault(canonicalize_name(name), UNKNOWN_VERSION)
        self.declared = tuple(sorted(needed - self.versions.keys())[:MAX_DECLARED])
        if self.asks_for_another_python:
            self.notes.say(
                f"It asks for Python {self.wanted_python} and is graded with {python.version}."
            )

    @property
    def asks_for_another_python(self) -> bool:
        """Whether the project asks for another Python than the one it is graded with."""
        try:
            return not SpecifierSet(self.wanted_python).contains(self.python.version)
        except InvalidSpecifier:
            return False

    @property
    def lacking(self) -> list[str]:
        """The names of the packages that are declared and not installed."""
        return [name for name in self.declared if not self.python.is_distribution(name)]

    def declares(self, package: str) -> bool:
        """Whether a package that is imported by this name is declared by the same name."""
        return canonicalize_name(package) in self.declared

    def read_text(self, path: PurePosixPath) -> str:
        """A small file's text; empty where there is none."""
        if self.source.sizes.get(path, MAX_MANIFEST_BYTES + 1) > MAX_MANIFEST_BYTES:
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

    def read_requirements(self, path: PurePosixPath) -> list[str]:
        """The names in a requirements.txt."""
        return names_of(self.read_text(path).splitlines())

    def add_version(self, project: object) -> None:
        """Remember a project's name and version, if it gives a proper name."""
        if not isinstance(project, dict):
            return
        name, version = project.get("name"), project.get("version")
        if isinstance(name, str) and PROJECT_NAME.fullmatch(name):
            known = isinstance(version, str) and VERSION.fullmatch(version)
            known_version = str(version) if known else UNKNOWN_VERSION
            self.versions.setdefault(canonicalize_name(name), known_version)
        wanted = project.get("requires-python")
        self.wanted_python = self.wanted_python or str(wanted or "")[:MAX_REQUIREMENT]

    def write(self, folder: Path) -> None:
        """Write what ``importlib.metadata`` looks for, except for what is installed anyway."""
        for name, version in self.versions.items():
            if self.python.is_distribution(name):
                continue
            info = folder / f"{name.replace('-', '_')}-{version.replace('-', '_')}.dist-info"
            info.mkdir(mode=0o700, exist_ok=True)
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            (info / "METADATA").write_text(text, encoding="utf-8")


def requirements(project: dict[str, Any]) -> list[str]:
    """The names of all that a pyproject.toml says its project needs."""
    table = project.get("project")
    table = table if isinstance(table, dict) else {}
    groups = [table.get("dependencies")]
    for extras in (table.get("optional-dependencies"), project.get("dependency-groups")):
        groups += list(extras.values()) if isinstance(extras, dict) else []
    return [name for group in groups if isinstance(group, list) for name in names_of(group)]


def names_of(lines: list[Any]) -> list[str]:
    """The package that each requirement names; what is no requirement is passed over."""
    found: list[str] = []
    for line in lines:
        if isinstance(line, str) and len(line) <= MAX_REQUIREMENT:
            try:
                requirement = Requirement(line.partition("#")[0])
            except InvalidRequirement:
                continue
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                found.append(canonicalize_name(requirement.name))
    return found
