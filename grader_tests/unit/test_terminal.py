"""The wording and the shape of the terminal report, compared with files in golden/.

After a wanted change: UPDATE_GOLDEN=1 pytest grader_tests/unit/test_terminal.py, and read the
difference before you commit it.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cs336_grader.reports import terminal
from grader_tests.unit.sample_reports import CASES
from grader_tests.unit.sample_reports import report as sample_report

GOLDEN = Path(__file__).parent / "golden"
SURROUNDINGS = terminal.Surroundings(
    width=80,
    ascii_only=False,
    repeat="cs336 grade half_right --seed 7",
    saved=("report/report.json",),
    look_closer="uv run pytest --adapters-from=half_right --seed=7 CHECK",
)


def assert_golden(name: str, text: str) -> None:
    """Compare with a file in golden/."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_report(name: str) -> None:
    """The report reads as it did when somebody last looked at it."""
    assert_golden(name, terminal.render(CASES[name], SURROUNDINGS).plain)


@pytest.mark.parametrize("width", [50, 120])
def test_width(width: int) -> None:
    """Lines are cut to the width, but for commands, which can be copied."""
    text = terminal.render(CASES["mixed"], replace(SURROUNDINGS, width=width)).plain
    assert_golden(f"mixed_{width}", text)
    long = [line for line in text.split("\n") if len(line) > width]
    assert all("uv run pytest" in line for line in long)


def test_ascii() -> None:
    """Where marks cannot be shown, letters stand for them."""
    text = terminal.render(CASES["mixed"], replace(SURROUNDINGS, ascii_only=True)).plain
    assert text.isascii()
    assert_golden("mixed_ascii", text)


def test_no_trailing_blanks_and_no_control_characters() -> None:
    """The text can be pasted anywhere."""
    for found in CASES.values():
        for line in terminal.render(found, SURROUNDINGS).plain.split("\n"):
            assert line == line.rstrip()
            assert not any(ord(character) < 32 for character in line)


def test_a_path_stays_whole() -> None:
    """Whatever is in its name, and however long it is, it can be copied."""
    path = "of-a-student/" * 6 + "my-package/a-module.py:12"
    found = sample_report({"test_count_words": f"What was found is at {path}, says the check."})
    for width in (60, 80, 120):
        text = terminal.render(found, replace(SURROUNDINGS, width=width)).plain
        assert any(f"{path}," in line for line in text.split("\n"))


def test_every_golden_file_is_used() -> None:
    """No file is left of a test that is gone."""
    used = {*CASES, "mixed_50", "mixed_120", "mixed_ascii"}
    assert {path.stem for path in GOLDEN.iterdir() if path.is_file()} == used
