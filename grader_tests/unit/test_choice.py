"""What a submission is graded in: the tracks of which an adapter is filled in, or those named."""

from pathlib import Path

import pytest

from cs336_checks.rubric import adapters_of_tracks, load_assignment
from cs336_grader.judging.choice import (
    UnknownNameError,
    attempted_problems,
    choice_told,
    named_problems,
)
from grader_tests.assignments import ROOT, TINY
from grader_tests.unit.two_tracks import two_tracks

NUMBERS, WORDS, EXTRA = "run_moving_average", "run_count_words", "run_running_totals"
# Tracks that were named, adapters that are there, and the problems that are graded.
CHOICES = {
    "one track": ((), {NUMBERS}, ("moving_average",)),
    "the other": ((), {WORDS}, ("count_words",)),
    "both": ((), {NUMBERS, WORDS}, ("moving_average", "count_words")),
    "with the extra problem": ((), {NUMBERS, EXTRA}, ("moving_average", "running_totals")),
    "an extra of another track": ((), {WORDS, EXTRA}, ("count_words",)),
    "nothing that tells": ((), set(), ("moving_average",)),
    "an extra alone": ((), {EXTRA}, ("moving_average", "running_totals")),
    "named": (("words",), {NUMBERS}, ("count_words",)),
    "named, in the rubric's order": (
        ("words", "numbers"),
        set(),
        ("moving_average", "count_words"),
    ),
    "named, with an extra": (("numbers",), {EXTRA}, ("moving_average", "running_totals")),
}


@pytest.mark.parametrize("case", CHOICES)
def test_what_is_graded(tmp_path: Path, case: str) -> None:
    """A track of one adapter needs it, an extra problem its own; naming a track decides it."""
    rubric = load_assignment(two_tracks(tmp_path)).rubric
    tracks, adapters, problems = CHOICES[case]
    assert attempted_problems(rubric, tracks, adapters) == problems


BY_CHANCE = {
    "one name": ({WORDS, NUMBERS}, {"count_words"}),
    "one name and nothing else": ({NUMBERS}, {"moving_average", "running_totals"}),
    "two names": ({NUMBERS, EXTRA}, {"moving_average", "running_totals"}),
    "a stranger": ({WORDS, "run_words"}, {"count_words"}),
}


@pytest.mark.parametrize("case", BY_CHANCE)
def test_a_single_name_is_no_attempt(tmp_path: Path, case: str) -> None:
    """Where a track has several adapters, one is enough only where there is no other sign."""
    rubric = load_assignment(two_tracks(tmp_path)).rubric
    extra = rubric.problems["running_totals"]
    problems = {**rubric.problems, "running_totals": extra.model_copy(update={"extra": False})}
    adapters, graded = BY_CHANCE[case]
    changed = rubric.model_copy(update={"problems": problems})
    assert set(attempted_problems(changed, (), adapters)) == graded


UNTOUCHED = {
    "everything": (set(), {NUMBERS, WORDS, EXTRA}, ("moving_average",)),
    "the other": ({WORDS}, {NUMBERS, EXTRA}, ("count_words",)),
    "the extra problem": ({NUMBERS}, {EXTRA}, ("moving_average",)),
    "one track alone": (set(), {WORDS}, ("count_words",)),
    "nothing": ({NUMBERS, WORDS}, set(), ("moving_average", "count_words")),
}


@pytest.mark.parametrize("case", UNTOUCHED)
def test_an_untouched_stub_is_no_attempt(tmp_path: Path, case: str) -> None:
    """Whoever fills in nothing is graded in the first track that was handed out."""
    rubric = load_assignment(two_tracks(tmp_path)).rubric
    filled, stubs, graded = UNTOUCHED[case]
    assert attempted_problems(rubric, (), filled, stubs) == graded


RUBRIC = load_assignment(ROOT).rubric
ADAPTERS = adapters_of_tracks(RUBRIC)
THREE = {"run_gelu", "run_layer_norm", "run_dropout"}
# What is filled in of the assignment, where all else are stubs, and what is told of the choice.
TOLD = {
    "nothing": (set(), "No adapter is filled in in any track; shown as 0 of the modern track."),
    "one track": (
        THREE,
        "Graded in the classic track: none of the modern track's adapters was filled in; "
        "--track modern grades it.",
    ),
    "and what it is built on": (
        THREE | {"run_softmax"},
        "Graded in the classic track: of the modern track, only run_softmax is filled in; "
        "--track modern grades it.",
    ),
    "and much that it is built on": (
        THREE | {"run_softmax", "run_linear", "run_embedding", "run_scaled_dot_product_attention"},
        "Graded in the classic track: of the modern track, only run_embedding, run_linear, "
        "run_scaled_dot_product_attention and 1 more are filled in; --track modern grades it.",
    ),
    "and a little of the other": (
        THREE | {"run_softmax", "run_get_batch"},
        "Also graded in the modern track, because run_get_batch is filled in; "
        "--track classic grades the classic track alone.",
    ),
    "both": (ADAPTERS["modern"] | ADAPTERS["classic"], ""),
}


@pytest.mark.parametrize("case", TOLD)
def test_the_choice_is_told(case: str) -> None:
    """With how to choose otherwise, wherever a student may not expect it."""
    filled, told = TOLD[case]
    stubs = set().union(*ADAPTERS.values()) - filled
    assert choice_told(RUBRIC, (), filled, stubs) == ((told,) if told else ())


NOT_GRADED = "Adapters of the {} track are filled in and not graded here."


@pytest.mark.parametrize(
    ("track", "filled", "told"),
    [
        ("classic", ADAPTERS["modern"], NOT_GRADED.format("modern")),
        ("modern", THREE, NOT_GRADED.format("classic")),
        ("classic", THREE | {"run_softmax"}, ""),
        ("classic", set(), ""),
    ],
)
def test_work_on_a_track_that_was_not_named_is_told(
    track: str, filled: set[str], told: str
) -> None:
    """Its 0 points are not what the work is worth."""
    stubs = set().union(*ADAPTERS.values()) - filled
    assert choice_told(RUBRIC, [track], filled, stubs) == ((told,) if told else ())


@pytest.mark.parametrize("stubs", [{WORDS}, {EXTRA}, set()])
def test_a_choice_without_another_track_is_not_told(tmp_path: Path, stubs: set[str]) -> None:
    """Whoever was handed out one track knows of no other."""
    rubric = load_assignment(two_tracks(tmp_path)).rubric
    assert choice_told(rubric, (), set(), stubs) == ()
    assert choice_told(rubric, (), {WORDS}, stubs) == ()


@pytest.mark.parametrize("adapters", [set(), {WORDS}, {NUMBERS, "run_anything"}])
def test_an_assignment_without_tracks_is_graded_whole(adapters: set[str]) -> None:
    """Whatever adapters there are."""
    rubric = load_assignment(TINY).rubric
    assert attempted_problems(rubric, (), adapters) == tuple(rubric.problems)


def test_what_does_not_exist(tmp_path: Path) -> None:
    """A problem or a track, each with what there is."""
    rubric = load_assignment(two_tracks(tmp_path)).rubric
    with pytest.raises(UnknownNameError) as caught:
        attempted_problems(rubric, ["word"], frozenset())
    assert (caught.value.kind, caught.value.known) == ("track", ("numbers", "words"))
    with pytest.raises(UnknownNameError) as caught:
        named_problems(rubric, ["words"])
    assert caught.value.kind == "problem"
    assert named_problems(rubric, ()) == tuple(rubric.problems)
