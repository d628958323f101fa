"""One grading of the reference from a cold start, with accounts of who used what.

``python -m benchmarks.graded`` is ``cs336 grade .`` with a clock at the places where one's work
passes into another's. Every process takes its own CPU time; what workers use of it that is the
submission's is added up in memory that all processes share.
"""

import contextlib
import functools
import json
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
JUDGE = (
    "import sys; sys.path.insert(0, {root!r}); from benchmarks import graded; graded.judge({out!r})"
)


class Accounts:
    """CPU time, each second on the account that was opened last."""

    names = ("torch", "student", "border", "forks", "reference", "checks")

    def __init__(self) -> None:
        self.seconds = memoryview(mmap.mmap(-1, 8 * len(self.names))).cast("d")
        self.opened: list[str] = []
        self.pid, self.since = os.getpid(), 0.0

    def charge(self) -> None:
        """Put the time since the last call on the present account."""
        now = time.process_time()
        if self.pid != os.getpid():  # forked meanwhile: nothing of this process's time is old
            self.pid, self.opened = os.getpid(), []
        elif self.opened:
            self.seconds[self.names.index(self.opened[-1])] += now - self.since
        self.since = now

    @contextlib.contextmanager
    def account(self, name: str) -> Iterator[None]:
        """What is done meanwhile goes on this account."""
        self.charge()
        self.opened.append(name)
        try:
            yield
        finally:
            self.charge()
            del self.opened[-1:]  # in a process that was forked meanwhile there is none

    def watch(self, name: str, holder: Any, *functions: str) -> None:
        """Have functions of a module or class go on an account."""
        for function in functions:
            setattr(holder, function, self.counted(name, getattr(holder, function)))

    def counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, on an account.

        The border's is that between the student's code and ours; what the reference does is all on
        its own account.
        """

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            inside = self.opened[-1:]
            if (name == "border" and inside != ["student"]) or inside == ["reference"]:
                return function(*args, **kwargs)
            with self.account(name):
                return function(*args, **kwargs)

        return call


def judge(out: str) -> None:
    """Be the process that judges, and write at the end what went on which account."""
    accounts = Accounts()
    with accounts.account("torch"):
        import torch  # noqa: F401, PLC0415 - here, to be measured
    from cs336_grader import running, trusted_process  # noqa: PLC0415
    from cs336_grader.judging.suite import SuiteRun  # noqa: PLC0415
    from cs336_grader.worker import process, session, values  # noqa: PLC0415

    accounts.watch("torch", running, "warm_up")
    accounts.watch("checks", SuiteRun, "run_with")
    accounts.watch("reference", SuiteRun, "record")
    accounts.watch("forks", process, "fork")
    accounts.watch("student", process, "load")
    accounts.watch("student", session.Session, "call", "backward", "next")
    accounts.watch("border", values.Decoder, "decode")
    accounts.watch("border", values.Encoder, "encode", "encode_value", "encode_items")
    trusted_process.main()
    seconds = dict(zip(accounts.names, accounts.seconds, strict=True))
    found = seconds | {
        "judge": used(resource.RUSAGE_SELF),
        "workers": used(resource.RUSAGE_CHILDREN),
    }
    Path(out).write_text(json.dumps(found), encoding="utf-8")


def used(whose: int) -> float:
    """The CPU time of this process, or of those below it that have ended."""
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


class Patient(subprocess.Popen[str]):
    """A process that is let come to its end."""

    def terminate(self) -> None:
        """Wait for it instead."""
        self.wait()


def main() -> None:
    """Grade the reference and write what each part of it used."""
    # What importing takes is the launcher's.
    from cs336_grader.__main__ import commands  # noqa: PLC0415

    command = commands()
    from cs336_grader import trusted  # noqa: PLC0415 (imported by the command, in its own way)

    with tempfile.TemporaryDirectory() as folder:
        accounts = Path(folder, "accounts.json")

        def start(complaints: IO[str]) -> Patient:
            program = JUDGE.format(root=str(ROOT), out=str(accounts))
            return Patient(
                [sys.executable, "-s", "-P", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=trusted.environment(),
                encoding="utf-8",
                text=True,
            )

        trusted.start = start
        with contextlib.redirect_stdout(sys.stderr):
            command.main(
                ["grade", str(ROOT), "--seed", "0", "--report-dir", folder], standalone_mode=False
            )
        found = json.loads(accounts.read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(found | {"launcher": used(resource.RUSAGE_SELF)}))


if __name__ == "__main__":
    main()
