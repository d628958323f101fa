"""Judges as the launcher sees them: how they are started, told what to do, and ended."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

import psutil

from cs336_checks.rubric import Assignment, Check, Limits
from cs336_grader.records import CouldNotJudgeError, LostJudgeError, Measurement, Staged
from cs336_grader.scope import catalogue, scope
from cs336_grader.worker.sandbox.privileges import hide_memory

from .messages import Event, Fault, Forked, Lesson, Ready, Task, decode, receive, send

# All that the template and what it forks get of the environment.
ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
FIXED_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "WANDB_MODE": "disabled",
}
TEMPLATE = f"{__package__}.template"
MAX_ANSWER = 4096
POLL_SECONDS, END_SECONDS = 0.005, 10
ENDED = "the process that judges are forked from has ended"


class CannotForkError(OSError):
    """The template or the recorder has ended: no submission is to be marked for it."""


class Template:
    """The template and the recorder, for one assignment and one seed.

    Args:
        lesson: what the recorder learns.
        folder: removed at the end, by the template where the launcher has ended before.

    Attributes:
        process: the template, which adopts what its descendants leave behind.
        judges: starts judges.

    Raises:
        CouldNotJudgeError: the suite cannot be run, or this system cannot fork processes.
    """

    def __init__(self, lesson: Lesson, folder: Path) -> None:
        if not hasattr(os, "fork"):
            raise CouldNotJudgeError("judges and workers are forked, which this system cannot do")
        # This process knows the seed, and a worker may be of the same user.
        hide_memory()
        (zygotes, theirs), (judges, theirs_too) = socket.socketpair(), socket.socketpair()
        self.judges = JudgeStarter(zygotes, judges)
        given = (theirs.fileno(), theirs_too.fileno())
        self.folder = folder
        with theirs, theirs_too:
            self.process = psutil.Popen(
                [sys.executable, "-s", "-P", "-m", TEMPLATE, *map(str, given), str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Importing torch makes a folder for what it compiles.
                env=environment() | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "compiled")},
                pass_fds=given,
                # Ctrl-C is for the launcher: it would end this one with a traceback.
                process_group=0,
            )
        try:
            self.learn(lesson)
        except BaseException:
            self.close()
            raise

    def learn(self, lesson: Lesson) -> None:
        """Have all expected values of a lesson recorded.

        Raises:
            CouldNotJudgeError: the suite cannot be run.
        """
        with self.judges.judges.makefile("rw", encoding="utf-8") as stream:
            try:
                send(stream, lesson)
                answer = receive(stream)
            except (OSError, ValueError) as error:
                raise CouldNotJudgeError(ENDED) from error
        if isinstance(answer, Fault):
            raise CouldNotJudgeError(answer.reason)

    def __enter__(self) -> "Template":
        """The template; its processes end with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all of it."""
        self.close()

    def close(self) -> None:
        """End the template and all that descends from it."""
        self.judges.close()
        with contextlib.suppress(psutil.NoSuchProcess):
            # Until it is known what it has started, it starts nothing more.
            self.process.suspend()
            for process in (*self.process.children(recursive=True), self.process):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class JudgeStarter:
    """Starts judges; it can be handed to other processes, and many may use it at a time.

    Attributes:
        zygotes: leads to the template.
        judges: leads to the recorder.
    """

    zygotes: socket.socket
    judges: socket.socket

    def start(self, complaints: IO[str]) -> "JudgeProcess":
        """Start a judge.

        Args:
            complaints: where it writes what it complains of.

        Raises:
            CannotForkError: the template or the recorder has ended.
        """
        zygote, (connection,) = fork(self.zygotes, [])
        (stdin, ours_in), (ours_out, stdout) = os.pipe(), os.pipe()
        given = [stdin, stdout, complaints.fileno(), connection]
        try:
            judge, _ = fork(self.judges, given)
        except CannotForkError:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            for descriptor in (stdin, stdout, connection):
                os.close(descriptor)
        streams = os.fdopen(ours_in, "w", encoding="utf-8"), os.fdopen(ours_out, encoding="utf-8")
        return JudgeProcess(judge, zygote, *streams)

    def close(self) -> None:
        """Start no more: the template and the recorder end when nobody else can ask them."""
        self.zygotes.close()
        self.judges.close()


def fork(asked: socket.socket, given: list[int]) -> tuple[int, list[int]]:
    """The id of a process that is forked for us, with the descriptor that leads to it, if any.

    Raises:
        CannotForkError: whoever is asked has ended.
    """
    ours, theirs = socket.socketpair()
    with ours:
        try:
            with theirs:
                socket.send_fds(asked, [b"?"], [*given, theirs.fileno()])
            answer, descriptors, _, _ = socket.recv_fds(ours, MAX_ANSWER, 1)
            return cast(Forked, decode(answer.decode())).pid, descriptors
        except (OSError, ValueError) as error:
            raise CannotForkError(ENDED) from error


class JudgeProcess:
    """A judge, which is no child of this process.

    Attributes:
        zygote: the id of the zygote that it was handed.
        stdin: takes its task.
        stdout: gives what it finds.
    """

    def __init__(self, pid: int, zygote: int, stdin: IO[str], stdout: IO[str]) -> None:
        self.zygote = zygote
        self.stdin, self.stdout = stdin, stdout
        self.process: psutil.Process | None = None
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process = psutil.Process(pid)

    def end(self) -> None:
        """End it; it ends its workers first if it still can."""
        self.signal(signal.SIGTERM)
        end = time.monotonic() + END_SECONDS
        while self.process is not None and self.process.is_running():
            if time.monotonic() > end:
                self.signal(signal.SIGKILL)
            time.sleep(POLL_SECONDS)
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        if self.process is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.process.send_signal(number)


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a submission is run.

    Attributes:
        folder: an empty one of this run, which is removed afterwards.
        isolation: "auto", "strict" or "none".
        python: the interpreter that the submission runs in; the judge's own if empty.
    """

    folder: Path
    isolation: str
    python: str = ""


