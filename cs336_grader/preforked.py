"""Judges one submission after another, each in forks of processes that have what all of them need.

    outside                         inside
    ── suite, seed ───────────────▶ knows: records all expected values, once
    ── "a worker" ────────────────▶ knows nothing: has imported torch, and forks
    ◀── a worker's channel ────────
    ── streams, that channel ─────▶ knows: forks a process that judges
    ◀── its id ────────────────────

The process that judges is ``trusted_process`` as it always is; only that it starts is quicker. What
the one side knows was never in the memory of the other, from which every worker descends.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from . import trusted, trusted_process
from .records import CouldNotJudgeError
from .rubric import Assignment
from .worker.sandbox.privileges import hide_memory

PID = struct.Struct(">I")
MAX_MESSAGE = 2**20
STREAMS = 3
POLL_SECONDS = 0.005
ENDED = "the process that the others are forked from has ended"


class GoneError(OSError):
    """Nothing more can be judged: it is no submission's fault, and none is to be marked for it."""


def main(workers: int, judges: int) -> None:
    """Be both sides: this process stays the one that knows nothing.

    Args:
        workers: the descriptor on which workers are asked for.
        judges: the descriptor on which it is told what to learn, and processes that judge are
            asked for.
    """
    from . import running  # noqa: PLC0415 (whoever only asks has no use for torch)

    hide_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    running.warm_up()
    running.adopt_orphans()
    if os.fork() == 0:
        os.close(workers)
        learn(socket.socket(fileno=judges))
        os._exit(0)
    os.close(judges)
    for _, (reply,) in requests(socket.socket(fileno=workers), 1):
        # Where nothing is answered, who asked will know.
        with (
            socket.socket(fileno=reply) as answer,
            contextlib.suppress(OSError, running.CouldNotRunError),
        ):
            connection, pid = running.fork_worker()
            with connection:
                socket.send_fds(answer, [PID.pack(pid)], [connection.fileno()])
    # Taking torch down takes a second.
    os._exit(0)


