"""The recipes of docs/authoring.md, one after the other, in what ``cs336 new`` wrote."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from grader_tests.assignments import ROOT
from grader_tests.commands import PROGRAM

PAGE = ROOT / "docs" / "authoring.md"
FIRST_LINE = "# "
STUDENTS = "students"


def recipes() -> dict[str, list[str]]:
    """Return the blocks of each recipe, by its title."""
    section = PAGE.read_text(encoding="utf-8").partition("## Another assignment")[2]
    found: dict[str, list[str]] = {}
    for part in section.split("\n### ")[1:]:
        title = part.partition("\n")[0]
        found[title] = re.findall(r"```(?:python|toml)\n(.*?)```", part, re.DOTALL)
    return found


def apply(block: str, folder: Path) -> None:
    """Put a block into the file that its first line names."""
    first, _, text = block.partition("\n")
    path = folder / first.removeprefix(FIRST_LINE)
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    if path.suffix == ".toml":
        there = with_tables(there, text)
    else:
        there = f"{there}\n\n{text}" if there else text
    path.write_text(there, encoding="utf-8")


def with_tables(rubric: str, tables: str) -> str:
    """Return a rubric with keys added to its tables, and with tables that it did not have."""
    for header, keys in re.findall(r"^(\[.*\])\n((?:[^\[\n].*\n)*)", tables, re.MULTILINE):
        if f"{header}\n" in rubric:
            rubric = rubric.replace(f"{header}\n", f"{header}\n{keys}")
        else:
            rubric += f"\n{header}\n{keys}"
    return rubric


def ended(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of this Python in a folder."""
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )


def program(folder: Path, *words: str) -> str:
    """Run a command of the program, which must end well, and return what it says."""
    result = subprocess.run(
        [*PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An assignment that was handed out before all recipes were followed."""
    place = tmp_path_factory.mktemp("author")
    program(place, "new", "sums")
    made = place / "sums"
    program(made, "handout", f"../{STUDENTS}", "--assignment", ".")
    for blocks in recipes().values():
        for block in blocks:
            apply(block, made)
    ended(made, "pytest", "-q", "--update-snapshots")
    return made


def test_its_checks_pass(folder: Path) -> None:
    """Those of both problems; a track can be run alone."""
    every = ended(folder, "pytest")
    assert every.returncode == 0, every.stdout
    assert "Total                                6 / 6" in every.stdout
    alone = ended(folder, "pytest", "--track", "extremes")
    assert "2 passed" in alone.stdout
    assert "moving_average" not in alone.stdout


def test_its_audit_is_sound(folder: Path) -> None:
    """The mistake fails a check and the variant none."""
    assert ended(folder, "cs336_grader.audit.fingerprints", ".").returncode == 0
    told = program(folder, "audit", "--assignment", ".", "--report-dir", "report")
    assert "Sound: all of this holds." in told
    mistakes = (folder / "tests" / "_fingerprints" / "mistakes.json").read_text(encoding="utf-8")
    assert "running_maximum/from_zero" in mistakes


def test_what_was_handed_out_is_brought_up_to_date(folder: Path) -> None:
    """New checks and stubs come, the student's adapters stay, and the new adapter is shown."""
    students = folder.parent / STUDENTS
    adapters = (students / "tests" / "adapters.py").read_bytes()
    told = program(folder, "handout", "--update", str(students), "--assignment", ".")
    assert "def run_running_maximum" in told
    assert (students / "tests" / "adapters.py").read_bytes() == adapters
    assert (students / "sums" / "extremes.py").is_file()
    rubric = tomllib.loads((students / "tests" / "rubric.toml").read_text(encoding="utf-8"))
    assert rubric["tracks"].keys() == {"averages", "extremes"}
    (students / "tests" / "adapters.py").write_bytes(
        adapters + told[told.index("def run_running_maximum") :].encode()
    )
    run = ended(students, "pytest")
    assert "running_maximum                      0 / 2    not written yet" in run.stdout


def test_each_recipe_has_something_to_put_in() -> None:
    """The headings are those that the page promises."""
    assert {title for title, blocks in recipes().items() if blocks} == {
        "Add a problem",
        "Add a check",
        "Add a mistake",
        "Add a right variant",
        "Add a track",
    }
