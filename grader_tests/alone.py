"""Loads a submission of adapters alone, and runs one case in a worker of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cs336_grader.running import RunningSubmission
from cs336_grader.running.remote import RemoteAdapters


def load_of(root: Path) -> dict[str, object]:
    """Return what a worker is told to import the adapters in a folder."""
    return {
        "root": str(root),
        "search_paths": ["."],
        "module": "adapters",
        "package": "basics",
        "rules": {},
        "unmet": {},
    }


@contextmanager
def alone(submission: RunningSubmission, name: str) -> Iterator[RemoteAdapters]:
    """The adapters, for one case in a worker that runs nothing else."""
    try:
        with submission.case(name, fresh=True) as adapters:
            yield adapters
    finally:
        submission.end_worker()
