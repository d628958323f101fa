"""Processes that grade one submission after another, and what happens where one of them ends."""

import contextlib
import json
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

from cs336_grader import interruptions
from cs336_grader.judges import JudgeStarter
from cs336_grader.reports.plain_text import plain_line

from . import grading
from .records import Graded, saved
from .settings import Settings
from .submissions import Submission

END_SECONDS = 20
MAX_FAULT = 500
LOST = "the process that graded it ended early, {} times"


class CouldNotGradeError(Exception):
    """Nothing more can be graded; the text says why."""


@dataclass(frozen=True, slots=True)
class SlotJob:
    """What a slot is to do with each submission it is given.

    Attributes:
        settings: what it is graded with.
        out: the folder of the class.
        starter: starts judges.
    """

    settings: Settings
    out: Path
    starter: JudgeStarter


class Slot:
    """A process that grades, as it is seen from outside.

    Attributes:
        connection: leads to it.
        submission: what it grades now.
    """

    def __init__(self, job: SlotJob) -> None:
        context = multiprocessing.get_context("spawn")
        self.job = job
        self.connection, theirs = context.Pipe()
        self.submission: Submission | None = None
        self.process = context.Process(target=serve, args=(theirs, job))
        self.process.start()
        theirs.close()

    def give(self, submission: Submission) -> None:
        """Have it grade a submission."""
        self.submission = submission
        # One that has ended meanwhile is noticed when it is asked what it found.
        with contextlib.suppress(OSError):
            asked = [submission.name, str(submission.path), submission.title]
            self.connection.send_bytes(json.dumps(asked).encode())

    def take(self) -> Graded | None:
        """What it found in what it was given; nothing if it has ended.

        Raises:
            CouldNotGradeError: it cannot grade anything.
        """
        submission, self.submission = self.submission, None
        try:
            fault = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        if fault:
            raise CouldNotGradeError(fault)
        return None if submission is None else saved(self.job.out / submission.name)

    def end(self) -> None:
        """End it, and what it has started."""
        self.connection.close()
        self.process.terminate()
        self.process.join(END_SECONDS)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


def grade_all(
    submissions: Sequence[Submission], job: SlotJob, count: int, finished: Callable[[Graded], None]
) -> None:
    """Grade submissions, several at a time; one that ends its slot twice is set aside.

    Args:
        submissions: those to grade.
        job: what is done with each.
        count: how many are graded at a time.
        finished: told of each that is done.

    Raises:
        CouldNotGradeError: nothing can be graded.
        OSError: what was found cannot be written.
    """
    waiting, deaths = deque(submissions), Counter[str]()
    slots: list[Slot] = []
    try:
        with interruptions.held():
            slots += [Slot(job) for _ in range(min(count, len(submissions)))]
        while waiting or any(slot.submission for slot in slots):
            for slot in slots:
                if slot.submission is None and waiting:
                    slot.give(waiting.popleft())
            ready = wait([slot.connection for slot in slots if slot.submission is not None])
            for place, slot in enumerate(slots):
                submission = slot.submission
                if submission is None or slot.connection not in ready:
                    continue
                done = slot.take()
                if done is None:
                    slot.end()
                    with interruptions.held():
                        slots[place] = Slot(job)
                    deaths[submission.name] += 1
                    if deaths[submission.name] < grading.MOST_ATTEMPTS:
                        waiting.appendleft(submission)
                        continue
                    told = LOST.format(grading.MOST_ATTEMPTS)
                    done = grading.set_aside(
                        submission, job.settings, job.out, grading.MOST_ATTEMPTS, told
                    )
                finished(done)
    finally:
        for slot in slots:
            slot.end()


def serve(connection: Connection, job: SlotJob) -> None:
    """Be a slot: grade what is given until nothing more comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        while True:
            name, path, title = json.loads(connection.recv_bytes())
            fault = ""
            # Ended like this, it leaves nothing behind; before and after there is nothing to leave.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            try:
                submission = Submission(name, Path(path), title=title)
                grading.grade(submission, job.settings, job.out, job.starter)
            except OSError as error:
                fault = plain_line(str(error), MAX_FAULT)
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            connection.send_bytes(json.dumps(fault).encode())
    except (EOFError, KeyboardInterrupt, OSError):
        return


def end_with_parent() -> None:
    """End this process when the one that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