def lesson(assignment: Assignment, seed: int, checks: Iterable[Check]) -> Lesson:
    """Return what the recorder has to learn to judge by some checks."""
    folder = str(assignment.folder.resolve())
    return Lesson(folder, seed, tuple(checks), catalogue(assignment))


def results(
    judges: JudgeStarter,
    staged: Staged,
    assignment: Assignment,
    checks: Iterable[str],
    conditions: Conditions,
) -> Generator[Event, None, None]:
    """Have a staged submission judged by some checks, and pass on what is found.

    Raises:
        CouldNotJudgeError: the judge could not do its work.
        CannotForkError: no judge can be started any more.
    """
    rubric, names = assignment.rubric, tuple(checks)
    task = replace(
        task_of(staged.root, rubric.limits, conditions),
        hidden=(rubric.package, "tests", *rubric.packages()),
        load={
            "root": str(staged.root),
            "search_paths": list(staged.search_paths),
            "module": staged.module,
            "package": rubric.package,
            "rules": rubric.watched(),
            "unmet": dict(staged.unmet),
        },
        checks=names,
        scope=scope(assignment, names),
    )
    yield from events(judges, task)


def measured(judges: JudgeStarter, root: Path, conditions: Conditions) -> Measurement:
    """Measure what would be closed to a submission in a folder.

    Raises:
        CouldNotJudgeError: no worker could be started.
    """
    with contextlib.closing(events(judges, task_of(root, Limits(), conditions))) as stream:
        for event in stream:
            if isinstance(event, Measurement):
                return event
    raise CouldNotJudgeError("nothing was found out")


def task_of(root: Path, limits: Limits, conditions: Conditions) -> Task:
    """The task to measure what is closed to a submission in a folder."""
    return Task(
        run=str(conditions.folder),
        isolation=conditions.isolation,
        python=conditions.python,
        root=str(root),
        limits=limits.model_dump(),
    )


def events(judges: JudgeStarter, task: Task) -> Generator[Event, None, None]:
    """Start a judge, have it carry out a task, and pass on what it finds.

    Raises:
        CouldNotJudgeError: it says that it cannot.
        LostJudgeError: it ended early.
        CannotForkError: it could not be started.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        judge = judges.start(complaints)
        try:
            # It may end at any moment, in the middle of a line too.
            with contextlib.suppress(BrokenPipeError, ValueError):
                send(judge.stdin, replace(task, zygote=judge.zygote))
                while True:
                    message = receive(judge.stdout)
                    if isinstance(message, Ready):
                        return
                    if isinstance(message, Fault):
                        raise CouldNotJudgeError(message.reason)
                    yield cast(Event, message)
        finally:
            judge.end()
        complaints.seek(0)
        last = (complaints.read().strip().splitlines() or ["it said nothing"])[-1]
        raise LostJudgeError(f"the judge ended early: {last}")


def environment() -> dict[str, str]:
    """Return the template's environment: a part of this process's, and fixed settings."""
    kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return kept | FIXED_ENVIRONMENT
