"""The process that knows the answers, seen from outside and from inside.

Outside, ``outcomes`` starts it and passes on what it says. Inside, ``main`` first becomes ready to
run the submission, and only then is told, and learns, what no worker may find in its memory: the
suite, the seed and the reference.

    outside                                inside
    ── what to import, limits ──────────▶  import torch, fork the warm worker
    ◀───────────────────── "ready" ──────
    ── assignment, seed, checks ────────▶  import the submission, run the suite on it and
    ◀─── progress, outcomes, "done" ─────  on the reference
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .records import (
    Barrier,
    CouldNotJudgeError,
    Isolation,
    Measurement,
    Outcome,
    Picture,
    Progress,
    Sighting,
    Staged,
    Verdict,
)

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
    # Memory in huge pages from the start is quicker to fork: see worker/hugepages.py.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "WANDB_MODE": "disabled",
}

# What a worker is told of a submission that it is to import.
TO_LOAD = ("root", "search_paths", "module", "package", "rules")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What workers are run in, and with.

    Attributes:
        folder: for all files of this run, and for none that outlives it.
        isolation: "auto", "strict" or "none".
        python: the interpreter of the workers; this one if empty.
    """

    folder: Path
    isolation: str
    python: str = ""


def outcomes(
    staged: Staged,
    assignment: "Assignment",
    conditions: Conditions,
    *,
    seed: int,
    checks: tuple[str, ...],
) -> Iterator[Measurement | Progress | Sighting | Outcome]:
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
    }
    after = {
        "folder": str(assignment.folder.resolve()),
        "seed": seed,
        "checks": {name: assignment.checks[name].file for name in checks},
        "scope": scope(assignment),
    }
    yield from said(before, after)


