"""The documents tell the truth: the tree, the dependencies, every command, every link."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from grader_tests.assignments import ROOT
from grader_tests.programs import run_python
from grader_tests.unit.test_repository import tracked_files

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:make|uv|cs336) [^`]+)`")
COMMAND = re.compile(r"^\s*(?:\$ )?((?:make|uv|cs336|\.ci/run)\b.*?)(?: +#.*)?$", re.MULTILINE)
UV_RUN = re.compile(r"(?:^|[;&] *)\S*\buv (run [^;&\n]+)", re.MULTILINE)
TREE_LINE = re.compile(r"^( *)(\S+)(?: {2,}(\S.*))?$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
# What is the reader's, and what a command makes beside the repository or where git ignores it.
ELSEWHERE = ("path/to/", "../", "data/", "runs/")


def commands() -> list[str]:
    """Return every command that a document shows, in blocks or within a sentence."""
    found: set[str] = set()
    for document in DOCUMENTS:
        # A command may go on in the next line.
        text = document.read_text(encoding="utf-8").replace("\\\n", " ")
        found |= {line for block in FENCED.findall(text) for line in COMMAND.findall(block)}
        found |= set(INLINE.findall(FENCED.sub("", text)))
    return sorted(found)


@cache
def help_of(*command: str) -> str:
    """Return what a command of this environment says of itself when asked for help."""
    environment = {**os.environ, "COLUMNS": "200"}
    asked = run_python(*command, "--help", cwd=ROOT, env=environment)
    assert asked.returncode == 0, asked.stderr
    return asked.stdout


def assert_understood(words: list[str], help_text: str) -> None:
    """Assert that options are offered and that paths exist."""
    options = {word.split("=")[0] for word in words if word.startswith("--")}
    unknown = {option for option in options if option not in help_text}
    assert not unknown, f"no such option: {unknown}"
    # A path may be an option's value.
    values = [word.partition("=")[2] if word.startswith("--") else word for word in words]
    paths = [
        value.split("::")[0] for value in values if "/" in value and not value.startswith(ELSEWHERE)
    ]
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert not missing, f"no such path: {missing}"


def assert_make_knows(words: list[str]) -> None:
    """Assert that make has these targets, and that what it would run is understood."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    dry_run = subprocess.run(
        ["make", "--dry-run", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert dry_run.returncode == 0, dry_run.stderr
    for step in UV_RUN.findall(dry_run.stdout):
        assert_uv_knows(shlex.split(step))


def assert_cs336_knows(words: list[str]) -> None:
    """Assert that the command line offers this subcommand with these options."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, function = project["project"]["scripts"]["cs336"].split(":")
    start = f"from {module} import {function}; {function}()"
    subcommand = [word for word in words[:1] if not word.startswith("-")]
    assert_understood(words, help_of("-c", start, *subcommand))


def assert_uv_knows(words: list[str]) -> None:
    """Assert that `uv run` finds this tool and the tool its options."""
    run, tool, *rest = words
    assert run == "run"
    match tool:
        case "cs336":
            assert_cs336_knows(rest)
        case "pytest":
            assert_understood(rest, help_of("-m", "pytest"))
        case "python":
            subcommand = [word for word in rest[2:3] if word.isalpha()]
            assert_understood(rest[2:], help_of(*rest[:2], *subcommand))
        case _:
            assert shutil.which(tool, path=Path(sys.executable).parent), f"no such tool: {tool}"


@pytest.mark.parametrize("command", commands())
def test_every_command_of_a_document_works(command: str) -> None:
    """Every command shown names a real target, subcommand, option and path."""
    tool, *rest = shlex.split(command)
    match tool:
        case "make":
            assert_make_knows(rest)
        case "uv":
            assert_uv_knows(rest)
        case "cs336":
            assert_cs336_knows(rest)
        case _:
            assert os.access(ROOT / tool, os.X_OK)


def tree() -> dict[str, str]:
    """Return the paths of README's tree, each with what is said about it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = next(block for block in FENCED.findall(text) if block.startswith("README.md"))
    said: dict[str, str] = {}
    folder = ""
    for indent, name, clause in TREE_LINE.findall(block):
        if not indent:
            folder = name if name.endswith("/") else ""
        said[folder + name if indent else name] = clause
    return said


def test_tree_names_only_what_is_there() -> None:
    """Every entry of README's tree exists and has its clause."""
    tracked = {path.as_posix() for path in tracked_files()}
    folders = {f"{parent.as_posix()}/" for path in tracked_files() for parent in path.parents}
    wrong = {
        path: clause
        for path, clause in tree().items()
        if path not in tracked | folders or not clause
    }
    assert not wrong, wrong


def test_tree_leaves_nothing_out() -> None:
    """README's tree has every top-level folder, every part of the packages."""
    entries: set[str] = set()
    for path in tracked_files():
        first, *inner = path.parts
        if inner:
            entries.add(f"{first}/")
        if first in {"cs336_basics", "cs336_checks", "cs336_grader"} and inner[0] != "__init__.py":
            entries.add(f"{first}/{inner[0]}{'/' if inner[1:] else ''}")
    assert entries <= tree().keys()


def test_every_dependency_has_its_reason() -> None:
    """README's table has a row for every package of pyproject.toml and for no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    groups += project["project"]["optional-dependencies"].values()
    names = {
        re.split(r"[^\w-]", package)[0]
        for group in groups
        for package in group
        if isinstance(package, str)
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Dependencies")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!package)([^|]+) \| \S", table, re.MULTILINE)
    assert {name for row in rows for name in row.split(", ")} == names - {"cs336"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    """Every link within the project has a target."""
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert not [link for link in links if not (document.parent / link).exists()]
