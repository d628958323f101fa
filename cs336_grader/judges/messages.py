"""Messages between launcher, recorder and judge: one a line, in JSON.

launcher ── Lesson ──▶ recorder ── Ready | Fault ──▶ launcher
launcher ── Task ──▶ judge ── Measurement, then for each check Progress, ForbiddenCall …,
CheckResult; at last Usage and Ready | Fault ──▶ launcher
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import IO, Any

from pydantic import TypeAdapter

from cs336_checks.rubric import Check
from cs336_grader.records import CheckResult, ForbiddenCall, Measurement, Progress, Usage
from cs336_grader.scope import Scope


@dataclass(frozen=True, slots=True)
class Lesson:
    """Tells the recorder which values to record.

    Attributes:
        folder: the assignment's folder.
        seed: what all inputs derive from.
        checks: those that submissions will be judged by; none where only isolation is measured.
        catalogue: the module that holds known mistakes, or None.
    """

    folder: str
    seed: int
    checks: tuple[Check, ...]
    catalogue: str | None


@dataclass(frozen=True, slots=True)
class Task:
    """Tells a judge what to do with one submission.

    Attributes:
        run: the folder of this run, the only one that the judge may write to.
        isolation: "auto", "strict" or "none".
        python: the interpreter that runs the submission; the judge's own if empty.
        limits: what the submission may use, as in the rubric.
        hidden: installed packages that the submission must not find.
        load: what a worker is told of the submission that it imports; empty where nothing is judged
            and only the isolation is measured.
        checks: the names of the checks to run.
        scope: what failed comparisons are explained with, or None.
        zygote: the process id of the zygote.
    """

    run: str
    isolation: str
    python: str
    root: str
    limits: Mapping[str, Any]
    hidden: tuple[str, ...] = ()
    load: Mapping[str, Any] | None = None
    checks: tuple[str, ...] = ()
    scope: Scope | None = None
    zygote: int = 0


@dataclass(frozen=True, slots=True)
class Forked:
    """The process id of a new process."""

    pid: int


@dataclass(frozen=True, slots=True)
class Ready:
    """All that was asked is done."""


@dataclass(frozen=True, slots=True)
class Fault:
    """It cannot be done."""

    reason: str


# What the launcher learns of a run, in the order in which it happens.
Event = Measurement | Progress | ForbiddenCall | CheckResult | Usage
Message = Lesson | Task | Forked | Ready | Fault | Event
KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in Message.__args__}


@cache
def adapter(kind: str) -> TypeAdapter[Message]:
    """Encodes and checks one kind of message."""
    return TypeAdapter(KINDS[kind])


def encode(message: Message) -> str:
    """A message as a line."""
    kind = type(message).__name__
    return f'{{"{kind}": {adapter(kind).dump_json(message).decode()}}}\n'


def decode(line: str) -> Message:
    """The message of a line.

    Raises:
        ValueError: it holds none.
    """
    ((kind, content),) = TypeAdapter(dict[str, Any]).validate_json(line).items()
    if kind not in KINDS:
        raise ValueError(f"no kind of message is called {kind}")
    return adapter(kind).validate_python(content)


def send(stream: IO[str], message: Message) -> None:
    """Write a message."""
    stream.write(encode(message))
    stream.flush()


def receive(stream: IO[str]) -> Message:
    """Read a message.

    Raises:
        ValueError: the other side ended before it had written one.
    """
    return decode(stream.readline())
