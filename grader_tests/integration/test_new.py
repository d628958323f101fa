"""``cs336 new``: what it writes can be tested, graded, audited and handed out at once."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cs336_checks import draws, memory, properties, snapshots
from cs336_grader.new import files, package_name
from grader_tests.assignments import ROOT, TINY
from grader_tests.commands import PROGRAM

FIVE = {
    "test": "Total                                4 / 4",
    "grade": "4.0 / 4 (100.0 %)",
    "audit": "Sound: all of this holds.",
    "handout": "Proved in",
    "grade SUBMISSION=../students": "0.0 / 4 (0.0 %)",
}


HEADER = """
import math, pathlib
import numpy as np
import pytest
import torch
from cs336_checks.catalogue import Mistakes, Variants
from cs336_checks.comparison import assert_refuses, is_finite, require
from cs336_checks.memory import MEBIBYTE
from cs336_checks.properties import gradient
from cs336_checks.rubric import read_rubric
"""


def made(folder: Path) -> subprocess.CompletedProcess[str]:
    """Write an assignment to a folder."""
    command = [*PROGRAM, "new", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_five_commands_of_its_readme(tmp_path: Path) -> None:
    """Each ends well and says what a new author hopes for."""
    folder = tmp_path / "Linear algebra"
    result = made(folder)
    assert result.returncode == 0, result.stderr
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for words, told in FIVE.items():
        assert f"make {words} " in readme
        command = ["make", f"PYTHON={sys.executable}", *words.split()]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert told in ended.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Linear algebra", "students"]
    students = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path / "students",
        capture_output=True,
        text=True,
        check=False,
    )
    assert students.returncode == 1
    assert "Begin here: moving_average (Moving average)." in students.stdout
    assert "Run its checks: uv run pytest -k moving_average" in students.stdout
    report = json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))
    assert report["score"] == 0.0


def test_a_known_mistake_is_named_when_it_is_graded(tmp_path: Path) -> None:
    """Its catalogue is one module, no package."""
    folder, wrong = tmp_path / "sums", tmp_path / "wrong"
    assert made(folder).returncode == 0
    shutil.copytree(folder, wrong)
    averages = wrong / "sums" / "averages.py"
    text = averages.read_text(encoding="utf-8")
    averages.write_text(text.replace("range(len(values) - width + 1)", "range(len(values))"))
    command = [*PROGRAM, "grade", str(wrong), "--assignment", str(folder), "--seed", "3"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "when the end is averaged over what there is" in ended.stdout, ended.stderr


def test_what_failed_is_run_alone_by_the_command_that_is_told(tmp_path: Path) -> None:
    """The library is installed beside Python, not in the assignment: uv would not find it."""
    folder = tmp_path / "sums"
    assert made(folder).returncode == 0
    averages = folder / "sums" / "averages.py"
    averages.write_text("def moving_average(values, width):\n    return values\n")
    first = suite(folder)
    told = re.search(r"Run it alone: (.*)", first)
    assert told is not None, first
    command = shlex.split(told[1])
    assert Path(shutil.which(command[0]) or "") == Path(sys.executable)
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert told[0] in ended.stdout, ended.stdout + ended.stderr


def suite(folder: Path) -> str:
    """Run an assignment's checks and return what is told."""
    command = [sys.executable, "-m", "pytest"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    """It is a usage error; an empty folder is taken."""
    (tmp_path / "kept").write_text("mine", encoding="utf-8")
    result = made(tmp_path)
    assert result.returncode == 2
    assert "is no empty folder" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("folder", "package"),
    [
        ("numerics", "numerics"),
        ("Linear algebra 1", "linear_algebra_1"),
        ("1st", "assignment_1st"),
        ("class", "assignment_class"),
        ("tests", "assignment_tests"),
        ("math", "assignment_math"),
        ("Übung", "bung"),
        ("...", "assignment"),
    ],
)
def test_the_package_has_a_name_that_python_takes(folder: str, package: str) -> None:
    """Made of the folder's, and of nothing that is there already."""
    assert package_name(Path(folder)) == package


def test_the_small_assignment_is_made_of_it() -> None:
    """Its first problem, word for word."""
    own = dict(files("statistics_basics"))
    shared = [
        "statistics_basics/averages.py",
        "tests/__init__.py",
        "tests/conftest.py",
        "tests/test_averages.py",
    ]
    for name in shared:
        assert (TINY / name).read_text(encoding="utf-8") == own[name]


def test_every_example_of_the_page_on_the_library_runs(tmp_path: Path) -> None:
    """In an assignment that has just been made."""
    for name, text in files("sums"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    adapters = tmp_path / "tests" / "adapters.py"
    refusing = "    if width < 1:\n        raise ValueError(width)\n    return moving_average"
    text = adapters.read_text(encoding="utf-8")
    adapters.write_text(text.replace("    return moving_average", refusing), encoding="utf-8")
    page = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    examples = [block for block in blocks if not block.startswith("pytest_plugins")]
    assert len(examples) == len(blocks) - 1
    source = HEADER + "\n\n".join(examples)
    (tmp_path / "tests" / "test_documented.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "tests/test_documented.py"]
    for options, code in (["--update-snapshots"], 1), ([], 0):
        ended = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stdout
    assert f"{source.count('def test_')} passed" in ended.stdout


def test_the_page_names_what_a_check_can_use() -> None:
    """Every public function and class of the modules that it tells of."""
    page = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    for module in (draws, properties, memory, snapshots):
        own = [
            n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__
        ]
        public = {"Draws", "Memory", "Snapshot"} | {name for name in own if module is properties}
        for name in public - {"require_shape"}:
            assert name in page, name
    for name in vars(draws.Draws):
        if not name.startswith("_"):
            assert f"draw.{name}(" in page, name
