"""Why a submission has no grade, or none that says anything of it, in a sentence."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import html5lib
import pytest

from cs336_grader.batch import page, terminal
from cs336_grader.batch.overview import overview
from cs336_grader.batch.progress_bar import result
from cs336_grader.batch.reasons import NOTHING_RAN, NOTHING_WRITTEN, why_not_judged, why_nothing_ran
from cs336_grader.batch.records import Graded, Record, Status
from cs336_grader.batch.regrade import problems_told
from cs336_grader.batch.settings import Settings
from cs336_grader.batch.submissions import Found, Submission
from cs336_grader.batch.whole_class import row
from cs336_grader.records import Report, Verdict
from grader_tests.unit.sample_reports import ABSENT, CASES, EVERY_CHECK, STARTED, report

LACKS = "Your code imports lightning, which the grading environment does not have."
RAISED = "Importing your adapters raised ValueError: x (at tests/adapters.py:1)"


def unrun(message: str, names: Sequence[str] = EVERY_CHECK) -> Report:
    """A report in which these checks had nothing to run."""
    found = report(dict.fromkeys(names, message))
    checks = [replace(one, nothing_ran=one.verdict is Verdict.FAILED) for one in found.checks]
    return replace(found, checks=tuple(checks))


def graded(name: str, message: str = "") -> Graded:
    """A submission of which nothing could be run, as a message says, or that passed all."""
    found = unrun(message) if message else report()
    settings = Settings("submissions", "assignment", "0" * 64, 7)
    return Graded(Record(name, name, settings, Status.GRADED, why_nothing_ran(found)), found)


def test_one_reason_is_told_once() -> None:
    """It says what to do, and how many others there are."""
    first, second, *others = EVERY_CHECK
    said = {first: LACKS, second: LACKS}
    assert why_not_judged(report(said, Verdict.NOT_JUDGED)) == LACKS
    more = {**said, **dict.fromkeys(others, "No room left.")}
    assert why_not_judged(report(more, Verdict.NOT_JUDGED)).endswith("(and 1 other reason)")
    assert why_not_judged(report()) == ""


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Nothing could be run. There is no adapters.py.", "There is no adapters.py."),
        (RAISED, RAISED),
    ],
)
def test_a_zero_because_nothing_ran_says_so(message: str, told: str) -> None:
    """It stays a grade, and asks whether that is the submission."""
    one = graded("ada", message)
    assert one.record.reason == NOTHING_RAN + told
    cells = row(one, Submission("ada", Path()))
    assert (cells["status"], cells["reason"]) == ("graded", NOTHING_RAN + told)
    assert result(one) == "0.0 %, but nothing of it ran"


def test_a_zero_of_what_ran_has_no_reason() -> None:
    """Nor has one of which a part was imported, or that was not judged."""
    assert why_nothing_ran(CASES["unfinished"]) == ""
    assert why_nothing_ran(report(dict.fromkeys(EVERY_CHECK, RAISED))) == ""
    assert why_nothing_ran(unrun(RAISED, EVERY_CHECK[1:])) == ""
    unjudged = report(dict.fromkeys(EVERY_CHECK, RAISED), Verdict.NOT_JUDGED)
    assert why_nothing_ran(unjudged) == ""


def test_untouched_stubs_are_listed_as_an_empty_folder_is() -> None:
    """With the question whether that is the submission; one adapter that is begun is enough."""
    untouched = dict.fromkeys(EVERY_CHECK, ABSENT) | STARTED
    untouched["test_count_words_in_any_case"] = ABSENT
    one = replace(graded("ada"), report=report(untouched))
    assert why_nothing_ran(one.report) == NOTHING_WRITTEN
    one = replace(one, record=replace(one.record, reason=NOTHING_WRITTEN))
    assert [found.record.name for found in overview([one, graded("grace")]).empty] == ["ada"]
    assert why_nothing_ran(report({**untouched, "test_count_words": "It is wrong."})) == ""
    assert why_nothing_ran(report(untouched, Verdict.NOT_JUDGED)) == ""


def test_those_of_which_nothing_ran_are_listed_for_themselves() -> None:
    """Under a heading of their own, and with a mark in the list of all."""
    seen = overview([graded("ada", RAISED), graded("grace")])
    assert [one.record.name for one in seen.empty] == ["ada"]
    assert seen.percents["ada"] == 0.0
    everybody = Found(tuple(Submission(name, Path()) for name in ("ada", "grace")), ())
    text = terminal.render(seen, everybody, 200, True, ()).plain
    assert "Nothing ran: please look\n  x ada: Nothing in it could be run" in text
    assert "with 1 of which nothing ran" in text
    html = page.render("Words", seen, everybody)
    html5lib.HTMLParser(strict=True).parse(html)
    assert '<h2 id="empty">Nothing ran: please look</h2>' in html
    assert html.count('<span class="badge failed">nothing ran</span>') == 2
    right = replace(seen, empty=())
    assert "please look" not in terminal.render(right, everybody, 200, True, ()).plain


def test_why_a_grade_changes_begins_with_the_points() -> None:
    """Of every problem whose points differ, or what they are out of; then the checks."""
    before = CASES["mixed"]
    first, second, *others = before.problems
    changed = replace(
        before,
        problems=(
            replace(first, score=first.score + 0.5, verdict=Verdict.PASSED),
            replace(second, max_score=second.max_score + 2.0),
            *others,
        ),
    )
    told = list(problems_told(before, changed))
    assert len(told) == 2
    assert told[0].startswith(f"{first.id}: ")
    assert told[1].endswith(f"/ {second.max_score + 2.0:g}.")
    gone = replace(before, problems=before.problems[1:])
    assert next(problems_told(before, gone)).endswith("→ not graded.")
