"""The command ``cs336 handout``, from an author's folder to a student's first run and an update."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader.handout import build, hand_out
from grader_tests.assignments import ROOT, TINY
from grader_tests.commands import PROGRAM
from grader_tests.programs import run_python

CHECKS = Path("tests", "test_totals.py")


@pytest.fixture
def author(tmp_path: Path) -> Path:
    """A copy of the small assignment, to change something in."""
    shutil.copytree(TINY, tmp_path / "author", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "author"


def handout(author: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [*PROGRAM, "handout", f"--assignment={author}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def run_as_student(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the checks in a student's repository."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    options = ("-p", "no:cacheprovider", "-p", "no:randomly")
    return run_python(
        *("-m", "pytest", *options, *arguments),
        cwd=folder,
        env={**environment, "COLUMNS": "80"},
        timeout=600,
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_from_the_author_to_an_update(author: Path, tmp_path: Path) -> None:
    """It is handed out, solved, and a check that the author mends reaches the student."""
    student = tmp_path / "student"
    made = handout(author, str(student))
    assert made.returncode == 0, made.stdout + made.stderr
    assert "9 checks fail on stubs and pass on the reference" in made.stdout
    assert contents(student) == dict(build(load_assignment(author)).files)
    assert handout(author, str(student)).returncode == 2

    shutil.copytree(author / "statistics_basics", student / "statistics_basics", dirs_exist_ok=True)
    shutil.copyfile(author / "tests/adapters.py", student / "tests/adapters.py")
    assert run_as_student(student, "-q").returncode == 0

    mended = (author / CHECKS).read_text(encoding="utf-8").replace("integers(8,", "integers(9,")
    (author / CHECKS).write_text(mended, encoding="utf-8")
    before = contents(student)
    updated = handout(author, "--update", str(student))
    assert updated.returncode == 0, updated.stdout + updated.stderr
    assert "updated: tests/test_totals.py" in updated.stdout
    after = contents(student)
    changed = {file for file in before | after if before.get(file) != after.get(file)}
    assert changed == {CHECKS.as_posix(), ".handout.json"}
    assert run_as_student(student, "-q").returncode == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "tests/test_totals.py",
            "assert totals == wanted",
            "assert False",
            "test_running_totals is failed with the reference put back",
        ),
        (
            "tests/test_counting.py",
            'assert adapters.run_count_words("") == {}, "A word was found."',
            "assert adapters",
            "test_count_words_of_nothing is passed on the stubs",
        ),
        (
            "tests/test_averages.py",
            "constant = float(draw.integers(low=1, high=10))",
            "constant = float(draw.missing)",
            "test_moving_average_of_a_constant does not say that moving_average is not written",
        ),
        (
            "tests/test_averages.py",
            "import pytest\n",
            "import pytest\nimport statistics_variants\n",
            "statistics_variants stays behind",
        ),
    ],
    ids=["reference fails", "stub passes", "other reason", "leak"],
)
def test_what_does_not_prove_itself_is_not_handed_out(  # noqa: PLR0917 (what is changed, and what of it is told)
    author: Path, tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    """It says what does not hold and writes nothing."""
    text = (author / file).read_text(encoding="utf-8")
    assert old in text
    (author / file).write_text(text.replace(old, new), encoding="utf-8")
    made = handout(author, str(tmp_path / "student"))
    assert made.returncode == 1, made.stdout + made.stderr
    assert said in made.stderr
    assert not (tmp_path / "student").exists()


def test_a_wrong_command_says_so(author: Path, tmp_path: Path) -> None:
    """Where to, and what."""
    assert handout(author).returncode == 2
    assert handout(author, str(author / "student")).returncode == 2
    assert handout(author, "--update", str(tmp_path)).returncode == 2
    unknown = handout(author, str(tmp_path / "student"), "--track", "fast")
    assert unknown.returncode == 2
    assert "There is no track 'fast'. There are: none." in unknown.stderr


def test_the_first_run_of_a_student(tmp_path: Path) -> None:
    """Of this repository's own assignment: no traceback, but where to begin."""
    hand_out(build(load_assignment(ROOT)), tmp_path / "student")
    run = run_as_student(tmp_path / "student", "-k", "linear or rope")
    assert run.returncode == 1
    assert "Begin here: linear (Linear layer)." in run.stdout
    assert "uv run pytest -k linear" in run.stdout
    assert "Traceback" not in run.stdout
    assert "FAILED" not in run.stdout
    progress = run.stdout.partition(" progress")[2]
    assert max(map(len, progress.splitlines())) <= 80
