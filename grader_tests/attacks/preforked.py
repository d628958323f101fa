"""Judges one submission after another as the grader does, each in a fork that has torch already.

The process that judges is `cs336_grader.trusted`, as it is; only that it starts is quicker.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from typing import IO, Any

import psutil

from cs336_grader import running, trusted
from cs336_grader.worker.process import adopt_orphans

PID = struct.Struct(">I")
STREAMS = 3
POLL_SECONDS = 0.005


def main(channel: int) -> None:
    """Fork a process that judges whenever three descriptors come."""
    running.warm_up()
    adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    connection = socket.socket(fileno=channel)
    while True:
        _, streams, _, _ = socket.recv_fds(connection, 1, STREAMS)
        if not streams:
            return
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.close()
            judge(streams)
        for stream in streams:
            os.close(stream)
        connection.sendall(PID.pack(pid))


def judge(streams: list[int]) -> None:
    """Be the process that judges, with these for input, output and complaints."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    try:
        trusted.main()
    finally:
        os._exit(0)


class Preforked:
    """Starts processes that judge.

    Attributes:
        process: the one that they are forked from, and that adopts what they leave behind.
    """

    def __init__(self) -> None:
        self.connection, theirs = socket.socketpair()
        kept = {name: os.environ[name] for name in trusted.ENVIRONMENT if name in os.environ}
        code = f"from {__name__} import main; main({theirs.fileno()})"
        self.process = psutil.Popen(
            [sys.executable, "-c", code],
            env={**kept, **trusted.FIXED_ENVIRONMENT},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def start(self, complaints: IO[str]) -> Any:
        """As ``trusted.start``."""
        (stdin, ours_in), (ours_out, stdout) = os.pipe(), os.pipe()
        socket.send_fds(self.connection, [b"f"], [stdin, stdout, complaints.fileno()])
        os.close(stdin)
        os.close(stdout)
        (pid,) = PID.unpack(self.connection.recv(PID.size))
        return Judge(pid, os.fdopen(ours_in, "w"), os.fdopen(ours_out))

    def left(self) -> list[str]:
        """The processes that are left behind."""
        return [
            f"{process.name()} ({process.pid})"
            for process in self.process.children(recursive=True)
            if process.is_running() and process.num_threads() > 0
        ]

    def close(self) -> None:
        """End it."""
        self.connection.close()
        for process in self.process.children(recursive=True):
            process.kill()
        self.process.wait()


class Judge:
    """A process that judges, with the part of ``subprocess.Popen`` that is used of it."""

    def __init__(self, pid: int, stdin: IO[str], stdout: IO[str]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout

    def terminate(self) -> None:
        """Ask it to end."""
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def wait(self, timeout: float = 60) -> None:
        """Wait until it has ended."""
        end = time.monotonic() + timeout
        while psutil.pid_exists(self.pid):
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("judge", timeout)
            time.sleep(POLL_SECONDS)
