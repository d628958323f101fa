"""Imports the submission of another folder as if it were the one beside the suite."""

import importlib
import sys
import tomllib
from pathlib import Path


def prefer(folder: Path, suite: str) -> None:
    """Look for modules in a folder first; pytest has put others before it meanwhile.

    Args:
        folder: the submission's folder.
        suite: the name of the package of checks, which holds the adapters.
    """
    checks = importlib.import_module(suite)
    for paths, place in ((sys.path, folder), (checks.__path__, folder / suite)):
        if paths[0] != str(place):
            paths.insert(0, str(place))


def pretend_installed(folder: Path, into: Path) -> None:
    """Let the packages of a folder find their own version, which many ask for when imported.

    Args:
        folder: the submission's folder.
        into: where to write what ``importlib.metadata`` looks for.
    """
    names = {init.parent.name for init in folder.glob("*/__init__.py")}
    project = folder / "pyproject.toml"
    if project.is_file():
        table = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
        names.add(table.get("name", folder.name))
    for name in names:
        info = into / f"{name.replace('-', '_')}-0.dist-info"
        info.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n"
        (info / "METADATA").write_text(text, encoding="utf-8")
    sys.path.append(str(into))
