"""report.json is valid JSON of a known shape, and never half of one."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from cs336_grader.reports import json_report
from grader_tests.unit.test_terminal import CASES


def test_the_shape_is_known() -> None:
    """A change of the fields is a change of the schema."""
    found = json.loads(json_report.render(CASES["mixed"]))
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
    }
    assert set(found["submission"]) == {"name", "sha256"}
    assert found["isolation"] == {"level": "process", "barriers": []}
    assert set(found["problems"][0]) == {"id", "title", "score", "max_score", "verdict"}
    assert found["checks"][0] == {
        "id": "tests/test_averages.py::test_moving_average",
        "problem": "moving_average",
        "tier": "core",
        "verdict": "passed",
        "requirement": "Returns the mean of each run of neighbours.",
        "message": "",
        "duration_seconds": 0.1,
    }


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_number_that_is_none_is_refused(score: float, tmp_path: Path) -> None:
    """Such a report is not written, and the one before it stays."""
    json_report.write(CASES["mixed"], tmp_path)
    before = (tmp_path / "report.json").read_bytes()
    with pytest.raises(ValueError, match="not finite"):
        json_report.write(replace(CASES["mixed"], score=score), tmp_path)
    assert (tmp_path / "report.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_hostile_text_survives_the_round_trip(tmp_path: Path) -> None:
    """What the record says is what a reader gets, in a folder that is made for it."""
    json_report.write(CASES["hostile"], tmp_path / "new" / "folder")
    found = json.loads((tmp_path / "new" / "folder" / "report.json").read_text(encoding="utf-8"))
    said = [check["message"] for check in found["checks"]]
    assert said == [check.message for check in CASES["hostile"].checks]
