"""What formats say of a report is true of it, and the same in all of them."""

import base64
import html
import re
from dataclasses import replace

import pytest

from cs336_checks.exceptions import remark
from cs336_checks.rubric import Tier
from cs336_grader.judging.verdict import case_result, check_result
from cs336_grader.reports import summary, terminal
from cs336_grader.reports.formats import FORMATS
from cs336_grader.running.faults import SubmissionError
from grader_tests.assignments import ASSIGNMENT as OWN
from grader_tests.judged import CHECKS
from grader_tests.unit.readers import unescaped
from grader_tests.unit.sample_reports import CASES, report


@pytest.mark.parametrize("name", ["html", "gradescope", "github-summary", "classroom"])
def test_what_nobody_has_written_is_told_in_one_line(name: str) -> None:
    """A page of the same exception helps nobody."""
    text = FORMATS[name].render(CASES["unfinished"]).replace("\\", "")
    assert "Not written yet: run_moving_average (2 checks)." in text
    absent = "Not in the adapters: run_running_totals (2 checks). Was it removed or renamed?"
    assert absent in text
    assert "NotImplementedError" not in text


@pytest.mark.parametrize("check", ["test_moving_average", "test_moving_average[2]"])
@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("NotImplementedError", "", "Not written yet: run_x (1 check)."),
        ("NotImplementedError", "x: write it", "Not written yet: run_x (1 check)."),
        (
            "AttributeError",
            "module 'tests.adapters' has no attribute 'run_x'",
            "Not in the adapters: run_x (1 check). Was it removed or renamed?",
        ),
        ("AttributeError", "module 'torch' has no attribute 'run_y'", ""),
        ("NotImplementedError", "Could not run 'aten::sort' with arguments from 'Meta'", ""),
        ("ValueError", "raised NotImplementedError", ""),
    ],
)
def test_what_is_not_written_is_told_from_what_is_wrong(
    check: str, kind: str, text: str, told: str
) -> None:
    """By what the judge says of it, with the suite's own sentence before it."""
    error = SubmissionError("Your run_x", kind, text, ("tests/adapters.py:4",), None)
    if sentence := remark(error):
        error.add_note(sentence)
    found = check_result(CHECKS["test_moving_average"], [case_result(check, error)], 0.1)
    judged = replace(CASES["all_passed"].checks[0], message=found.message)
    assert summary.unfinished([judged]) == told
    assert summary.written([judged]) == ([] if told else [judged])


@pytest.mark.parametrize("name", ["html", "gradescope", "github-summary", "classroom"])
def test_more_than_the_maximum_is_explained(name: str) -> None:
    """Nobody wonders how a total can be above what it is out of."""
    *others, last = CASES["all_passed"].problems
    found = replace(CASES["all_passed"], problems=(*others, replace(last, extra=True)), max_score=7)
    text = FORMATS[name].render(found)
    assert "2.0 of them extra" in text.replace("\\", "")


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


@pytest.mark.parametrize("name", ["terminal", "html", "gradescope", "github-summary"])
def test_three_lines_of_advice_are_shown(name: str) -> None:
    """They are the first in the rubric's order, and how many more there are is told."""
    advice = [check for check in OWN.checks.values() if check.tier is Tier.ADVICE]
    found = report({check.name: "It was not followed." for check in advice}, assignment=OWN)
    surroundings = terminal.Surroundings(100, False, "", ())
    text = (
        terminal.render(found, surroundings).plain
        if name == "terminal"
        else html.unescape(FORMATS[name].render(found)).replace("\\", "")
    )
    shown, *rest = re.split(r"and \d+ more|\d+ more</summary>", text)
    assert len(rest) == 1
    assert f"{len(advice) - 3} more" in text
    told = [check for check in advice if f"{check.problem}: {check.requirement}" in joined(shown)]
    assert told == advice[:3]
    assert "It was not followed." not in text


def joined(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def test_reports_for_people_say_where_to_read_more() -> None:
    """Once for each problem that failed, where the assignment has a chapter about it."""
    plain = CASES["mixed"]
    problems = tuple(replace(one, chapter="course/01.md") for one in plain.problems)
    told = replace(plain, problems=problems)
    for name in ("html", "gradescope", "github-summary"):
        assert "Read more: " not in FORMATS[name].render(plain)
        assert "Read more: course/01.md" in FORMATS[name].render(told).replace("\\", ""), name
