"""What a worker of a cluster does: grade one submission, with what it keeps between them.

It has the grader and the assignment installed, exactly those of whoever asks, or it refuses.
"""

import io
import tarfile
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import cs336_grader
from cs336_checks.rubric import RubricError, load_assignment
from cs336_grader.judges import JudgeStarter, Template

from . import grading
from .records import save
from .settings import Settings, with_digest
from .submissions import Submission, digest
from .whole_class import taught


class OtherGraderError(Exception):
    """This worker has another grader or another assignment than whoever asks."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A submission that is not read where it lies.

    Attributes:
        name: of its file or folder.
        content: the file, or the folder as a tar archive.
        packed: whether it is a folder.
    """

    name: str
    content: bytes
    packed: bool


@dataclass(frozen=True, slots=True)
class SubmissionTask:
    """A submission to grade.

    Attributes:
        name: its own among all of the class.
        title: its name in its report.
        path: where it lies for whoever asks.
        digest: of what lies there.
        settings: what it is graded with.
        sent: the submission itself, if it was sent.
    """

    name: str
    title: str
    path: str
    digest: str
    settings: Settings
    sent: Sent | None


class Kept:
    """What a worker of a cluster keeps between submissions: the processes that judges come from."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        # Never closed at the end: its processes notice when this one is gone.
        self.template: Template | None = None
        self.settings: Settings | None = None

    def starter(self, settings: Settings) -> JudgeStarter:
        """Starts judges with these settings."""
        with self.lock:
            if self.template is None or self.settings != settings:
                if self.template is not None:
                    self.template.close()
                    self.template = None
                folder = Path(tempfile.mkdtemp(prefix="cs336-"))
                self.template, self.settings = taught(settings, Path(), folder), settings
            return self.template.judges


KEPT = Kept()


def grade(task: SubmissionTask) -> Mapping[str, str] | None:
    """Grade a submission; the files of its report, or nothing if it has to be sent.

    Raises:
        OtherGraderError: something else would grade it here.
    """
    with tempfile.TemporaryDirectory(prefix="cs336-") as folder:
        path = Path(task.path) if task.sent is None else unpacked(task.sent, Path(folder, "sent"))
        if task.sent is None and not (path.exists() and digest(path) == task.digest):
            return None
        here = settings_here(task.settings)
        out = Path(folder, "reports")
        submission = Submission(task.name, path, title=task.title)
        found = grading.grade(submission, here, out, KEPT.starter(here))
        kept = replace(found.record, settings=task.settings, digest=task.digest)
        save(out / task.name, kept)
        return {file.name: file.read_text(encoding="utf-8") for file in (out / task.name).iterdir()}


def settings_here(asked: Settings) -> Settings:
    """The settings with the assignment's folder on this machine: the same, or the grader's own.

    Raises:
        OtherGraderError: neither is what was asked for.
    """
    for folder in (Path(asked.assignment), Path(cs336_grader.__file__).parent.parent):
        here = replace(asked, assignment=str(folder))
        try:
            if with_digest(here, load_assignment(folder)) == here:
                return here
        except (OSError, RubricError):
            continue
    raise OtherGraderError(
        "a worker has another grader or another assignment: install the same on all machines"
    )


def unpacked(sent: Sent, folder: Path) -> Path:
    """A submission that was sent, in a folder."""
    path = folder / sent.name
    folder.mkdir()
    if not sent.packed:
        path.write_bytes(sent.content)
        return path
    path.mkdir()
    with tarfile.open(fileobj=io.BytesIO(sent.content)) as archive:
        archive.extractall(path, filter="data")
    return path
