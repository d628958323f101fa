"""The suite's own reading of the rubric, which must be the grader's."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

from cs336_grader.judging.choice import attempted_problems
from cs336_grader.rubric import load_assignment
from grader_tests.assignments import ROOT, TINY
from grader_tests.unit.two_tracks import two_tracks
from tests.tracks import Tracks

NUMBERS, WORDS, EXTRA = "run_moving_average", "run_count_words", "run_running_totals"


def three_adapters(folder: Path) -> Path:
    """Two tracks, of which one has two adapters that count."""
    rubric = two_tracks(folder) / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    rubric.write_text(text.replace("extra = true\n", ""), encoding="utf-8")
    return folder


def adapters(*names: str) -> SimpleNamespace:
    """A module that has these adapters."""
    return SimpleNamespace(**dict.fromkeys(names, len))


ASSIGNMENTS = {
    "one": lambda _: TINY,
    "two tracks": two_tracks,
    "two tracks, nothing extra": three_adapters,
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_student_runs_what_is_graded(tmp_path: Path, name: str) -> None:
    """The same checks for any adapters there are and any track that is asked for."""
    folder = ASSIGNMENTS[name](tmp_path)
    assignment, tracks = load_assignment(folder), Tracks(folder / "tests" / "rubric.toml")
    every = sorted(assignment.adapter_names)
    for number in range(len(every) + 1):
        for names in combinations(every, number):
            for chosen in [[], *([track] for track in assignment.rubric.tracks)]:
                graded = attempted_problems(assignment.rubric, chosen, set(names))
                run = {
                    check
                    for check in assignment.checks
                    if not tracks.why_left_out(check, adapters(*names), chosen)
                }
                assert run == set(assignment.limited_to(graded).checks)


def test_the_reasons(tmp_path: Path) -> None:
    """They say what is missing, and what to do where there is something to do."""
    tracks = Tracks(two_tracks(tmp_path) / "tests" / "rubric.toml")
    words = tracks.why_left_out("test_count_words", adapters(NUMBERS), [])
    assert words == "Words: the adapters lack it; to run it: --track words"
    totals = tracks.why_left_out("test_running_totals", adapters(NUMBERS), [])
    assert totals == "extra: the adapters lack run_running_totals"
    assert not tracks.why_left_out("test_of_my_own", adapters(), [])


def test_the_suite_knows_every_check() -> None:
    """Parts, corners and advice included."""
    assert Tracks().problem_of.keys() == load_assignment(ROOT).checks.keys()
