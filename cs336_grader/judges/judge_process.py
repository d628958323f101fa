"""A judge, from inside: it reads a task, and tells what it finds as it finds it."""

import contextlib
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from cs336_grader import running
from cs336_grader.judging.judge import Judge
from cs336_grader.records import NO_CHECK, ForbiddenCall, Measurement, Progress, Usage

from .messages import Fault, Message, Ready, Task, receive, send

# What is right takes less than a quarter of it. Two results of unusual shapes, subtracted, or one
# multiplied by itself, would take all that the machine has.
MOST_MEGABYTES = 4096
# The marker of checks that need a worker in which nothing has run before.
FRESH_WORKER = "fresh_worker"
Tell = Callable[[Message], None]


def main(connection: socket.socket, judge: Judge) -> None:
    """Be a judge.

    Args:
        connection: leads to a zygote that was forked from the template.
        judge: has recorded all expected values.
    """
    torch.set_num_threads(1)
    # The launcher says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    # Linux schedules a session as one, and whoever may write to a process of it sets how.
    os.setsid()
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    task = receive(sys.stdin)
    if not isinstance(task, Task):
        raise TypeError("a judge is told its task first")
    recorder = os.getppid()
    nobody_listens = False
    try:
        send(events, carried_out(task, connection, judge, lambda event: send(events, event)))
    except KeyboardInterrupt:
        nobody_listens = os.getppid() != recorder
    except BrokenPipeError:
        nobody_listens = True
    if nobody_listens:
        # The launcher made the folder, has ended, and will not remove it.
        shutil.rmtree(task.run, ignore_errors=True)


def stop(*_: object) -> None:
    """Give up what is being done, once. It is not SystemExit, which pytest takes for a result."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def carried_out(task: Task, connection: socket.socket, judge: Judge, tell: Tell) -> Ready | Fault:
    """Carry out a task, tell what is found, and return how it ended."""
    running.die_with_parent(signal.SIGTERM)
    folders = Folders(Path(task.run))
    limits = running.Limits(**task.limits)
    setting = running.Setting(
        Path(task.root),
        folders.scratch,
        limits,
        hidden=("cs336_checks", "cs336_grader", *task.hidden),
        isolated=task.isolation != "none",
    )
    try:
        with contextlib.closing(zygote(setting, task, connection)) as made:
            # Of this process alone: workers have limits of their own, or none.
            running.limit_memory(MOST_MEGABYTES)
            found = running.measure(
                made, limits.memory_megabytes, lambda: running.confine(folders.run, folders.files)
            )
            tell(Measurement(found.isolation(), dict(found.layers()), found.advice()))
            if task.isolation == "strict" and (reason := found.not_strict()):
                return Fault(reason)
            if task.load is not None:
                problems = {name: judge.suite.checks[name].problem for name in task.checks}
                submission = running.RunningSubmission(
                    made,
                    task.load,
                    limits,
                    shared=(folders.files,),
                    problems=problems,
                    secret=judge.suite.seed,
                )
                with contextlib.closing(submission):
                    judge.judge(
                        SubmissionSource(submission, tell),
                        task.checks,
                        scope=task.scope,
                        started=lambda check: tell(Progress(check)),
                        finished=tell,
                    )
                used = made.usage()
                tell(Usage(used["cpu_seconds"], int(used["memory_bytes"])))
    except running.CouldNotRunError as error:
        return Fault(str(error))
    return Ready()


def zygote(setting: running.Setting, task: Task, connection: socket.socket) -> running.Zygote:
    """The process that workers descend from, of this interpreter or of another one."""
    if task.python:
        connection.close()
        return running.start_zygote(setting, task.python)
    return running.forked_zygote(connection, task.zygote, setting)


@dataclass(frozen=True, slots=True)
class Folders:
    """Where a judge keeps its files, and where workers may write.

    Attributes:
        run: holds both, and is the only folder that the judge may write to.
    """

    run: Path

    def __post_init__(self) -> None:
        """Make them."""
        self.files.mkdir()
        self.scratch.mkdir()
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(self.files / "compiled")

    @property
    def files(self) -> Path:
        """For the judge."""
        return self.run / "files"

    @property
    def scratch(self) -> Path:
        """For workers."""
        return self.run / "scratch"


class SubmissionSource:
    """Gives each case of a check the submission's adapters, in the worker of its problem."""

    def __init__(self, submission: running.RunningSubmission, tell: Tell) -> None:
        self.submission = submission
        self.tell = tell

    def adapters_for(self, request: pytest.FixtureRequest) -> Any:
        """The adapters, until the case is over."""
        worker = contextlib.ExitStack()
        check = getattr(request.node, "originalname", request.node.name)
        worker.callback(self.tell_forbidden_calls, str(check))
        request.addfinalizer(worker.close)
        fresh = request.node.get_closest_marker(FRESH_WORKER) is not None
        return worker.enter_context(self.submission.case(request.node.name, fresh=fresh))

    def use_new_worker(self) -> bool:
        """Have the next case run in a new worker; whether the last one ran in a used one."""
        return self.submission.use_new_worker()

    def tell_forbidden_calls(self, check: str) -> None:
        """Tell which forbidden calls a case of a check made, and those of the import."""
        for place in sorted(self.submission.import_calls):
            self.tell(ForbiddenCall(NO_CHECK, *place))
        self.submission.import_calls.clear()
        for place in sorted(self.submission.forbidden_calls):
            self.tell(ForbiddenCall(check, *place))
