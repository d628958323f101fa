"""`cs336 grade` on an assignment of two tracks, as a user runs it."""

from pathlib import Path

import pytest

from grader_tests.commands import grade, report
from grader_tests.integration.test_grade import verdicts
from grader_tests.unit.submissions import write
from grader_tests.unit.two_tracks import two_tracks

NUMBERS = """
def run_moving_average(values, width):
    return [sum(values[i : i + width]) / width for i in range(len(values) - width + 1)]
"""
WORDS = """
def run_count_words(text):
    raise NotImplementedError
"""
EXTRA = """
def run_running_totals(numbers):
    total = 0
    for number in numbers:
        total += number
        yield total
"""


@pytest.fixture
def assignment(tmp_path: Path) -> Path:
    """The tiny assignment in two tracks."""
    return two_tracks(tmp_path / "assignment")


def test_a_submission_of_one_track_costs_nothing_of_the_other(
    tmp_path: Path, assignment: Path
) -> None:
    """The other one's checks are not even imported, and nothing is told of it."""
    with (assignment / "tests" / "test_counting.py").open("a", encoding="utf-8") as file:
        file.write("\nraise RuntimeError('the checks of words were imported')\n")
    submission = write(tmp_path / "one", {"tests/adapters.py": NUMBERS})
    result = grade(submission, "--assignment", str(assignment), "--fail-under", "100")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Total       4.0 / 4 (100.0 %)" in result.stdout
    assert set(verdicts(report(tmp_path)).values()) == {"passed"}
    assert not any(told in result.stdout for told in ("words", "Words", "Numbers", "extra"))


def test_the_points_of_both_tracks_are_added(tmp_path: Path, assignment: Path) -> None:
    """What is extra comes on top."""
    words = WORDS.replace("raise NotImplementedError", "return None")
    submission = write(tmp_path / "both", {"tests/adapters.py": NUMBERS + words + EXTRA})
    result = grade(submission, "--assignment", str(assignment))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Total       6.0 / 7 (85.7 %), 2.0 of them extra" in result.stdout
    assert "Numbers                         6.0 / 4\n" in result.stdout
    assert "running_totals                  2.0 / 2    ✓ extra\n" in result.stdout
    assert "Words                           0.0 / 3\n" in result.stdout
    assert "count_words                     0.0 / 3    ✗" in result.stdout


def test_a_stub_as_it_was_handed_out_costs_nothing(tmp_path: Path, assignment: Path) -> None:
    """The report says why the other track is not graded, and how it would be."""
    stub = (
        EXTRA.partition("    total")[0] + '    """Yield sums."""\n    raise NotImplementedError\n'
    )
    submission = write(tmp_path / "one", {"tests/adapters.py": NUMBERS + WORDS + stub})
    result = grade(submission, "--assignment", str(assignment))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Total       4.0 / 4 (100.0 %)" in result.stdout
    assert "running_totals" not in result.stdout
    assert report(tmp_path)["notes"] == [
        "Graded in the numbers track: none of the words track's adapters was filled in; "
        "--track words grades it."
    ]


def test_a_track_can_be_asked_for(tmp_path: Path, assignment: Path) -> None:
    """The command that repeats it asks for it as well."""
    submission = write(tmp_path / "both", {"tests/adapters.py": NUMBERS + WORDS})
    result = grade(submission, "--assignment", str(assignment), "--track", "words")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Total       0.0 / 3 (0.0 %)" in result.stdout
    assert " --track words\n" in result.stdout
    wrong = grade(submission, "--assignment", str(assignment), "--track", "word")
    assert wrong.returncode == 2
    assert "There is no track 'word'. Did you mean words?" in wrong.stderr
