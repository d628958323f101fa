"""What an assignment's pyproject.toml says, and what of it is installed here."""

import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

# What an assignment without a pyproject.toml needs.
LEAST = {"requires-python": ">=3.11", "dependencies": ["pytest>=8.3,<10"]}


def project_tables(folder: Path) -> tuple[dict[str, object], dict[str, object]]:
    """The author's tables ``project`` and ``tool.uv``."""
    path = folder / "pyproject.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return LEAST | tables.get("project", {}), tables.get("tool", {}).get("uv", {})


def dependencies(folder: Path) -> list[str]:
    """What an assignment needs, as its author wrote it."""
    project, _ = project_tables(folder)
    needed = project["dependencies"]
    return [str(one) for one in needed] if isinstance(needed, list) else []


def unmet(needed: Iterable[str]) -> list[str]:
    """What is needed and is not installed here in a version that fits."""
    missing = []
    for requirement in map(Requirement, needed):
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            missing.append(f"{requirement} is not installed here")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            missing.append(f"{requirement} is installed here as {version}")
    return missing


def pinned(needed: Iterable[str]) -> list[str]:
    """What is needed, and all that this needs in turn, in the versions that are installed here.

    Raises:
        PackageNotFoundError: something is not installed.
    """
    versions: dict[str, str] = {}
    waiting, seen = [Requirement(one) for one in needed], set()
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if (name, *sorted(one.extras)) in seen:
            continue
        seen.add((name, *sorted(one.extras)))
        # A build of its own, as "+cpu" tells, is not to be had everywhere.
        versions[name] = Version(metadata.version(name)).public
        waiting += required_by(name, one.extras)
    return [f"{name}=={version}" for name, version in sorted(versions.items())]


def required_by(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    """What an installed package needs here, with some of its extras."""
    for one in map(Requirement, metadata.requires(name) or ()):
        if one.marker is None or any(one.marker.evaluate({"extra": x}) for x in ("", *extras)):
            yield one