def scope(assignment: "Assignment") -> dict[str, Any] | None:
    """What failed comparisons are explained with, if the assignment's folder has known mistakes."""
    rubric, name = assignment.rubric, assignment.rubric.known_mistakes
    if name is None or not assignment.folder.joinpath(*name.split(".")).exists():
        return None
    return {
        "catalogue": name,
        "problems": {name: check.problem for name, check in assignment.checks.items()},
        "built_on": {name: rubric.below(name) for name in rubric.problems},
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
    with contextlib.closing(said(before, None)) as events:
        for event in events:
            if isinstance(event, Measurement):
                return event
    raise CouldNotJudgeError("nothing was found out")


def said(
    before: dict[str, Any], after: dict[str, Any] | None
) -> Generator[Measurement | Progress | Sighting | Outcome, None, None]:
    """Start the process and pass on what it says.

    Args:
        before: what it is told at first.
        after: what it is told when it is ready; if nothing, it ends then.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        process = start(complaints)
        try:
            # It may end at any moment, in the middle of a line too.
            with contextlib.suppress(BrokenPipeError, json.JSONDecodeError):
                yield from talk(process, before, after)
                return
        finally:
            end(process)
        complaints.seek(0)
        last = (complaints.read().strip().splitlines() or ["it said nothing"])[-1]
        raise CouldNotJudgeError(f"the process that judges ended early: {last}")


def talk(
    process: subprocess.Popen[str], before: dict[str, Any], after: dict[str, Any] | None
) -> Iterator[Measurement | Progress | Sighting | Outcome]:
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
        elif event["event"] == "sighting":
            yield Sighting(event["check"], *event["place"])
        elif event["event"] == "outcome":
            yield outcome_from(event)
        elif event["event"] == "done":
            return
        else:
            raise CouldNotJudgeError(event["reason"])


def start(complaints: IO[str]) -> subprocess.Popen[str]:
    """Start the process with a clean environment and no memory of this one."""
    kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-s", "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        env=kept | FIXED_ENVIRONMENT,
        encoding="utf-8",
        text=True,
    )


def end(process: subprocess.Popen[str]) -> None:
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


def write_line(stream: IO[str], message: dict[str, Any]) -> None:
    """Write a message as one line of JSON."""
    stream.write(json.dumps(message) + "\n")
    stream.flush()


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
    )


def main() -> None:
    """Be the process that judges: read two messages, write events."""
    # Ctrl-C reaches this process as well as the one outside, which then says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(event: str, **content: object) -> None:
        write_line(events, {"event": event, **content})

    before = json.loads(sys.stdin.readline())
    run = Path(before["run"])
    files, scratch = run / "files", run / "scratch"
    for folder in (files, scratch):
        folder.mkdir()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(files)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(files / "compiled")
    outside = os.getppid()
    with contextlib.suppress(KeyboardInterrupt):
        judge(before, files, scratch, tell)
    if os.getppid() != outside:
        # Who made the folder is gone and will not remove it.
        shutil.rmtree(run, ignore_errors=True)


def stop(*_: object) -> None:
    """Give up what is being done, once. It is not SystemExit, which pytest takes for a result."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def judge(before: dict[str, Any], files: Path, scratch: Path, tell: Callable[..., None]) -> None:
    """Fork the warm worker, learn the rest, and run the suite on the submission."""
    # Imported here because ``outcomes`` has no use for torch.
    from . import running  # noqa: PLC0415

    running.die_with_parent(signal.SIGTERM)
    running.warm_up()
    limits = running.Limits(**before["limits"])
    setting = running.Setting(
        Path(before["root"]),
        scratch,
        limits,
        hidden=(__package__, *before["hidden"]),
        isolated=before["isolation"] != "none",
    )
    try:
        if before["python"]:
            first = running.start_warm_worker(setting, before["python"])
        else:
            first = running.fork_warm_worker(setting)
        with contextlib.closing(first) as warm:
            found = running.measure(warm, limits.memory_megabytes)
            tell("isolation", **asdict(found.isolation()), missing=found.missing, mend=found.mend())
            if before["isolation"] == "strict" and (reason := found.not_strict()):
                tell("fault", reason=reason)
                return
            tell("ready")
            running.stand_in_for_compiler()
            after = json.loads(sys.stdin.readline())
            load = {name: before[name] for name in TO_LOAD}
            submission = running.RunningSubmission(warm, load, limits, shared=(files,))
            with contextlib.closing(submission):
                judge_submission(submission, after, tell)
    except running.CouldNotRunError as error:
        tell("fault", reason=str(error))
        return
    tell("done")


def judge_submission(submission: Any, after: dict[str, Any], tell: Callable[..., None]) -> None:
    """Run the suite on the submission."""
    # Imported here, after the fork, so that no worker holds any of it.
    from .judging.diagnosis import Scope  # noqa: PLC0415
    from .judging.expected import RecordedValues  # noqa: PLC0415
    from .judging.judge import Judge  # noqa: PLC0415
    from .judging.suite import Suite, SuiteError  # noqa: PLC0415

    scope = None if after["scope"] is None else Scope(**after["scope"])
    suite = Suite(Path(after["folder"]), after["seed"], after["checks"])
    try:
        Judge(
            suite,
            SubmissionSource(submission, tell),
            RecordedValues(),
            scope=scope,
            started=lambda check: tell("progress", check=check),
            finished=lambda outcome: tell("outcome", **asdict(outcome)),
        ).judge()
    except SuiteError as error:
        tell("fault", reason=str(error))


class SubmissionSource:
    """Gives each case of a check the submission's adapters, in a worker of its own."""

    def __init__(self, submission: Any, tell: Callable[..., None]) -> None:
        self.submission = submission
        self.tell = tell

    def adapters_for(self, request: Any) -> Any:
        """The adapters, until the case is over."""
        worker = contextlib.ExitStack()
        check = getattr(request.node, "originalname", request.node.name)
        worker.callback(self.tell_sightings, str(check))
        request.addfinalizer(worker.close)
        return worker.enter_context(self.submission.check(request.node.name))

    def tell_sightings(self, check: str) -> None:
        """Tell what a case of a check entered that the rules are about."""
        for place in sorted(self.submission.sightings):
            self.tell("sighting", check=check, place=place)


if __name__ == "__main__":
    main()
