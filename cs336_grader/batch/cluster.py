"""Grades a class on the workers of a dask cluster: one submission a task.

A submission is read where it lies if the worker sees it there, else it is sent. Reports always
come back and are written here, by one process, so that none is lost or written twice. A task whose
worker died is given to another one by the scheduler, a few times.
"""

import io
import tarfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from distributed import Client, KilledWorker, as_completed

from cs336_grader.reports.files import write
from cs336_grader.reports.formats import FORMATS

from . import grading, on_worker
from .on_worker import Sent, SubmissionTask
from .records import RECORD, Graded, saved
from .settings import Settings
from .slots import CouldNotGradeError
from .submissions import MAX_BYTES, Submission, digest, files
from .whole_class import Finished

WAIT_SECONDS = 60
# Of the name of a worker's file, only this is written: it comes from another machine.
EXPECTED = {*(FORMATS[name].file_name for name in ("json", "html")), RECORD}
KILLED = "{} workers ended while they graded it"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Grades on the workers that a scheduler has.

    Attributes:
        address: of the scheduler, as in "tcp://10.0.0.1:8786".
    """

    address: str

    def __call__(
        self, submissions: Sequence[Submission], settings: Settings, out: Path, finished: Finished
    ) -> None:
        """Grade them.

        Raises:
            CouldNotGradeError: there are no workers, or they cannot grade this.
            OSError: the scheduler cannot be reached, or what was found cannot be written.
        """
        connect: Any = Client  # which has no types
        with connect(self.address, timeout=WAIT_SECONDS, set_as_default=False) as client:
            try:
                client.wait_for_workers(1, timeout=WAIT_SECONDS)
            except TimeoutError as error:
                raise CouldNotGradeError(f"{self.address} has no workers") from error
            Round(client, settings, out, finished).grade(submissions)


class Round:
    """One batch on a cluster."""

    def __init__(self, client: Any, settings: Settings, out: Path, finished: Finished) -> None:
        self.client = client
        self.settings = settings
        self.out = out
        self.finished = finished
        self.asked: dict[str, Submission] = {}

    def grade(self, submissions: Sequence[Submission]) -> None:
        """Grade submissions; a worker has no more than it grades at a time.

        Where one dies, the scheduler blames all that the worker had.
        """
        waiting = deque(submissions)
        ended: Any = as_completed  # which has no types
        running = ended(loop=self.client.loop)

        def fill() -> None:
            while len(self.asked) < max(1, self.threads()) and waiting:
                running.add(self.submit(waiting.popleft(), sent=False))

        fill()
        for future in running:
            submission = self.asked.pop(future.key)
            found = self.outcome(future, submission)
            if found is None:
                running.add(self.submit(submission, sent=True))
                continue
            self.finished(found)
            fill()

    def threads(self) -> int:
        """How many submissions can be graded at a time now."""
        return sum(self.client.nthreads().values())

    def submit(self, submission: Submission, *, sent: bool) -> Any:
        """Ask for a submission to be graded."""
        task = SubmissionTask(
            submission.name,
            submission.title,
            str(submission.path.resolve()),
            digest(submission.path),
            self.settings,
            packed(submission.path) if sent else None,
        )
        future = self.client.submit(on_worker.grade, task, pure=False)
        self.asked[future.key] = submission
        return future

    def outcome(self, future: Any, submission: Submission) -> Graded | None:
        """What a worker found, written; nothing if the submission has to be sent."""
        error = future.exception()
        if isinstance(error, KilledWorker):
            count = self.allowed_deaths()
            told = KILLED.format(count)
            return grading.set_aside(submission, self.settings, self.out, count, told)
        if error is not None:
            raise CouldNotGradeError(str(error)) from error
        answer = future.result()
        if answer is None:
            return None
        folder = self.out / submission.name
        # The record comes last: that it is there says that the rest is.
        for name in sorted(EXPECTED & answer.keys(), key=lambda name: name == RECORD):
            write(folder / name, answer[name])
        found = saved(folder)
        if found is None:
            raise CouldNotGradeError(f"what a worker says of {submission.name} cannot be read")
        return found

    def allowed_deaths(self) -> int:
        """How many workers may die of a task before the scheduler gives it to no other."""
        return int(self.client.run_on_scheduler(allowed_failures)) + 1


def allowed_failures(dask_scheduler: Any) -> int:
    """On the scheduler: what it is configured to allow."""
    return int(dask_scheduler.allowed_failures)


def packed(path: Path) -> Sent:
    """A submission as it is sent: a file as it is, a folder with its regular files."""
    if path.is_file():
        return Sent(path.name, path.read_bytes(), packed=False)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for file in files(path):
            if file.is_file() and not file.is_symlink() and file.stat().st_size <= MAX_BYTES:
                archive.add(file, PurePosixPath(file.relative_to(path)).as_posix())
    return Sent(path.name, content.getvalue(), packed=True)
