"""Runs one case in a worker of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from cs336_grader.running import RunningSubmission
from cs336_grader.running.remote import RemoteAdapters


@contextmanager
def alone(submission: RunningSubmission, name: str) -> Iterator[RemoteAdapters]:
    """The adapters, for one case in a worker that runs nothing else."""
    try:
        with submission.case(name, fresh=True) as adapters:
            yield adapters
    finally:
        submission.end_worker()