def requests(connection: socket.socket, count: int) -> Iterator[tuple[bytes, list[int]]]:
    """What is asked, each with so many descriptors, until nobody can ask any more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, MAX_MESSAGE, count)
        if not message:
            return
        yield message, descriptors


def learn(connection: socket.socket) -> None:
    """Be the side that knows."""
    from .judging.prepared import PreparedJudge  # noqa: PLC0415
    from .judging.suite import Suite, SuiteError  # noqa: PLC0415

    message = connection.recv(MAX_MESSAGE)
    if not message:
        # Who would have asked is gone.
        return
    lesson = json.loads(message)
    files = tempfile.mkdtemp(prefix="cs336-")
    os.environ["PYTEST_DEBUG_TEMPROOT"] = files

    def ready() -> None:
        shutil.rmtree(files, ignore_errors=True)
        connection.sendall(b"{}")
        fork_judges(connection, judge)

    suite = Suite(Path(lesson["folder"]), lesson["seed"], lesson["checks"])
    judge = PreparedJudge(suite, lesson["catalogue"], ready)
    try:
        judge.run()
    except SuiteError as error:
        connection.sendall(json.dumps({"fault": str(error)}).encode())
    finally:
        shutil.rmtree(files, ignore_errors=True)


def fork_judges(connection: socket.socket, judge: Any) -> None:
    """Fork a process that judges whenever it is asked for."""
    for message, descriptors in requests(connection, STREAMS + 2):
        *streams, worker, reply = descriptors
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.close()
            os.close(reply)
            (zygote,) = PID.unpack(message)
            known = trusted_process.Prepared(socket.socket(fileno=worker), zygote, judge)
            be_judge(streams, known)
        for descriptor in (*streams, worker):
            os.close(descriptor)
        with socket.socket(fileno=reply) as answer, contextlib.suppress(OSError):
            answer.sendall(PID.pack(pid))


def be_judge(streams: list[int], known: trusted_process.Prepared) -> None:
    """Be the process that judges, with these for input, output and complaints."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace")
    try:
        trusted_process.main(known)
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(0)


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where processes that judge are asked for; it can be handed to other processes.

    Each question is one message, and brings the way to answer it along: many may ask at a time.
    """

    workers: socket.socket
    judges: socket.socket

    def start(self, complaints: IO[str]) -> "ForkedJudge":
        """As ``trusted.start``.

        Raises:
            GoneError: the processes that are asked are gone.
        """
        said, (worker,) = asked(self.workers, b"w", [])
        (stdin, ours_in), (ours_out, stdout) = os.pipe(), os.pipe()
        given = [stdin, stdout, complaints.fileno(), worker]
        try:
            (pid,) = PID.unpack(asked(self.judges, said, given)[0])
        except GoneError:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            for descriptor in (stdin, stdout, worker):
                os.close(descriptor)
        return ForkedJudge(
            pid, os.fdopen(ours_in, "w", encoding="utf-8"), os.fdopen(ours_out, encoding="utf-8")
        )

    def close(self) -> None:
        """Ask no more."""
        self.workers.close()
        self.judges.close()


def asked(entrance: socket.socket, message: bytes, given: list[int]) -> tuple[bytes, list[int]]:
    """The answer to a question, with the descriptor that came with it, if one did."""
    ours, theirs = socket.socketpair()
    with ours:
        try:
            with theirs:
                socket.send_fds(entrance, [message], [*given, theirs.fileno()])
            answer, descriptors, _, _ = socket.recv_fds(ours, PID.size, 1)
        except OSError as error:
            raise GoneError(ENDED) from error
    if len(answer) != PID.size:
        raise GoneError(ENDED)
    return answer, descriptors


class Preforked:
    """Both sides, for one assignment and one seed.

    Attributes:
        entrance: where processes that judge are asked for.
        process: the one that all others descend from, and that adopts what they leave behind.

    Raises:
        CouldNotJudgeError: the suite cannot be run.
    """

    def __init__(self, assignment: Assignment, seed: int) -> None:
        hide_memory()
        # Messages with borders, and an end that is noticed.
        kind = socket.SOCK_SEQPACKET
        (workers, theirs), (judges, theirs_too) = (
            socket.socketpair(socket.AF_UNIX, kind),
            socket.socketpair(socket.AF_UNIX, kind),
        )
        self.entrance = Entrance(workers, judges)
        given = (theirs.fileno(), theirs_too.fileno())
        code = f"from {__name__} import main; main(*{given})"
        with theirs, theirs_too:
            self.process = psutil.Popen(
                [sys.executable, "-s", "-P", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=trusted.environment(),
                pass_fds=given,
                # Ctrl-C is for who asks: it would end this one with a traceback while it starts.
                process_group=0,
            )
        try:
            self.teach(assignment, seed)
        except BaseException:
            self.close()
            raise

    def teach(self, assignment: Assignment, seed: int) -> None:
        """Say what is to be judged, and wait until it is learnt."""
        about = trusted.scope(assignment)
        lesson = {
            "folder": str(assignment.folder.resolve()),
            "seed": seed,
            "checks": {name: check.file for name, check in assignment.checks.items()},
            "catalogue": None if about is None else about["catalogue"],
        }
        self.entrance.judges.sendall(json.dumps(lesson).encode())
        answer = json.loads(self.entrance.judges.recv(MAX_MESSAGE) or f'{{"fault": "{ENDED}"}}')
        if "fault" in answer:
            raise CouldNotJudgeError(answer["fault"])

    def __enter__(self) -> Entrance:
        """Where processes that judge are asked for."""
        return self.entrance

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()

    def close(self) -> None:
        """End it, and all that it has started."""
        self.entrance.close()
        with contextlib.suppress(psutil.NoSuchProcess):
            # Until it is known what it has started, it starts nothing more.
            self.process.suspend()
            for process in (*self.process.children(recursive=True), self.process):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.wait()


class ForkedJudge:
    """A process that judges, with the part of ``subprocess.Popen`` that is used of it."""

    def __init__(self, pid: int, stdin: IO[str], stdout: IO[str]) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.process: psutil.Process | None = None
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process = psutil.Process(pid)

    def terminate(self) -> None:
        """Ask it to end."""
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        if self.process is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.process.send_signal(number)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has ended.

        Raises:
            TimeoutExpired: it has not.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self.process is not None and self.process.is_running():
            if end is not None and timeout is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("the process that judges", timeout)
            time.sleep(POLL_SECONDS)
