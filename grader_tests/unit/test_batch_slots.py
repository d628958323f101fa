"""What a process that grades does with what it is given, and with being told to end."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cs336_grader.batch import grading, slots
from cs336_grader.batch.settings import Settings
from cs336_grader.batch.submissions import Submission

# No judge is started here.
STARTER: Any = None
JOB = slots.SlotJob(Settings("submissions", "assignment", "0", 7), Path("class"), STARTER)


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """What a slot sets ends with the test."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def serve(monkeypatch: pytest.MonkeyPatch, grade: Callable[..., None]) -> list[Any]:
    """What a slot answers that is given one submission, and then no more."""
    given = iter([json.dumps(["ada", "submissions/ada", "Ada (1)"]).encode()])
    said: list[Any] = []

    def recv_bytes() -> bytes:
        # While it waits, to be told to end is its end, and nothing that could be handled too late.
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        for message in given:
            return message
        raise EOFError

    connection: Any = SimpleNamespace(
        recv_bytes=recv_bytes, send_bytes=lambda content: said.append(json.loads(content))
    )
    monkeypatch.setattr(grading, "grade", grade)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    slots.serve(connection, JOB)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    return said


def test_a_slot_that_is_ended_takes_its_submission_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it grades, and only then, to be told to end is an interruption."""
    assert serve(monkeypatch, lambda *_: signal.raise_signal(signal.SIGTERM)) == []


def test_a_slot_grades_what_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the name that the report has."""
    graded: list[object] = []
    assert serve(monkeypatch, lambda submission, *_: graded.append(submission)) == [""]
    assert graded == [Submission("ada", Path("submissions/ada"), title="Ada (1)")]


def test_a_slot_says_what_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing where all went well."""

    def full(*_: object) -> None:
        raise OSError("The disk is full.")

    assert serve(monkeypatch, lambda *_: None) == [""]
    assert serve(monkeypatch, full) == ["The disk is full."]
