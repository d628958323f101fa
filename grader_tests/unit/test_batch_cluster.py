"""What goes to a cluster and what comes back, without one."""

import io
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader.batch import on_worker
from cs336_grader.batch.records import Status, saved
from cs336_grader.batch.settings import Settings, with_digest
from cs336_grader.batch.slots import CouldNotGradeError
from cs336_grader.batch.submissions import Submission, digest
from grader_tests.assignments import TINY
from grader_tests.unit.submissions import write

distributed = pytest.importorskip("distributed")
cluster = pytest.importorskip("cs336_grader.batch.cluster")

SETTINGS = with_digest(Settings("submissions", str(TINY), "", 7), load_assignment(TINY))


class Answer:
    """A task that has ended."""

    def __init__(self, result: Any = None, error: BaseException | None = None) -> None:
        self.answer, self.error = result, error

    def result(self) -> Any:
        """What it gave."""
        return self.answer

    def exception(self) -> BaseException | None:
        """What it raised."""
        return self.error


def outcome(tmp_path: Path, answer: Answer) -> Any:
    """What a batch makes of an answer."""
    client = SimpleNamespace(run_on_scheduler=lambda _: 3)
    batch = cluster.Round(client, SETTINGS, tmp_path / "class", lambda _: None)
    folder = write(tmp_path / "ada", {"tests/adapters.py": ""})
    return batch.outcome(answer, Submission("ada", folder))


def test_a_submission_that_kills_workers_is_set_aside(tmp_path: Path) -> None:
    """It has a report that says why, and is done."""
    error = distributed.KilledWorker("task", SimpleNamespace(address=""), 3)
    found = outcome(tmp_path, Answer(error=error))
    assert found.record.status is Status.SET_ASIDE
    assert found.record.reason == "4 workers ended while they graded it"
    kept = saved(tmp_path / "class" / "ada")
    assert kept is not None
    assert kept.record == found.record


def test_what_every_worker_would_say_ends_the_batch(tmp_path: Path) -> None:
    """In its words."""
    error = on_worker.OtherGraderError("install the same")
    with pytest.raises(CouldNotGradeError, match="install the same"):
        outcome(tmp_path, Answer(error=error))


def test_only_files_that_are_expected_are_written(tmp_path: Path) -> None:
    """Whatever a worker says that they are called."""
    with pytest.raises(CouldNotGradeError, match="cannot be read"):
        outcome(tmp_path, Answer({"../evil": "x", "report.json": "{}"}))
    assert not (tmp_path / "class" / "evil").exists()
    assert (tmp_path / "class" / "ada" / "report.json").is_file()


def test_what_a_worker_does_not_see_is_asked_for(tmp_path: Path) -> None:
    """So is what is another file where it runs."""
    folder = write(tmp_path / "ada", {"tests/adapters.py": ""})
    task = on_worker.SubmissionTask("ada", "Ada (1)", str(folder), digest(folder), SETTINGS, None)
    assert on_worker.grade(replace(task, path=str(tmp_path / "nowhere"))) is None
    assert on_worker.grade(replace(task, digest="another")) is None


@pytest.mark.parametrize("name", ["ada", "ada.zip"])
def test_what_is_sent_arrives_as_it_was(tmp_path: Path, name: str) -> None:
    """A folder with all its files, an archive as it is; links and pipes do not travel."""
    path = tmp_path / name
    if name.endswith("zip"):
        path.write_bytes(b"PK\x03\x04 broken")
    else:
        write(path, {"tests/adapters.py": "1", "data/x": b"\x00"})
    before = digest(path)
    if path.is_dir():
        (path / "link").symlink_to("/etc/passwd")
    arrived = on_worker.unpacked(cluster.packed(path), tmp_path / "there")
    assert arrived.name == name
    assert digest(arrived) == before


def test_nothing_that_is_sent_leaves_its_folder(tmp_path: Path) -> None:
    """Not even by a path that leads upwards."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../../evil"))
    with pytest.raises(tarfile.OutsideDestinationError):
        on_worker.unpacked(on_worker.Sent("ada", content.getvalue(), packed=True), tmp_path / "a")


def test_a_worker_with_another_assignment_refuses(tmp_path: Path) -> None:
    """The gradebook would have two kinds of grades."""
    with pytest.raises(on_worker.OtherGraderError, match="install the same"):
        on_worker.settings_here(replace(SETTINGS, assignment=str(tmp_path), digest="another"))
    assert on_worker.settings_here(SETTINGS) == SETTINGS
