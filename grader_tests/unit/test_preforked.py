"""Where processes that judge are asked for, and nobody is there to fork them."""

import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cs336_grader.batch import grading
from cs336_grader.batch.records import RECORD
from cs336_grader.batch.settings import Settings
from cs336_grader.batch.submissions import Submission
from cs336_grader.preforked import Entrance, GoneError
from grader_tests.assignments import TINY
from grader_tests.unit.submissions import STUBS, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked as on Linux")


@pytest.fixture
def nobody() -> Iterator[Entrance]:
    """An entrance behind which all have ended."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    yield Entrance(ours, ours)
    ours.close()


def test_nobody_answers(nobody: Entrance) -> None:
    """Whoever asks is told, and does not wait."""
    with tempfile.TemporaryFile("w+") as complaints, pytest.raises(GoneError, match="has ended"):
        nobody.start(complaints)


def test_no_submission_is_marked_for_it(nobody: Entrance, tmp_path: Path) -> None:
    """It is not done, and graded when the batch is started again."""
    path = write(tmp_path / "ada", {"tests/adapters.py": STUBS})
    settings = Settings(str(tmp_path), str(TINY), "", 7)
    out = tmp_path / "class"
    with pytest.raises(GoneError):
        grading.grade(Submission("ada", path), settings, out, nobody.start)
    assert not (out / "ada" / RECORD).exists()
