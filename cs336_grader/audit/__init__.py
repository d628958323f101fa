"""Grades the suite itself: what is right passes, what is wrong fails, and both clearly."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cs336_checks.rubric import Assignment
from cs336_grader.judging.suite import SuiteError
from cs336_grader.reports import files, printing

from . import findings, json_file, page, terminal, workers
from .catalogues import CatalogueError
from .progress_bar import AuditProgress
from .records import Audit, Job, Trials
from .workers import LostWorkerError

__all__ = ["Audit", "AuditPlan", "CouldNotAuditError", "audit", "carry_out"]


class CouldNotAuditError(Exception):
    """The audit could not be carried out; the text says why."""


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What is to be done.

    Attributes:
        problems: the problems to look at.
        processes: how many are to do the work.
    """

    assignment: Assignment
    problems: Sequence[str]
    processes: int


def carry_out(plan: AuditPlan, folder: Path) -> Audit:
    """Audit a suite, show how far it has come, write the files and print what was found.

    Args:
        plan: what is to be done.
        folder: where the files go.

    Raises:
        CouldNotAuditError: a catalogue or the suite cannot be used, or a process was lost.
        OSError: a file cannot be written.
    """
    # Being told to end is an interruption like any other.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    watch = AuditProgress(Console(stderr=True))
    with watch.bar:
        found = audit(plan, watch.begun, watch.finished)
    saved = {
        folder / "audit.json": json_file.render(found),
        folder / "audit.html": page.render(found),
    }
    for path, text in saved.items():
        files.write(path, text)
    names = tuple(map(str, saved))
    printing.show_text(lambda width, ascii_only: terminal.render(found, width, ascii_only, names))
    return found


def audit(
    plan: AuditPlan,
    begun: Callable[[list[Job]], None] = lambda _: None,
    finished: Callable[[Trials], None] = lambda _: None,
) -> Audit:
    """Try an assignment's suite on its catalogues.

    Args:
        plan: what is to be done.
        begun: told what there is to do.
        finished: told of each job as it ends.

    Raises:
        CouldNotAuditError: a catalogue or the suite cannot be used, or a process was lost.
    """
    folder = plan.assignment.folder.resolve()
    try:
        with workers.processes(plan.processes) as executor:
            listing = workers.listed(executor, folder)
            jobs = workers.planned(plan.problems, listing)
            begun(jobs)
            found = workers.done(executor, folder, jobs, finished)
    except (CatalogueError, SuiteError, LostWorkerError) as error:
        raise CouldNotAuditError(str(error)) from error
    return findings.audit(plan.assignment, listing, found)
