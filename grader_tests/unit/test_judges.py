"""Judges are asked for, and the processes that they are forked from have ended."""

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cs336_grader.batch import grading
from cs336_grader.batch.records import RECORD
from cs336_grader.batch.settings import Settings
from cs336_grader.batch.submissions import Submission
from cs336_grader.judges import CannotForkError, JudgeStarter
from grader_tests.assignments import TINY
from grader_tests.unit.submissions import STUBS, write


@pytest.fixture
def ended() -> Iterator[JudgeStarter]:
    """A starter whose template and recorder have ended."""
    ours, theirs = socket.socketpair()
    theirs.close()
    yield JudgeStarter(ours, ours)
    ours.close()


def test_nothing_answers(ended: JudgeStarter) -> None:
    """The launcher is told, and does not wait."""
    with (
        tempfile.TemporaryFile("w+") as complaints,
        pytest.raises(CannotForkError, match="has ended"),
    ):
        ended.start(complaints)


def test_no_submission_is_marked_for_it(ended: JudgeStarter, tmp_path: Path) -> None:
    """It is not done, and graded when the batch is started again."""
    path = write(tmp_path / "ada", {"tests/adapters.py": STUBS})
    settings = Settings(str(tmp_path), str(TINY), "", 7)
    out = tmp_path / "class"
    with pytest.raises(CannotForkError):
        grading.grade(Submission("ada", path), settings, out, ended)
    assert not (out / "ada" / RECORD).exists()
