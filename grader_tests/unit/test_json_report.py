"""report.json is valid JSON of a known shape, and never half of one."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cs336_grader.reports import schema
from cs336_grader.reports.formats import FORMATS, Destination, publish
from grader_tests.assignments import ROOT
from grader_tests.unit.sample_reports import CASES

JSON = FORMATS["json"]


def test_the_shape_is_known() -> None:
    """A change of the fields is a change of the schema."""
    found = json.loads(JSON.render(CASES["mixed"]))
    assert set(found) == {
        "schema_version",
        "submission",
        "seed",
        "isolation",
        "score",
        "max_score",
        "problems",
        "checks",
        "notes",
        "duration_seconds",
        "findings",
        "started_at",
        "tracks",
        "options",
    }
    assert set(found["submission"]) == {"name", "sha256"}
    assert set(found["isolation"]) == {"level", "barriers"}
    assert set(found["isolation"]["barriers"][0]) == {"resource", "closed", "by"}
    assert set(found["problems"][0]) == {
        *("id", "title", "score", "max_score", "verdict"),
        *("carried", "carried_from", "track", "extra", "chapter"),
    }
    divided = json.loads(JSON.render(CASES["two_tracks"]))
    assert divided["tracks"] == [
        {"id": "numbers", "title": "Numbers", "score": 4.0, "max_score": 4.0},
        {"id": "words", "title": "Words", "score": 0.0, "max_score": 3.0},
    ]
    assert found["checks"][0] == {
        "id": "tests/test_averages.py::test_moving_average",
        "problem": "moving_average",
        "tier": "core",
        "verdict": "passed",
        "requirement": "Returns the mean of each run of neighbours.",
        "message": "",
        "duration_seconds": 0.1,
        "picture": None,
        "mistakes": [],
        "nothing_ran": False,
        "question": "",
        "details": "",
    }


def test_the_published_schema_is_that_of_the_record() -> None:
    """A field that is new is described: make schema."""
    published = (ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8")
    assert json.loads(published) == schema.schema()


@pytest.mark.parametrize("name", CASES)
def test_reports_fit_the_published_schema(name: str) -> None:
    """A reader may rely on the schema."""
    published = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(published)
    Draft202012Validator(published).validate(json.loads(JSON.render(CASES[name])))


def test_the_schema_refuses_another_record() -> None:
    """A verdict that does not exist, a missing field and another version are no report."""
    validator = Draft202012Validator(schema.schema())
    found = json.loads(JSON.render(CASES["mixed"]))
    assert validator.is_valid(found)
    assert not validator.is_valid({**found, "schema_version": 2})
    assert not validator.is_valid({name: found[name] for name in found if name != "checks"})
    found["checks"][0]["verdict"] = "excellent"
    assert not validator.is_valid(found)


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_number_that_is_none_is_refused(score: float, tmp_path: Path) -> None:
    """Such a report is not written, and the one before it stays."""
    place = (Destination(JSON, tmp_path / "report.json"),)
    publish(CASES["mixed"], place)
    before = (tmp_path / "report.json").read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        publish(replace(CASES["mixed"], score=score), place)
    assert (tmp_path / "report.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_hostile_text_survives_the_round_trip(tmp_path: Path) -> None:
    """What the record says is what a reader gets, in a folder that is made for it."""
    path = tmp_path / "new" / "folder" / "report.json"
    publish(CASES["hostile"], (Destination(JSON, path),))
    found = json.loads(path.read_text(encoding="utf-8"))
    said = [check["message"] for check in found["checks"]]
    assert said == [check.message for check in CASES["hostile"].checks]
