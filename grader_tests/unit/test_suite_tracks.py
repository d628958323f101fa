"""A student's run takes the checks that a grader takes."""

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from cs336_checks.rubric import attempted_tracks, load_assignment, read_rubric
from cs336_checks.tracks import Tracks
from cs336_grader.judging.choice import attempted_problems
from grader_tests.assignments import ASSIGNMENT, TINY
from grader_tests.unit.two_tracks import two_tracks

NUMBERS, WORDS, EXTRA = "run_moving_average", "run_count_words", "run_running_totals"


def three_adapters(folder: Path) -> Path:
    """Two tracks, of which one has two adapters that count."""
    rubric = two_tracks(folder) / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    rubric.write_text(text.replace("extra = true\n", ""), encoding="utf-8")
    return folder


def built_on_the_other(folder: Path) -> Path:
    """Two tracks, of which one is built on a part of the other."""
    rubric = three_adapters(folder) / "tests" / "rubric.toml"
    text, title = rubric.read_text(encoding="utf-8"), 'title = "Word counts"\n'
    assert title in text
    built_on = f"{title}built_on = {{ moving_average = 0.8 }}\n"
    rubric.write_text(text.replace(title, built_on), encoding="utf-8")
    return folder


def own_stub() -> None:
    """Do it."""
    raise NotImplementedError("count_words: write it")


def adapters(filled: set[str], stubs: set[str]) -> SimpleNamespace:
    """A module that has these adapters."""
    return SimpleNamespace(**dict.fromkeys(filled, len), **dict.fromkeys(stubs, own_stub))


ASSIGNMENTS = {
    "one": lambda _: TINY,
    "two tracks": two_tracks,
    "two tracks, nothing extra": three_adapters,
    "one track built on the other": built_on_the_other,
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_student_runs_what_is_graded(tmp_path: Path, name: str) -> None:
    """The same checks, whatever is filled in, a stub or absent, and whichever track is asked for.

    Where nothing is filled in, a student's run leaves the choice open.
    """
    folder = ASSIGNMENTS[name](tmp_path)
    assignment = load_assignment(folder)
    every = sorted(assignment.adapter_names)
    for kinds in product(("filled", "stub", "absent"), repeat=len(every)):
        filled, stubs = (
            {adapter for adapter, kind in zip(every, kinds, strict=True) if kind == wanted}
            for wanted in ("filled", "stub")
        )
        tracks = Tracks(assignment.rubric, adapters(filled, stubs))
        for chosen in [[], *([track] for track in assignment.rubric.tracks)]:
            if not filled:
                filled, stubs = stubs, set()
            graded = attempted_problems(assignment.rubric, chosen, filled, stubs)
            run = {check for check in assignment.checks if not tracks.why_left_out(check, chosen)}
            assert run == set(assignment.limited_to(graded).checks)


@pytest.mark.parametrize(
    ("filled", "expected"),
    [
        (set(), {"modern", "classic"}),
        ({"run_gelu"}, {"classic"}),
        ({"run_rope"}, {"modern"}),
        ({"run_gelu", "run_layer_norm", "run_dropout", "run_softmax"}, {"classic"}),
        ({"run_gelu", "run_linear", "run_embedding"}, {"classic"}),
        ({"run_linear", "run_embedding"}, {"modern"}),
        ({"run_gelu", "run_rope"}, {"modern", "classic"}),
    ],
)
def test_what_is_filled_in_chooses_the_track(filled: set[str], expected: set[str]) -> None:
    """Where both tracks' stubs are there; not what the other track is built on."""
    assignment = ASSIGNMENT
    stubs = set(assignment.adapter_names - filled)
    tracks = Tracks(assignment.rubric, adapters(filled, stubs))
    assert set(tracks.attempted) == expected
    if filled:
        assert set(attempted_tracks(assignment.rubric, filled, stubs)) == expected


def test_the_reasons(tmp_path: Path) -> None:
    """They say what is missing, and what to do where there is something to do."""
    rubric = read_rubric(two_tracks(tmp_path) / "tests" / "rubric.toml")
    tracks = Tracks(rubric, adapters({NUMBERS}, {WORDS}))
    words = tracks.why_left_out("test_count_words")
    assert words == "Words: no adapter is filled in; to run it: --track words"
    totals = tracks.why_left_out("test_running_totals")
    assert totals == "extra: run_running_totals is not filled in; to run it: -k running_totals"
    assert not tracks.why_left_out("test_of_my_own")
    classic = {"run_gelu", "run_dropout"}
    modern = Tracks(ASSIGNMENT.rubric, adapters(classic | {"run_softmax"}, {"run_rope"}))
    told = "Modern track: filled in is only run_softmax; to run it: --track modern"
    assert modern.why_left_out("test_rope_worked_example") == told
