"""The process that knows the answers, from inside: see ``trusted`` for what is said.

It first becomes ready to run the submission, and learns then what no worker may find in its memory.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .records import Outcome

if TYPE_CHECKING:
    from .judging.prepared import PreparedJudge

# What is right takes less than a quarter of it. Two results of unusual shapes, subtracted, or one
# multiplied by itself, would take all that the machine has.
MOST_MEGABYTES = 4096
# The marker of checks that need a worker in which nothing has run before.
FRESH_WORKER = "fresh_worker"
# What a worker is told of a submission that it is to import.
TO_LOAD = ("root", "search_paths", "module", "package", "rules", "unmet")


def main(prepared: "Prepared | None" = None) -> None:
    """Be the process that judges: read two messages, write events."""
    # The process outside says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    if sys.platform != "win32":
        # Linux schedules a session as one, and whoever may write to a process of it sets how.
        os.setsid()
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
    nobody_listens = False
    try:
        judge(before, Folders(run, files, scratch), tell, prepared)
    except KeyboardInterrupt:
        nobody_listens = os.getppid() != outside
    except BrokenPipeError:
        nobody_listens = True
    if nobody_listens:
        # Who made the folder is gone and will not remove it.
        shutil.rmtree(run, ignore_errors=True)


def stop(*_: object) -> None:
    """Give up what is being done, once. It is not SystemExit, which pytest takes for a result."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the process that judges keeps its files, and where workers may write.

    Attributes:
        run: holds all of them, and is the one that this process may write to.
        files: its own.
        scratch: for workers.
    """

    run: Path
    files: Path
    scratch: Path


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was there before the process that judges, which was forked from one that knows more.

    Attributes:
        connection: leads to a worker that was forked from one that knows nothing.
        pid: that worker.
        judge: has learnt the suite, the seed and all expected values.
    """

    connection: socket.socket
    pid: int
    judge: "PreparedJudge"


def judge(
    before: dict[str, Any],
    folders: Folders,
    tell: Callable[..., None],
    prepared: Prepared | None,
) -> None:
    """Make the zygote, learn the rest, and run the suite on the submission."""
    # Imported here because ``outcomes`` has no use for torch.
    from . import running  # noqa: PLC0415

    running.hide_memory()
    running.die_with_parent(signal.SIGTERM)
    running.warm_up()
    limits = running.Limits(**before["limits"])
    setting = running.Setting(
        Path(before["root"]),
        folders.scratch,
        limits,
        hidden=(__package__, *before["hidden"]),
        isolated=before["isolation"] != "none",
    )
    try:
        with contextlib.closing(first_worker(setting, before["python"], prepared)) as zygote:
            # Of this process alone: workers have limits of their own, or none.
            running.limit_memory(MOST_MEGABYTES)
            found = running.measure(
                zygote, limits.memory_megabytes, lambda: running.confine(folders.run, folders.files)
            )
            layers, mend = found.layers(), found.mend()
            tell("isolation", **asdict(found.isolation()), missing=layers, mend=mend)
            if before["isolation"] == "strict" and (reason := found.not_strict()):
                tell("fault", reason=reason)
                return
            tell("ready")
            after = json.loads(sys.stdin.readline())
            load = {name: before[name] for name in TO_LOAD}
            submission = running.RunningSubmission(
                zygote, load, limits, shared=(folders.files,), problems=after["problems"]
            )
            with contextlib.closing(submission):
                judge_submission(submission, after, tell, prepared)
            tell("usage", **zygote.usage())
    except running.CouldNotRunError as error:
        tell("fault", reason=str(error))
        return
    tell("done")


def first_worker(setting: Any, python: str, prepared: Prepared | None) -> Any:
    """The worker that all others descend from, and that knows nothing of what is to be learnt."""
    from . import running  # noqa: PLC0415

    if python:
        return running.start_zygote(setting, python)
    if prepared is not None:
        return running.forked_zygote(prepared.connection, prepared.pid, setting)
    return running.fork_zygote(setting)


def judge_submission(
    submission: Any, after: dict[str, Any], tell: Callable[..., None], prepared: Prepared | None
) -> None:
    """Run the suite on the submission."""
    # Imported here, after the fork, so that no worker holds any of it.
    from .judging.diagnosis import Scope  # noqa: PLC0415
    from .judging.expected import RecordedValues  # noqa: PLC0415
    from .judging.judge import Judge  # noqa: PLC0415
    from .judging.suite import Suite, SuiteError  # noqa: PLC0415

    scope = None if after["scope"] is None else Scope(**after["scope"])
    suite = Suite(Path(after["folder"]), after["seed"], after["checks"])
    source = SubmissionSource(submission, tell)

    def started(check: str) -> None:
        tell("progress", check=check)

    def finished(found: Outcome) -> None:
        tell("outcome", **asdict(found))

    try:
        if prepared is None:
            expected = RecordedValues()
            Judge(suite, source, expected, scope=scope, started=started, finished=finished).judge()
        else:
            prepared.judge.judge_one(suite, source, scope=scope, started=started, finished=finished)
    except SuiteError as error:
        tell("fault", reason=str(error))


class SubmissionSource:
    """Gives each case of a check the submission's adapters, in the worker of its problem."""

    def __init__(self, submission: Any, tell: Callable[..., None]) -> None:
        self.submission = submission
        self.tell = tell

    def adapters_for(self, request: Any) -> Any:
        """The adapters, until the case is over."""
        worker = contextlib.ExitStack()
        check = getattr(request.node, "originalname", request.node.name)
        worker.callback(self.tell_forbidden_calls, str(check))
        request.addfinalizer(worker.close)
        fresh = request.node.get_closest_marker(FRESH_WORKER) is not None
        return worker.enter_context(self.submission.case(request.node.name, fresh=fresh))

    def use_new_worker(self) -> bool:
        """Have the next case run in a new worker; whether the last one ran in a used one."""
        return bool(self.submission.use_new_worker())

    def tell_forbidden_calls(self, check: str) -> None:
        """Tell what a case of a check entered that the rules are about."""
        for place in sorted(self.submission.forbidden_calls):
            self.tell("forbidden_call", check=check, place=place)


def write_line(stream: IO[str], message: dict[str, Any]) -> None:
    """Write a message as one line of JSON."""
    stream.write(json.dumps(message) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    # Taking torch down takes half a second, and nothing is left to be done.
    os._exit(0)
