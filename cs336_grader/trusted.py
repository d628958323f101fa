"""The process that knows the answers, seen from outside.

``outcomes`` starts it and passes on what it says. Inside, ``trusted_process`` first becomes ready
to run the submission, and only then is told, and learns, what no worker may find in its memory:
the suite, the seed and the reference.

    outside                                inside
    ── what to import, limits ──────────▶  import torch, fork the zygote
    ◀───────────────────── "ready" ──────
    ── assignment, seed, checks ────────▶  import the submission, run the suite on it and
    ◀─── progress, outcomes, "done" ─────  on the reference
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from . import trusted_process
from .records import (
    Barrier,
    CouldNotJudgeError,
    ForbiddenCall,
    Isolation,
    LostJudgeError,
    Measurement,
    Outcome,
    Picture,
    Progress,
    Staged,
    Usage,
    Verdict,
)
from .trusted_process import write_line
from .worker.sandbox.privileges import hide_memory

if TYPE_CHECKING:
    # At run time it would bring what the process that judges has no use for.
    from .rubric import Assignment, Limits

# All that the process and the workers get of the environment.
ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
FIXED_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    # A fork copies an entry for each page of memory: huge ones are fewer.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "WANDB_MODE": "disabled",
}


# The search for explanations may take this share of the time for all checks, in addition to it.
EXPLAINING_SHARE = 0.3


class JudgingProcess(Protocol):
    """The process that judges, as it is seen from outside."""

    @property
    def stdin(self) -> IO[str] | None:
        """What it is told."""

    @property
    def stdout(self) -> IO[str] | None:
        """What it says."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""

    def wait(self, timeout: float | None = None) -> object:
        """Wait until it has ended."""


# Starts it; the file takes what it complains about.
Start = Callable[[IO[str]], JudgingProcess]
Event = Measurement | Progress | ForbiddenCall | Outcome | Usage


@dataclass(frozen=True, slots=True)
class Conditions:
    """What workers are run in, and with.

    Attributes:
        folder: for all files of this run, and for none that outlives it.
        isolation: "auto", "strict" or "none".
        python: the interpreter of the workers; this one if empty.
        start: starts the process that judges; as a new program if None.
    """

    folder: Path
    isolation: str
    python: str = ""
    start: Start | None = None


def outcomes(
    staged: Staged,
    assignment: "Assignment",
    conditions: Conditions,
    *,
    seed: int,
    checks: tuple[str, ...],
) -> Iterator[Event]:
    """Run checks on a staged submission in a process of their own.

    Raises:
        CouldNotJudgeError: that process could not do its work.
    """
    before = {
        "run": str(conditions.folder),
        "isolation": conditions.isolation,
        "python": conditions.python,
        "limits": assignment.rubric.limits.model_dump(),
        "root": str(staged.root),
        "search_paths": list(staged.search_paths),
        "module": staged.module,
        "package": assignment.rubric.package,
        "hidden": [assignment.rubric.package, "tests"],
        "rules": assignment.rubric.watched(),
        "unmet": dict(staged.unmet),
    }
    after = {
        "folder": str(assignment.folder.resolve()),
        "seed": seed,
        "checks": {name: assignment.checks[name].file for name in checks},
        "problems": {name: assignment.checks[name].problem for name in checks},
        "scope": scope(assignment),
    }
    yield from said(conditions.start or start, before, after)


def scope(assignment: "Assignment") -> dict[str, Any] | None:
    """What failed comparisons are explained with, if the assignment's folder has known mistakes."""
    rubric, name = assignment.rubric, assignment.rubric.known_mistakes
    if name is None or not assignment.folder.joinpath(*name.split(".")).exists():
        return None
    return {
        "catalogue": name,
        "problems": {name: check.problem for name, check in assignment.checks.items()},
        "built_on": {name: rubric.below(name) for name in rubric.problems},
        "seconds": EXPLAINING_SHARE * rubric.limits.submission_seconds,
    }


def closed_here(staged: Path, limits: "Limits", conditions: Conditions) -> Measurement:
    """What would be closed to a submission in a folder that was graded here and now.

    Raises:
        CouldNotJudgeError: no worker could be started.
    """
    before = {
        "run": str(conditions.folder),
        "isolation": conditions.isolation,
        "python": conditions.python,
        "limits": limits.model_dump(),
        "root": str(staged),
        "hidden": [],
    }
    with contextlib.closing(said(start, before, None)) as events:
        for event in events:
            if isinstance(event, Measurement):
                return event
    raise CouldNotJudgeError("nothing was found out")


def said(
    begin: Start, before: dict[str, Any], after: dict[str, Any] | None
) -> Generator[Event, None, None]:
    """Start the process and pass on what it says.

    Args:
        begin: starts it.
        before: what it is told at first.
        after: what it is told when it is ready; if nothing, it ends then.

    Raises:
        LostJudgeError: it ended early.
    """
    # This process knows the seed, and a worker may be of the same user.
    hide_memory()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        process = begin(complaints)
        try:
            # It may end at any moment, in the middle of a line too.
            with contextlib.suppress(BrokenPipeError, json.JSONDecodeError):
                yield from talk(process, before, after)
                return
        finally:
            end(process)
        complaints.seek(0)
        last = (complaints.read().strip().splitlines() or ["it said nothing"])[-1]
        raise LostJudgeError(f"the process that judges ended early: {last}")


def talk(
    process: JudgingProcess, before: dict[str, Any], after: dict[str, Any] | None
) -> Iterator[Event]:
    """Tell the process what to do and pass on what it says.

    Raises:
        CouldNotJudgeError: it says that it cannot.
        BrokenPipeError: it has ended.
        JSONDecodeError: it has ended in the middle of a line.
    """
    assert process.stdin is not None  # noqa: S101 (both were asked to be pipes)
    assert process.stdout is not None  # noqa: S101
    write_line(process.stdin, before)
    while True:
        event = json.loads(process.stdout.readline())
        if event["event"] == "ready":
            if after is None:
                return
            write_line(process.stdin, after)
        elif event["event"] == "isolation":
            barriers = tuple(Barrier(**barrier) for barrier in event["barriers"])
            isolation = Isolation(event["level"], barriers)
            yield Measurement(isolation, event["missing"], event["mend"])
        elif event["event"] == "progress":
            yield Progress(event["check"])
        elif event["event"] == "forbidden_call":
            yield ForbiddenCall(event["check"], *event["place"])
        elif event["event"] == "outcome":
            yield outcome_from(event)
        elif event["event"] == "usage":
            yield Usage(event["cpu_seconds"], event["memory_bytes"])
        elif event["event"] == "done":
            return
        else:
            raise CouldNotJudgeError(event["reason"])


def start(complaints: IO[str]) -> subprocess.Popen[str]:
    """Start the process with a clean environment and no memory of this one."""
    return subprocess.Popen(
        [sys.executable, "-s", "-P", "-m", trusted_process.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        env=environment(),
        encoding="utf-8",
        text=True,
    )


def environment() -> dict[str, str]:
    """What it gets of this process's environment, and what else."""
    kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return kept | FIXED_ENVIRONMENT


def end(process: JudgingProcess) -> None:
    """End the process, which ends its workers first if it still can."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()  # type: ignore[union-attr]  # both were asked to be pipes


def outcome_from(event: dict[str, Any]) -> Outcome:
    """The outcome that an event tells."""
    picture = event["picture"]
    return Outcome(
        event["check"],
        Verdict(event["verdict"]),
        event["message"],
        event["duration_seconds"],
        None if picture is None else Picture.drawn(picture),
        tuple(event["mistakes"]),
        event["nothing_ran"],
    )
