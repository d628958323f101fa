"""A wrong submission gains nothing by tampering with the process that its code runs in."""

from pathlib import Path

import pytest

from grader_tests.commands import grade, report
from grader_tests.unit.submissions import write

from .tampering import ATTACKS, submission


@pytest.mark.parametrize("attack", ATTACKS)
def test_tampering_gains_nothing(tmp_path: Path, attack: str) -> None:
    """No check that counts passes, the run ends as any other, and no secret was to be found."""
    folder = write(tmp_path / "attack", {"tests/adapters.py": submission(attack)})
    result = grade(folder, "--seed", "3")
    found = report(tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (found["score"], found["max_score"]) == (0, 9)
    assert {c["verdict"] for c in found["checks"] if c["tier"] != "advice"} == {"failed"}
    assert "Traceback" not in result.stdout + result.stderr
    messages = [check["message"] for check in found["checks"]]
    assert not any("loot: ['" in message for message in messages), messages
