"""What formats say of a report is true of it, and the same in all of them."""

import base64
from dataclasses import replace

import pytest

from cs336_grader.records import Tier
from cs336_grader.reports.formats import FORMATS
from grader_tests.unit.readers import unescaped
from grader_tests.unit.sample_reports import CASES


@pytest.mark.parametrize("name", ["html", "gradescope", "github-summary", "classroom"])
def test_what_nobody_has_written_is_told_in_one_line(name: str) -> None:
    """A page of the same exception helps nobody."""
    text = FORMATS[name].render(CASES["unfinished"]).replace("\\", "")
    assert "Not written yet: run_moving_average (2 checks)." in text
    assert "NotImplementedError" not in text


def test_where_nothing_was_taken_there_is_no_digest() -> None:
    """Nobody wonders about a pair of brackets with nothing in it."""
    assert "sha256" not in FORMATS["github-summary"].render(CASES["nothing_to_run"])
    assert "sha256 not known" in FORMATS["html"].render(CASES["nothing_to_run"])


@pytest.mark.parametrize("name", ["html", "github-summary", "github-annotations", "gradescope"])
def test_one_check_is_not_several(name: str) -> None:
    """The sentence is in the singular."""
    text = FORMATS[name].render(CASES["not_judged"]).replace("\\", "")
    assert "incomplete: 1 of 8 checks was not judged" in text


@pytest.mark.parametrize("name", ["html", "github-summary"])
def test_what_was_not_judged_has_no_points(name: str) -> None:
    """A zero would be taken for a mark."""
    text = FORMATS[name].render(CASES["could_not_judge"])
    assert "? / 4" in text
    assert "0.0 / " not in text


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in {"json", "csv", "ctrf"}])
def test_what_was_carried_is_told(name: str) -> None:
    """Whoever reads of a problem that failed reads why it has points."""
    failed, *others = CASES["mixed"].problems
    carrying = replace(failed, carried=0.8, carried_from=("count_words",))
    text = FORMATS[name].render(replace(CASES["mixed"], problems=(carrying, *others)))
    told = "Right, given your word counts: 0.8 of these points are carried."
    if name == "classroom-output":
        text = base64.b64decode(text.removeprefix("result=")).decode()
    assert told in unescaped(text.replace("\\", ""))


@pytest.mark.parametrize(
    ("mistake", "told"), [("count_words/in_lower_case", False), ("moving_average/sorts", True)]
)
@pytest.mark.parametrize("name", ["html", "gradescope", "github-summary"])
def test_what_comes_of_another_problem_is_no_advice(name: str, mistake: str, told: bool) -> None:
    """It says nothing of how this one was written."""
    checks = tuple(
        replace(check, mistakes=(mistake,)) if check.tier is Tier.ADVICE else check
        for check in CASES["mixed"].checks
    )
    text = FORMATS[name].render(replace(CASES["mixed"], checks=checks))
    assert ("dvice, " in text) == told
