"""A right answer that is a ready-made one earns nothing, however it is come by."""

from pathlib import Path
from typing import Any

import pytest

from grader_tests.commands import grade, report
from grader_tests.unit.submissions import write

from .ready_made import CAUGHT, HEAD, REST, SUSPECT


def graded(folder: Path, answer: str) -> dict[str, Any]:
    """The report on a submission with this moving average."""
    submission = write(folder / "ready_made", {"tests/adapters.py": HEAD + answer + REST})
    result = grade(submission, "--seed", "3")
    assert result.returncode == 0, result.stdout + result.stderr
    found = report(folder)
    passed = {problem["id"]: problem["verdict"] for problem in found["problems"]}
    assert passed == dict.fromkeys(passed, "passed")
    return found


@pytest.mark.parametrize("way", CAUGHT)
def test_a_ready_made_answer_earns_nothing(tmp_path: Path, way: str) -> None:
    """Its checks pass and it gets no point; the other problems keep theirs."""
    found = graded(tmp_path, CAUGHT[way])
    scores = {problem["id"]: problem["score"] for problem in found["problems"]}
    assert scores == {"moving_average": 0.0, "count_words": 3.0, "running_totals": 2.0}
    costly = [one for one in found["findings"] if one["consequence"] == "costs points"]
    assert {(one["problem"], one["file"]) for one in costly} == {
        ("moving_average", "tests/adapters.py")
    }


@pytest.mark.parametrize("way", SUSPECT)
def test_hiding_asks_for_a_look(tmp_path: Path, way: str) -> None:
    """What cannot be seen is at least suspected."""
    findings = graded(tmp_path, SUSPECT[way])["findings"]
    assert "human look" in {one["consequence"] for one in findings}
