"""Keeps what a judge has told so far."""

import math
import time
from collections.abc import Iterable
from dataclasses import replace

from cs336_checks.rubric import Check
from cs336_grader.records import (
    CheckResult,
    ForbiddenCall,
    Isolation,
    Measurement,
    Verdict,
)
from cs336_grader.reports.plain_text import plain

# Until a worker has tried.
NOT_MEASURED = Isolation("not measured")
MAX_MESSAGE = 8_000
MAX_FORBIDDEN_CALLS = 1000


class Journal:
    """Keeps all that is known of a run.

    Attributes:
        started_at: when it began, in seconds since the beginning of 1970, UTC.
        results: the results of checks by their ids.
    """

    def __init__(self) -> None:
        self.started_at = int(time.time())
        self.started = time.monotonic()
        self.isolation = NOT_MEASURED
        self.results: dict[str, CheckResult] = {}
        self.forbidden_calls: set[ForbiddenCall] = set()

    @property
    def seconds(self) -> float:
        """The time since the beginning."""
        return round(time.monotonic() - self.started, 3)

    def note(self, event: object) -> None:
        """Note an event; of very many forbidden calls, a part is enough."""
        match event:
            case Measurement():
                self.isolation = event.isolation
            case CheckResult():
                self.results.setdefault(event.id, shown(event))
            case ForbiddenCall() if len(self.forbidden_calls) < MAX_FORBIDDEN_CALLS:
                self.forbidden_calls.add(event)

    def fail_everything(self, checks: Iterable[Check], reason: str) -> None:
        """Note that nothing could be run, and that this is the submission's fault."""
        for check in checks:
            self.note(CheckResult.of(check, Verdict.FAILED, reason, nothing_ran=True))


def shown(result: CheckResult) -> CheckResult:
    """A result that can be shown anywhere, whatever the submission wrote into its message."""
    seconds = result.duration_seconds
    return replace(
        result,
        message=plain(result.message, MAX_MESSAGE).strip("\n"),
        question=plain(result.question, MAX_MESSAGE).strip("\n"),
        details=plain(result.details, MAX_MESSAGE).strip("\n"),
        duration_seconds=round(max(0.0, seconds), 3) if math.isfinite(seconds) else 0.0,
    )
