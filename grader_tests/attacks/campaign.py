"""Grades every attack of `corpus` on this machine, and prints what each has got or broken.

Run as a program, so that it can be run as another user and where system calls are refused.
"""

import argparse
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from cs336_checks.rubric import load_assignment
from cs336_grader import pipeline
from cs336_grader.judges import Template, lesson
from cs336_grader.records import Report, Verdict
from cs336_grader.reports import terminal
from cs336_grader.reports.formats import FORMATS, Destination
from cs336_grader.request import Request
from cs336_grader.running.measuring import canaries
from cs336_grader.worker.sandbox.layers import OWN_ROOT, USER
from cs336_grader.worker.sandbox.probes import Canaries
from grader_tests.assignments import TINY
from grader_tests.unit.readers import READERS

from .attack import CANARY, Attack
from .corpus import CORPUS

SEED = 1_904_261_377
ATTACKED, OTHERS = "moving_average", {"count_words": 3.0, "running_totals": 2.0}
LIMITS = "check_seconds = 4\nimport_seconds = 20\ncpu_seconds = 6\nmemory_megabytes = 1500"
MOST_SECONDS = 90
LINGER_SECONDS = 2


def main() -> None:
    """Print what was measured, and what is wrong after each attack."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    with Battlefield() as field:
        closed = field.closed(asked.isolation)
        # One line each, so that what was seen is known whatever happens next.
        say("nothing", field.rehearse(asked.isolation))
        for name, attack in CORPUS.items():
            if attack.against in closed and (not asked.names or name in asked.names):
                say(name, field.attacked(attack, asked.isolation))


def say(name: str, wrong: list[str]) -> None:
    """Print what is wrong after an attack."""
    print(json.dumps([name, wrong]), flush=True)  # noqa: T201 (this is what it is for)


def canary(place: str) -> str:
    """A secret that is nowhere else."""
    return f"{CANARY}{place}-{secrets.token_hex(8)}"


class Battlefield:
    """What surrounds a run, each part with a secret of its own."""

    def __init__(self) -> None:
        self.exits = contextlib.ExitStack()
        self.root = Path(self.exits.enter_context(tempfile.TemporaryDirectory(prefix="campaign-")))
        self.temporary, self.reports = self.root / "temporary", self.root / "reports"
        os.environ["SECRET"] = canary("environment")
        self.memory = canary("memory")
        for folder, name in (("home", ".netrc"), ("other", "adapters.py"), ("reports", "grades")):
            path = self.root / folder / name
            path.parent.mkdir()
            path.write_text(f"# {canary(folder)}\n", encoding="utf-8")
        self.temporary.mkdir()
        tempfile.tempdir = str(self.temporary)
        self.assignment = self.copied_assignment()
        self.outside: Canaries = self.exits.enter_context(self.listening())
        assignment = load_assignment(self.assignment)
        run = Path(tempfile.mkdtemp(prefix="cs336-"))
        self.template = Template(lesson(assignment, SEED, assignment.checks.values()), run)
        self.exits.callback(self.template.close)
        self.own = self.template.process.children(recursive=True)

    def __enter__(self) -> "Battlefield":
        """It is there already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take all of it down."""
        self.exits.close()

    def copied_assignment(self) -> Path:
        """The tiny assignment with short limits, and secrets in its suite and its reference."""
        folder = shutil.copytree(
            TINY, self.root / "assignment", ignore=shutil.ignore_patterns("__pycache__")
        )
        rubric = folder / "tests" / "rubric.toml"
        text = rubric.read_text(encoding="utf-8")
        limits = "check_seconds = 20\nimport_seconds = 60"
        assert limits in text
        rubric.write_text(text.replace(limits, LIMITS), encoding="utf-8")
        for name in ("tests/conftest.py", "statistics_basics/averages.py"):
            with (folder / name).open("a", encoding="utf-8") as file:
                file.write(f"\nSECRET = {canary('assignment')!r}\n")
        return folder

    @contextlib.contextmanager
    def listening(self) -> Iterator[Canaries]:
        """What lies outside to be reached, and the means to see whether it was."""
        opened: list[socket.socket] = []
        kept = socket.socket

        class Noted(socket.socket):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                opened.append(self)

        socket.socket = Noted  # type: ignore[misc]  # for as long as the canaries are made
        with canaries(2**31) as found:
            socket.socket = kept  # type: ignore[misc]
            for one in opened:
                one.setblocking(False)
            self.listeners = opened
            Path(found.file).write_text(canary("file"), encoding="utf-8")
            yield found

    def closed(self, isolation: str) -> set[str]:
        """What is measured as closed at a level, and the verdict, which always is."""
        if isolation == "none":
            return {"verdict"}
        found = pipeline.examine("")
        closed = {barrier.resource for barrier in found.isolation.barriers if barrier.closed}
        if not (found.missing[OWN_ROOT] and found.missing[USER]):
            # Else nobody can tell whose it is: see docs/trust.md.
            closed.add("shared memory")
        return {*closed, "verdict"}

    def told(self) -> dict[str, object]:
        """What a submission is told of all this."""
        return {
            "FILE": self.outside.file,
            "PLACES": [str(self.root / n) for n in ("home", "other", "reports", "assignment")],
            "TCP": self.outside.tcp_port,
            "UDP": self.outside.udp_port,
            "ABSTRACT": self.outside.abstract_socket,
            "SOCKET": self.outside.socket,
            "PIDS": [os.getpid(), self.template.process.pid, *(p.pid for p in self.own)],
            "SEED_DIGEST": hashlib.sha256(str(SEED).encode()).hexdigest(),
        }

    def attacked(self, attack: Attack, isolation: str) -> list[str]:
        """What is wrong after an attack."""
        submission = self.root / "submission"
        for name, content in {
            **(attack.files or {}),
            "tests/adapters.py": attack.adapters(self.told()),
        }.items():
            path = submission / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        folder = self.root / "report"
        before = self.traces()
        begun = time.monotonic()
        try:
            report = self.graded(submission, folder, isolation)
            wrong = [*judged(report, attack), *unreadable(report, folder), *self.leaked(folder)]
        except Exception as error:
            wrong = [f"the grader raised {type(error).__name__}: {error}"]
        if time.monotonic() - begun > MOST_SECONDS:
            wrong.append("it took too long")
        wrong += self.touched() + self.left_running()
        shutil.rmtree(folder, ignore_errors=True)
        wrong += [f"outside, this has changed: {path}" for path in sorted(before ^ self.traces())]
        shutil.rmtree(submission)
        return wrong

    def graded(self, submission: Path, folder: Path, isolation: str) -> Report:
        """Grade a submission in every format; a run that does not end is ended."""
        formats = tuple(Destination(each, folder / each.file_name) for each in FORMATS.values())
        request = Request(
            submission, self.assignment, SEED, (), folder, formats=formats, isolation=isolation
        )
        ended = threading.Timer(MOST_SECONDS, self.end_judges)
        ended.start()
        try:
            return pipeline.grade(request, lambda _: None, self.template.judges)
        finally:
            ended.cancel()

    def end_judges(self) -> None:
        """End all that runs for a run."""
        for process in self.left():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def left(self) -> list[psutil.Process]:
        """What runs for a run."""
        return [
            process
            for process in self.template.process.children(recursive=True)
            if process not in self.own and process.is_running() and process.num_threads() > 0
        ]

    def leaked(self, folder: Path) -> list[str]:
        """The secrets that are in what the grader wrote."""
        return [
            f"a secret is in {path.name}"
            for path in folder.iterdir()
            if CANARY.encode() in path.read_bytes()
        ]

    def touched(self) -> list[str]:
        """The listeners that were reached."""
        wrong = []
        for one in self.listeners:
            with contextlib.suppress(OSError):
                if one.type == socket.SOCK_DGRAM:
                    one.recv(1)
                else:
                    one.accept()[0].close()
                wrong.append(f"a {one.family.name} socket was reached")
        return wrong

    def left_running(self) -> list[str]:
        """The processes that have not ended after some time."""
        end = time.monotonic() + LINGER_SECONDS
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            self.end_judges()
        return [f"a process is left: {process.pid}" for process in left]

    def traces(self) -> set[str]:
        """All that lies in the places where something could be left, with what it holds."""
        places = [self.root, Path(self.outside.file).parent, Path("/dev/shm"), Path.cwd()]  # noqa: S108
        return {trace for place in places for trace in traces_in(place, deep=place == self.root)}

    def rehearse(self, isolation: str) -> list[str]:
        """What is wrong after an honest submission; from then on, caches are where they stay."""
        self.attacked(Attack(""), isolation)
        return self.attacked(Attack(""), isolation)


def traces_in(place: Path, *, deep: bool) -> Iterator[str]:
    """The entries of a folder with their contents, of a deep one all that are below."""
    if not place.exists():
        return
    for path in place.rglob("*") if deep else place.glob("*canary*"):
        found = path.lstat()
        readable = path.is_file() and os.access(path, os.R_OK)
        content = path.read_bytes() if readable else b""
        yield f"{path} {found.st_mode:o} {hashlib.sha256(content).hexdigest()[:8]}"


def judged(report: Report, attack: Attack) -> list[str]:
    """What is wrong with the verdicts."""
    wrong = []
    for problem in report.problems:
        if problem.id == ATTACKED:
            if problem.score or problem.verdict is not Verdict.FAILED:
                wrong.append(f"{problem.id} is {problem.verdict} with {problem.score} points")
        elif problem.score != OTHERS[problem.id] and not attack.ruins:
            messages = [c.message for c in report.checks if c.problem == problem.id and c.message]
            wrong.append(f"{problem.id} has lost points: {messages}")
    counted = [check for check in report.checks if check.verdict is Verdict.NOT_JUDGED]
    return wrong + [f"{check.id} is not judged: {check.message}" for check in counted]


def unreadable(report: Report, folder: Path) -> list[str]:
    """The formats that are not valid."""
    wrong = []
    for name, reader in READERS.items():
        try:
            reader((folder / FORMATS[name].file_name).read_bytes().decode())
        except Exception as error:
            wrong.append(f"{name} is not valid: {type(error).__name__}: {error!s:.200}")
    shown = terminal.render(
        report, terminal.Surroundings(100, ascii_only=False, repeat="", saved=())
    ).plain
    if any(ord(character) < ord(" ") and character != "\n" for character in shown):
        wrong.append("the terminal would act on what is shown")
    return wrong


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main()
