"""What each format tells of tracks and of extra problems."""

import html
import json
from dataclasses import replace

import pytest

from cs336_grader.records import Verdict
from cs336_grader.reports.formats import FORMATS
from grader_tests.unit.readers import READERS
from grader_tests.unit.sample_reports import CASES

SUBTOTALS = {
    "html": ("Numbers 4.0 / 4", "Words 0.0 / 3", "Running totals extra 0.0 / 2"),
    "gradescope": ("Numbers: 4.0 / 4", "Words: 0.0 / 3", "Running totals (extra)"),
    "github-summary": ("| **Numbers** | 4.0 / 4 | |", "| Running totals (extra) | 0.0 / 2 |"),
    "github-annotations": ("::warning title=Running totals (extra)%3A 0.0 / 2::",),
    "junit": ('name="track" value="numbers"', 'value="Running totals (extra)"'),
    "ctrf": ('"numbers": [', '"words": ['),
    "csv": ("sha256,track numbers,track words,moving_average", ",4.0,0.0,4.0,0.0,0.0"),
}


@pytest.mark.parametrize("name", SUBTOTALS)
def test_each_track_has_its_points(name: str) -> None:
    """Where there are several; and what is extra is told to be."""
    text = FORMATS[name].render(CASES["two_tracks"])
    if name == "html":
        text = " ".join(" ".join(READERS[name](text)).split())
    for told in SUBTOTALS[name]:
        assert told in text.replace("\\(", "(").replace("\\)", ")")


@pytest.mark.parametrize("name", ["html", "gradescope", "github-summary", "github-annotations"])
def test_an_extra_problem_alone_has_no_percentage(name: str) -> None:
    """It has points, and there is no maximum to have a share of."""
    *_, extra = CASES["two_tracks"].problems
    found = replace(CASES["two_tracks"], problems=(replace(extra, score=1.0),), score=1.0)
    text = FORMATS[name].render(replace(found, max_score=0.0))
    told = " ".join(" ".join(READERS[name](text)).split())
    assert " of them extra" in told
    assert "0.0 %" not in told


@pytest.mark.parametrize("name", ["html", "github-summary"])
def test_what_was_asked_for_is_part_of_how_to_repeat_it(name: str) -> None:
    """Graded in everything, it would have another total."""
    options = ("--revision", "my work", "--track", "words", "--only", "count_words")
    text = FORMATS[name].render(replace(CASES["two_tracks"], options=options))
    assert "--revision 'my work' --track words --only count_words" in html.unescape(text)


@pytest.mark.parametrize("name", ["html", "github-summary", "github-annotations"])
def test_of_a_single_track_nothing_is_told(name: str) -> None:
    """The report is that of an assignment without tracks."""
    found = CASES["two_tracks"]
    single = replace(found, tracks=found.tracks[:1])
    assert FORMATS[name].render(single) == FORMATS[name].render(replace(found, tracks=()))


def test_a_track_that_was_not_judged_has_no_points() -> None:
    """Its subtotal would be a grade."""
    first, *others = CASES["two_tracks"].problems
    unjudged = replace(first, verdict=Verdict.NOT_JUDGED)
    found = replace(CASES["two_tracks"], problems=(unjudged, *others))
    assert ",,0.0,,0.0,0.0" in FORMATS["csv"].render(found)
    page = " ".join(" ".join(READERS["html"](FORMATS["html"].render(found))).split())
    assert "Numbers ? / 4" in page
    assert "| **Numbers** | ? / 4 | |" in FORMATS["github-summary"].render(found)
    assert "Numbers: " not in FORMATS["gradescope"].render(found)


def test_an_extra_problem_fails_nothing() -> None:
    """A platform that goes by what failed takes it for advice."""
    right = replace(CASES["all_passed"].problems[0], extra=True, score=0.0, verdict=Verdict.FAILED)
    missed = replace(CASES["all_passed"].checks[0], verdict=Verdict.FAILED)
    found = replace(
        CASES["all_passed"],
        problems=(right, *CASES["all_passed"].problems[1:]),
        checks=(missed, *CASES["all_passed"].checks[1:]),
    )
    assert json.loads(FORMATS["classroom"].render(found))["status"] == "pass"
    assert json.loads(FORMATS["ctrf"].render(found))["results"]["summary"]["failed"] == 0
    assert 'failures="0"' in FORMATS["junit"].render(found).partition("<testsuite ")[0]
    assert "::error" not in FORMATS["github-annotations"].render(found)
