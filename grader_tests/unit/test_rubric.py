"""The rubric is validated, and its errors say where and what to do."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cs336_checks.rubric import RubricError, Tier, load_assignment
from grader_tests.assignments import ROOT, TINY
from grader_tests.unit.submissions import write

RUBRIC = """
title = "Sums"
package = "sums"

[problems.add]
title = "Addition"
points = 2
adapters = ["run_add"]
core = ["test_add"]
"""
BEGINNING = 'package = "sums"\n'
TRACKS = """
[tracks]
sums = "Sums"
"""
SUITE = '''
def test_add(adapters):
    """Adds two numbers,
    however large."""

def helper():
    pass
'''


def assignment(folder: Path, files: Mapping[str, str]) -> Path:
    """Write an assignment with one check; `files` replace its own."""
    return write(folder, {"tests/rubric.toml": RUBRIC, "tests/test_sums.py": SUITE, **files})


def test_a_check_knows_its_file_and_requirement(tmp_path: Path) -> None:
    """A check gets the file of its function and its docstring in one line."""
    check = load_assignment(assignment(tmp_path, {})).checks["test_add"]
    assert check.id == "tests/test_sums.py::test_add"
    assert check.requirement == "Adds two numbers, however large."
    assert (check.problem, check.tier) == ("add", Tier.CORE)


def test_defaults(tmp_path: Path) -> None:
    """Limits and shares that a rubric leaves out have values."""
    rubric = load_assignment(assignment(tmp_path, {})).rubric
    assert rubric.limits.check_seconds > 0
    assert rubric.scoring.edge_share == pytest.approx(0.2)


def test_core_is_a_list_or_a_table() -> None:
    """A plain list of core checks is one part; a table names its parts."""
    problems = load_assignment(TINY).rubric.problems
    assert list(problems["moving_average"].core) == ["values", "constants"]
    assert list(problems["count_words"].core.values()) == [("test_count_words",)]


def test_every_assignment_here_is_valid() -> None:
    """The assignments of this repository fit their suites."""
    for folder in (ROOT, TINY):
        assert load_assignment(folder).checks


MISTAKES = {
    "problems.add.kore: there is no such key": ("core =", "kore ="),
    "problems.add.points: this key is needed": ("points = 2", ""),
    "problems.add.points: Input should be greater than 0": ("points = 2", "points = 0"),
    "problems.add.points: Input should be a finite number": ("points = 2", "points = nan"),
    "problems.add.core.core: holds nothing": ('["test_add"]', "[]"),
    "problems.add.core.core.0: a text is expected": ('["test_add"]', "[1]"),
    "problems.add.core: no file tests/test_*.py has a function test_ad;": ("test_add", "test_ad"),
    "test_add is listed 2 times; list it once": ('["test_add"]', '["test_add", "test_add"]'),
    "test_add of tests/test_sums.py belongs to no problem": ('["test_add"]', '["test_other"]'),
    "no valid TOML": ("points = 2", "points ="),
    "problems.add.track: there is no track sums": ("points = 2", 'points = 2\ntrack = "sums"'),
    "problems.add.track: name one of the tracks: sums": (BEGINNING, f"{BEGINNING}{TRACKS}"),
    "tracks.sums: a text is expected": (BEGINNING, f"{BEGINNING}[tracks]\nsums = 1\n"),
    "problems: holds no problem but extra ones": ("points = 2", "points = 2\nextra = true"),
    "problems.add.extra: Input should be a valid boolean": ("points = 2", "points = 2\nextra = []"),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_wrong_rubric_is_refused(tmp_path: Path, message: str) -> None:
    """The error names the file, the key and what to do."""
    good, bad = MISTAKES[message]
    suite = SUITE + '\ndef test_other():\n    """Other."""\n' if "test_other" in bad else SUITE
    files = {"tests/rubric.toml": RUBRIC.replace(good, bad), "tests/test_sums.py": suite}
    with pytest.raises(RubricError) as caught:
        load_assignment(assignment(tmp_path, files))
    assert "tests/rubric.toml" in str(caught.value)
    assert message in str(caught.value)


TWO_TRACKS = RUBRIC.replace(BEGINNING, f'{BEGINNING}{TRACKS}products = "Products"\n').replace(
    "points = 2", 'points = 2\ntrack = "sums"'
)
MULTIPLY = """
[problems.multiply]
title = "Multiplication"
points = 1
track = "products"
adapters = ["run_multiply"]
core = ["test_multiply"]
"""
TRACK_MISTAKES = {
    "tracks.products: holds no problem but extra ones": "",
    "problems.multiply.adapters: run_add is of the track sums, too": MULTIPLY.replace(
        "run_multiply", "run_add"
    ),
    "problems.multiply.track: there is no track product;": MULTIPLY.replace("products", "product"),
}


@pytest.mark.parametrize("message", TRACK_MISTAKES)
def test_tracks_that_cannot_be_told_apart_are_refused(tmp_path: Path, message: str) -> None:
    """The error names the track or the problem."""
    suite = SUITE + '\ndef test_multiply():\n    """Multiplies."""\n'
    files = {"tests/rubric.toml": TWO_TRACKS + MULTIPLY, "tests/test_sums.py": suite}
    assert load_assignment(assignment(tmp_path, files)).rubric.tracks.keys() == {"sums", "products"}
    files["tests/rubric.toml"] = TWO_TRACKS + TRACK_MISTAKES[message]
    with pytest.raises(RubricError) as caught:
        load_assignment(assignment(tmp_path, files))
    assert f"tests/rubric.toml: {message}" in str(caught.value)


def test_an_assignment_limited_to_some_problems_holds_nothing_of_the_others() -> None:
    """Neither their checks, nor their adapters, nor what is built on them."""
    whole = load_assignment(ROOT)
    limited = whole.limited_to(["rope", "multihead_self_attention"])
    assert list(limited.rubric.problems) == ["rope", "multihead_self_attention"]
    assert {check.problem for check in limited.checks.values()} == set(limited.rubric.problems)
    assert "run_linear" not in limited.adapter_names
    assert limited.rubric.below("multihead_self_attention") == ("rope",)
    assert "linear" in whole.rubric.below("multihead_self_attention")


SUITES = {
    "test_add has no docstring": "def test_add(): pass",
    "tests/test_sums.py: line 1": "def test_add(:",
    "test_add is also in tests/test_more.py": SUITE,
}


@pytest.mark.parametrize("message", SUITES)
def test_a_wrong_suite_is_refused(tmp_path: Path, message: str) -> None:
    """A function without a requirement, of an ambiguous name, or a broken file is an error."""
    files = {"tests/test_sums.py": SUITES[message]}
    if "test_more" in message:
        files["tests/test_more.py"] = SUITE
    with pytest.raises(RubricError) as caught:
        load_assignment(assignment(tmp_path, files))
    assert message in str(caught.value)


def test_a_missing_rubric_is_refused(tmp_path: Path) -> None:
    """A folder that is no assignment is called so."""
    with pytest.raises(RubricError, match="an assignment is a folder with"):
        load_assignment(tmp_path)
