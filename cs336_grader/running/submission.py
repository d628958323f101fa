"""A submission whose adapters can be called: imported once, then one fresh process a check."""

import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import psutil

from .conversation import Conversation
from .faults import SubmissionError, WorkerLostError, submission_error
from .remote import RemoteAdapters
from .sightings import Place
from .warm import WarmWorker, Worker


class RunningSubmission:
    """A staged submission and the worker that has imported it.

    Args:
        warm: the worker all others are forked from.
        scratch: the folder that workers may write to; each check gets one of its own in it.
        load: what the worker is to import: its root folder, search paths and module.
        import_seconds: how long that may take.
        check_seconds: how long one check may take.

    Attributes:
        sightings: what the last check's run entered that the rules are about.
    """

    def __init__(
        self,
        warm: WarmWorker,
        scratch: Path,
        load: Mapping[str, object],
        *,
        import_seconds: float,
        check_seconds: float,
    ) -> None:
        self.warm = warm
        self.scratch = scratch
        self.load = load
        self.import_seconds = import_seconds
        self.check_seconds = check_seconds
        self.imported: Worker | None = None
        self.started = False
        self.import_error: SubmissionError | WorkerLostError | None = None
        self.sightings: set[Place] = set()

    def start(self) -> None:
        """Import the submission; a failure is kept, and raised for every check.

        One that starts threads is imported anew for each check: a fork does not take them along.

        Raises:
            CouldNotRunError: no worker could be started.
        """
        try:
            imported = self.fork_and_import(self.scratch)
            threads = number_of_threads(imported)
        except (SubmissionError, WorkerLostError) as error:
            self.import_error = error
            return
        if threads == 1:
            self.imported = imported
        else:
            imported.channel.close()
            self.warm.sweep()
        self.started = True

    def fork_and_import(self, scratch: Path) -> Worker:
        """A worker that has imported the submission."""
        worker = self.warm.fork(scratch)
        with self.warm.deadline(self.import_seconds, worker) as passed:
            try:
                answer = worker.ask({"op": "load", **self.load})
            except WorkerLostError as error:
                worker.channel.close()
                raise WorkerLostError(why_lost(passed, self.import_seconds)) from error
        if answer["op"] != "loaded":
            worker.channel.close()
            raise submission_error("Importing your adapters", answer)
        return worker

    @contextmanager
    def check(self, name: str) -> Iterator[RemoteAdapters]:
        """The adapters, in a process of this check's own.

        Raises:
            SubmissionError: the submission's import raised an exception.
            WorkerLostError: its import ended the process or took too long.
            CouldNotRunError: no worker could be started.
        """
        self.sightings = set()
        if not self.started and self.import_error is None:
            self.start()
        if self.import_error is not None:
            # Raised for every check, it would grow by a piece of traceback each time.
            raise self.import_error.with_traceback(None)
        with private_folder(self.scratch) as folder:
            worker, parent = self.fork_for_check(zlib.crc32(name.encode()), folder)
            with self.warm.deadline(self.check_seconds, worker, keep=self.imported) as passed:
                conversation = Conversation(
                    worker.channel, lambda: why_lost(passed, self.check_seconds)
                )
                try:
                    yield RemoteAdapters(conversation, worker.pid, parent.pid)
                finally:
                    self.sightings = conversation.sightings
                    worker.channel.close()
                    self.warm.sweep(keep=self.imported)

    def fork_for_check(self, entropy: int, scratch: Path) -> tuple[Worker, Worker]:
        """A worker for one check, and its parent."""
        if self.imported is not None:
            try:
                with self.warm.deadline(self.check_seconds, self.imported):
                    return self.imported.fork(entropy, scratch), self.imported
            except WorkerLostError:
                # It has ended or no longer forks: from now on, every check imports anew.
                self.close()
        return self.fork_and_import(scratch), self.warm.worker

    def close(self) -> None:
        """End the worker that has imported the submission, and all others."""
        if self.imported is not None:
            self.imported.channel.close()
            self.imported = None
        self.warm.sweep()


@contextmanager
def private_folder(parent: Path) -> Iterator[Path]:
    """A new folder that is gone afterwards, whatever was done to it."""
    parent.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder)
        except (OSError, RecursionError):
            # Nested too deep for Python, or without permissions: rm knows more ways.
            subprocess.run(["/bin/rm", "-rf", "--", str(folder)], check=False, capture_output=True)


def number_of_threads(worker: Worker) -> int:
    """How many threads a worker has.

    Raises:
        WorkerLostError: it has ended.
    """
    try:
        return int(psutil.Process(worker.pid).num_threads())
    except psutil.NoSuchProcess as error:
        raise WorkerLostError("the process ended when it had imported the submission") from error


def why_lost(passed: Event, seconds: float) -> str:
    """Why a worker is gone, as far as that is known from outside."""
    if passed.is_set():
        return f"there was no answer within {seconds:g} seconds"
    return "the process ended before it answered: it crashed, was killed or exited"
