"""The repository keeps its own rules: sizes, names, what is tracked, how the rubric fits the suite.

Everything is read from what git tracks, so a scratch file never fails a run.
"""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader_tests.assignments import ROOT

MOST_LINES_OF_A_FILE = 400
# Submissions have all adapters in one file, and each is a signature, a docstring and a call.
AS_LONG_AS_IT_TAKES = {Path("tests/adapters.py")}
MOST_LINES_OF_A_FUNCTION = 50
MOST_BYTES_OF_FIXTURES = 5_000_000
NAMES_THAT_SAY_NOTHING = {"base", "common", "core", "helpers", "manager", "utils"}
# The brackets keep these patterns from matching the line they are written in.
MACHINE_PATH = re.compile(r"(?<![\w.~}])/(?:root|work|opt|home/\w+|tmp/(?:team|bash))(?![\w-])")
PACKAGE_HOST = re.compile(r"\b(?:pypi[.]org|pythonhosted[.]org|download[.]pytorch[.]org|npmjs[.])")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tracked_files() -> tuple[Path, ...]:
    """Return every tracked file, relative to the root. Skips the test where git cannot tell."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git cannot say here what is tracked")
    paths = (Path(name) for name in listing.stdout.decode().split("\0") if name)
    return tuple(path for path in paths if (ROOT / path).is_file())


def tracked_modules() -> Iterator[tuple[Path, ast.Module, str]]:
    """Yield path, syntax tree and text of every tracked Python file."""
    for path in tracked_files():
        if path.suffix == ".py":
            text = (ROOT / path).read_text(encoding="utf-8")
            yield path, ast.parse(text), text


@cache
def problems() -> dict[str, dict[str, Any]]:
    """Return the rubric's problems by id."""
    rubric = tomllib.loads((ROOT / "tests/rubric.toml").read_text(encoding="utf-8"))
    listed: dict[str, dict[str, Any]] = rubric["problems"]
    return listed


def checks_in_rubric() -> list[str]:
    """Return every check the rubric names, as often as it names it."""
    names: list[str] = []
    for problem in problems().values():
        core = problem.get("core", [])
        parts = core.values() if isinstance(core, dict) else [core]
        for checks in (*parts, problem.get("edge", []), problem.get("advice", [])):
            names += checks
    return names


def checks_in_suite() -> list[tuple[str, str]]:
    """Return name and docstring of every test function of the suite."""
    return [
        (node.name, ast.get_docstring(node) or "")
        for path, tree, _ in tracked_modules()
        if path.parent == Path("tests") and path.name.startswith("test_")
        for node in ast.walk(tree)
        if isinstance(node, Function) and node.name.startswith("test_")
    ]


def test_no_file_is_longer_than_a_sitting() -> None:
    """No source file has more than 400 lines."""
    lengths = {
        str(path): text.count("\n")
        for path, _, text in tracked_modules()
        if path not in AS_LONG_AS_IT_TAKES
    }
    too_long = {path: lines for path, lines in lengths.items() if lines > MOST_LINES_OF_A_FILE}
    assert not too_long, too_long


def test_no_function_is_longer_than_a_screen() -> None:
    """No function has more than 50 lines, its docstring included."""
    too_long = {
        f"{path}:{node.lineno} {node.name}": lines
        for path, tree, _ in tracked_modules()
        for node in ast.walk(tree)
        if isinstance(node, Function)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    }
    assert not too_long, too_long


def test_every_module_has_a_name_that_says_what_it_is() -> None:
    """No module or package is called utils, helpers, common, core, base or manager."""
    nameless = [
        str(path)
        for path in tracked_files()
        if path.suffix == ".py" and NAMES_THAT_SAY_NOTHING & set(path.with_suffix("").parts)
    ]
    assert not nameless, nameless


def test_no_file_names_the_machine_it_was_written_on() -> None:
    """No tracked file holds an absolute path of one machine or the host of a package registry."""
    findings = [
        f"{path}:{number}: {found[0]}"
        for path in tracked_files()
        for number, line in enumerate((ROOT / path).read_bytes().split(b"\n"), start=1)
        for pattern in (MACHINE_PATH, PACKAGE_HOST)
        if (found := pattern.search(line.decode(errors="replace")))
    ]
    assert not findings, findings


def test_no_lock_file_is_tracked() -> None:
    """Versions are bounded in pyproject.toml; a lock file lists download addresses."""
    assert not [path for path in tracked_files() if path.name == "uv.lock"]


def test_fixtures_are_small() -> None:
    """The fixtures of the suite have less than 5 MB together."""
    sizes = {
        str(path): (ROOT / path).stat().st_size
        for path in tracked_files()
        if path.is_relative_to("tests/fixtures")
    }
    assert sum(sizes.values()) < MOST_BYTES_OF_FIXTURES, sizes


def test_rubric_and_suite_name_the_same_checks() -> None:
    """Every check of the rubric is in the suite once, and every test function is in the rubric."""
    in_rubric = Counter(checks_in_rubric())
    in_suite = Counter(name for name, _ in checks_in_suite())
    differences = {
        name: f"{in_rubric[name]} times in the rubric, {in_suite[name]} times in tests/"
        for name in in_rubric | in_suite
        if not in_rubric[name] == in_suite[name] == 1
    }
    assert not differences, differences


def test_every_check_says_its_requirement_in_one_sentence() -> None:
    """The docstring of a check is one sentence, because a report prints it."""
    sentence_ends = re.compile(r"[.!?](?=\s+[A-Z]|\s*$)")
    unclear = {
        name: requirement
        for name, requirement in checks_in_suite()
        if len(sentence_ends.findall(requirement)) != 1 or "\n\n" in requirement
    }
    assert not unclear, unclear


def test_every_adapter_belongs_to_a_problem() -> None:
    """Every function published in tests/adapters.py is used by a problem, and no other is."""
    tree = ast.parse((ROOT / "tests/adapters.py").read_text(encoding="utf-8"))
    published = {
        node.name
        for node in tree.body
        if isinstance(node, Function) and not node.name.startswith("_")
    }
    used = {name for problem in problems().values() for name in problem["adapters"]}
    assert published == used


def test_actions_are_pinned() -> None:
    """Every action of a workflow is pinned by a full commit, with its version beside it."""
    pinned = re.compile(r"uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    loose = [
        line.strip()
        for path in tracked_files()
        if path.is_relative_to(".github/workflows")
        for line in (ROOT / path).read_text(encoding="utf-8").splitlines()
        if "uses:" in line and not pinned.search(line)
    ]
    assert not loose, loose
