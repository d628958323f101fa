"""What a student packs to hand in: checked, whole, and the same bytes for the same files."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader_tests.assignments import ROOT, TINY
from grader_tests.commands import ENVIRONMENT
from grader_tests.unit.submissions import write

ADAPTERS = "def run_count_words(text):\n    return {}\ndef run_moving_average(v, w):\n    raise "
FILES = {
    "tests/rubric.toml": (TINY / "tests" / "rubric.toml").read_text(encoding="utf-8"),
    "tests/adapters.py": ADAPTERS + "NotImplementedError\n",
    "statistics_basics/__init__.py": "",
    "statistics_basics/words.py": "x = 1\n",
    "statistics_basics/__pycache__/words.pyc": "cached",
    "report.md": "# Report\n",
    "README.md": "# Handed out\n",
}


def pack(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a student's repository."""
    return subprocess.run(
        [sys.executable, "-m", "cs336_checks.submission"],
        cwd=folder,
        env={**ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_handed_in_is_told(tmp_path: Path) -> None:
    """The package, the adapters and what a person reads; a second run gives the same bytes."""
    folder = write(tmp_path / "own", FILES)
    done = pack(folder)
    assert done.returncode == 0, done.stderr
    assert "Will be graded (1 of 3): count_words" in done.stdout
    assert "No adapter is filled in for: moving_average, running_totals" in done.stdout
    assert zipfile.ZipFile(folder / "submission.zip").namelist() == [
        *("report.md", "statistics_basics/__init__.py", "statistics_basics/words.py"),
        "tests/adapters.py",
    ]
    assert pack(folder).stdout == done.stdout


def test_a_later_function_takes_the_place_of_a_stub(tmp_path: Path) -> None:
    """As it does when Python runs the file."""
    later = FILES["tests/adapters.py"] + "def run_moving_average(v, w):\n    return []\n"
    done = pack(write(tmp_path / "own", {**FILES, "tests/adapters.py": later}))
    assert "Will be graded (2 of 3): moving_average, count_words" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tests/adapters.py", "def run(:\n", "tests/adapters.py, line 1: "),
        ("tests/adapters.py", "", "No function of tests/adapters.py is filled in."),
        ("statistics_basics/words.py", "x =\n", "statistics_basics/words.py, line 1: "),
        ("statistics_basics/data.bin", "x" * (21 * 2**20), "The largest is statistics_basics/data"),
    ],
)
def test_what_cannot_be_graded_is_not_packed(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    """The message says what to do."""
    done = pack(write(tmp_path / "own", {**FILES, name: text}))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "own" / "submission.zip").exists()
