"""The tiny assignment with two tracks: numbers, with an extra problem, and words."""

import shutil
from pathlib import Path

from grader_tests.assignments import TINY

TRACKS = """
[tracks]
numbers = "Numbers"
words = "Words"

[problems.moving_average]"""
DIVIDED = {
    "\n[problems.moving_average]": TRACKS,
    'title = "Moving average"': 'title = "Moving average"\ntrack = "numbers"',
    'title = "Word counts"': 'title = "Word counts"\ntrack = "words"',
    'title = "Running totals"': 'title = "Running totals"\ntrack = "numbers"\nextra = true',
}


def two_tracks(folder: Path) -> Path:
    """Copy the tiny assignment into a folder, and divide it."""
    shutil.copytree(TINY, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    rubric = folder / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    for whole, divided in DIVIDED.items():
        assert text.count(whole) == 1
        text = text.replace(whole, divided)
    rubric.write_text(text, encoding="utf-8")
    return folder
