"""Does the work in processes of its own, each of which imports the assignment once.

The order in which jobs end decides nothing: each gives the same whatever ran before it.
"""

import contextlib
import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path

from cs336_checks.rubric import Assignment, load_assignment
from cs336_grader import interruptions
from cs336_grader.judging.suite import Suite

from .catalogues import Catalogues, load
from .records import Job, Kind, Listing, Trials
from .trials import tried

# What a suite is tried with: right implementations at all of these seeds, wrong ones at the first.
SEEDS = tuple(range(5))
MISTAKE_SEEDS = SEEDS[:2]
# So that nothing depends on how many cores there are, or on the order of sets.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


class LostWorkerError(Exception):
    """A process ended before its work was done."""


def planned(problems: Sequence[str], listing: Listing) -> list[Job]:
    """All jobs, the long ones first: those with most to try."""
    sizes = Counter(
        (entry.problem, mistaken)
        for entry in listing.entries
        for mistaken in {True, entry.kind is Kind.MISTAKE}
    )
    jobs = [
        Job(problem, seed, mistakes=seed in MISTAKE_SEEDS, drawn_only=seed != SEEDS[0])
        for seed in SEEDS
        for problem in problems
    ]
    return sorted(jobs, key=lambda job: -sizes[job.problem, job.mistakes])


@contextlib.contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes for the work, none of which outlives the block.

    Raises:
        LostWorkerError: one of them ended early.
    """
    context = multiprocessing.get_context("spawn")
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    executor = ProcessPoolExecutor(count, context, initializer=begin)
    try:
        yield executor
    except BrokenProcessPool as error:
        raise LostWorkerError("a process of the audit ended early") from error
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def listed(executor: ProcessPoolExecutor, folder: Path) -> Listing:
    """What the suite of an assignment is tried on."""
    with interruptions.held():
        future = executor.submit(listing, folder)
    return future.result()


def done(
    executor: ProcessPoolExecutor,
    folder: Path,
    jobs: Sequence[Job],
    finished: Callable[[Trials], None],
) -> list[Trials]:
    """Do all jobs; ``finished`` is told of each as it ends."""
    found: list[Trials] = []
    with interruptions.held():
        futures = [executor.submit(work, folder, job) for job in jobs]
    for future in as_completed(futures):
        found.append(future.result())
        finished(found[-1])
    return found


def begin() -> None:
    """See to it that this process ends with the one that started it."""
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """End this process when the one that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def assignment_in(folder: Path) -> Assignment:
    """An assignment, read once."""
    return load_assignment(folder)


@cache
def catalogues_in(folder: Path) -> Catalogues:
    """Its catalogues, imported once."""
    return load(assignment_in(folder))


def listing(folder: Path) -> Listing:
    """In a process: what there is to try."""
    return catalogues_in(folder).listing()


def is_tried(kind: Kind, job: Job) -> bool:
    """Return True for a kind that a job tries; degenerate work is tried at the first seed only."""
    if kind is Kind.DEGENERATE:
        return not job.drawn_only
    return job.mistakes or kind is not Kind.MISTAKE


def work(folder: Path, job: Job) -> Trials:
    """In a process: do a job."""
    assignment = assignment_in(folder)
    own = catalogues_in(folder).implementations[job.problem]
    chosen = tuple(known for known in own if is_tried(known.entry.kind, job))
    checks = {c.name: c for c in assignment.checks.values() if c.problem == job.problem}
    suite = Suite(folder, job.seed, checks)
    return tried(job, suite, chosen, assignment.rubric.limits.check_seconds)
