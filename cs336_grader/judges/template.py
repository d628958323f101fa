"""The template, from which all other processes are forked, and the recorder.

    python -m cs336_grader.judges.template ZYGOTES JUDGES FOLDER

ZYGOTES and JUDGES are descriptors of sockets. Each byte that comes over one of them asks for a
process and brings descriptors along; over JUDGES, the lesson comes first. FOLDER is for temporary
files, and is removed at the end.
"""

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cs336_grader import running

from .messages import Fault, Forked, Lesson, Ready, encode, receive, send

if TYPE_CHECKING:
    from cs336_grader.judging.judge import Judge

STREAMS = 3


def main(zygotes: int, judges: int, folder: Path) -> None:
    """Be the template; its first child is the recorder."""
    running.hide_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    running.warm_up()
    running.adopt_orphans()
    if os.fork() == 0:
        os.close(zygotes)
        record(socket.socket(fileno=judges), folder / "recorder")
        os._exit(0)
    os.close(judges)
    for (reply,) in requests(socket.socket(fileno=zygotes), 1):
        # Where nothing is answered, the launcher will know.
        with (
            socket.socket(fileno=reply) as answer,
            contextlib.suppress(OSError, running.CouldNotRunError),
        ):
            connection, pid = running.fork_zygote()
            with connection:
                socket.send_fds(answer, [encode(Forked(pid)).encode()], [connection.fileno()])
    # The launcher has closed the socket, or has ended and will not remove the folder.
    shutil.rmtree(folder, ignore_errors=True)
    # Taking torch down takes a second.
    os._exit(0)


def requests(connection: socket.socket, count: int) -> Iterator[list[int]]:
    """The descriptors of each request, so many, until there can be no more requests."""
    while True:
        asked, descriptors, _, _ = socket.recv_fds(connection, 1, count)
        if not asked:
            return
        yield descriptors


def record(connection: socket.socket, files: Path) -> None:
    """Be the recorder: learn, then fork judges.

    Args:
        connection: leads to the launcher.
        files: a folder to make, for what checks write while their values are recorded.
    """
    # Imported after the fork: the template, which workers descend from, has no use for it.
    from cs336_grader.judging.judge import Judge  # noqa: PLC0415
    from cs336_grader.judging.suite import Suite, SuiteError  # noqa: PLC0415

    stream = connection.makefile("rw", encoding="utf-8")
    try:
        lesson = receive(stream)
    except ValueError:
        # The launcher has ended.
        return
    if not isinstance(lesson, Lesson):
        return
    files.mkdir()
    tempfile.tempdir = str(files)

    def recorded() -> None:
        shutil.rmtree(files, ignore_errors=True)
        tempfile.tempdir = None
        send(stream, Ready())
        fork_judges(connection, judge)

    checks = {check.name: check for check in lesson.checks}
    judge = Judge(Suite(Path(lesson.folder), lesson.seed, checks), recorded, lesson.catalogue)
    try:
        if checks:
            judge.run()
        else:
            recorded()
    except SuiteError as error:
        send(stream, Fault(str(error)))


def fork_judges(connection: socket.socket, judge: "Judge") -> None:
    """Fork a judge whenever one is asked for."""
    for descriptors in requests(connection, STREAMS + 2):
        *streams, zygote, reply = descriptors
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.close()
            os.close(reply)
            be_judge(streams, socket.socket(fileno=zygote), judge)
        for descriptor in (*streams, zygote):
            os.close(descriptor)
        with socket.socket(fileno=reply) as answer, contextlib.suppress(OSError):
            answer.sendall(encode(Forked(pid)).encode())


def be_judge(streams: list[int], zygote: socket.socket, judge: "Judge") -> None:
    """Be a judge, with these descriptors for input, output and complaints."""
    from . import judge_process  # noqa: PLC0415 (as above)

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace")
    try:
        judge_process.main(zygote, judge)
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
