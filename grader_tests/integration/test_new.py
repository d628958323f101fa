"""``cs336 new``: what it writes can be tested, graded, audited and handed out at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cs336_grader.new import files, package_name
from grader_tests.assignments import TINY
from grader_tests.commands import PROGRAM

FIVE = {
    "test": "Total                                4 / 4",
    "grade": "4.0 / 4 (100.0 %)",
    "audit": "Sound: all of this holds.",
    "handout": "Proved in",
    "grade SUBMISSION=../students": "0.0 / 4 (0.0 %)",
}


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
    report = json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))
    assert report["score"] == 0.0


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
