"""A submission whose adapters can be called: imported once, then one worker for each problem."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psutil

from cs336_grader.budget import Budget
from cs336_grader.worker.sandbox.limits import Limits

from .conversation import Conversation
from .faults import NoAdaptersError, SubmissionError, WorkerLostError, submission_error
from .forbidden_calls import NO_RECORD, Place
from .remote import RemoteAdapters
from .resource_monitor import Deadline, Guarded, ResourceMonitor
from .zygote import Worker, Zygote

# A reset takes less than a millisecond, and a new worker a few.
RESET_SECONDS = 1.0
# Of a problem, so many checks may take too long; they are likely to hang for one reason.
MOST_LATE = 2
# Torch's operators are recorded in the first case of a problem and in one of so many others.
RECORDED_EVERY = 12


class RunningSubmission:
    """A staged submission and the worker that has imported it.

    Args:
        zygote: the worker all others are forked from.
        load: what the worker is to import: its root folder, search paths and module.
        limits: what it may use.
        shared: the folders whose files checks pass by their paths as texts.
        problems: the problem of each check.
        secret: decides which cases are recorded; what the submission cannot know.

    Attributes:
        budget: the time that is left for each problem; importing is not counted.
        forbidden_calls: what the last case ran that the rules are about.
    """

    def __init__(
        self,
        zygote: Zygote,
        load: Mapping[str, object],
        limits: Limits,
        shared: Sequence[Path] = (),
        problems: Mapping[str, str] | None = None,
        *,
        secret: int = 0,
    ) -> None:
        self.zygote = zygote
        self.load = load
        self.limits = limits
        self.shared = shared
        self.secret = secret
        self.monitor = ResourceMonitor(zygote, limits)
        self.imported: Worker | None = None
        self.checking: Worker | None = None
        self.problem = ""
        self.may_differ = False
        self.started = False
        self.import_error: SubmissionError | WorkerLostError | None = None
        self.budget = Budget(limits.submission_seconds, problems or {})
        self.given_up: set[str] = set()
        self.lost_records: set[str] = set()
        self.late: Counter[str] = Counter()
        self.forbidden_calls: set[Place] = set()

    def start(self) -> None:
        """Import the submission; a failure is kept, and raised for every check.

        One that starts threads is imported anew for each problem: a fork does not take them along.

        Raises:
            CouldNotRunError: no worker could be started.
        """
        try:
            imported = self.fork_and_import(Deadline(self.limits.import_seconds))
            threads = number_of_threads(imported)
        except (SubmissionError, WorkerLostError) as error:
            self.import_error = error
            return
        if threads == 1:
            imported.stop()
            self.imported = imported
            count, most = self.zygote.keep_files(), self.limits.scratch_files
            if count > most:
                self.import_error = WorkerLostError(
                    f"importing your adapters left {count:,} files, and {most:,} are allowed"
                )
        else:
            imported.close()
            self.zygote.kill_descendants()
        self.started = True

    def fork_and_import(self, deadline: Deadline) -> Worker:
        """A worker that has imported the submission."""
        worker = self.zygote.fork()
        with self.monitor.guard(deadline, worker) as guarded:
            try:
                answer = worker.ask({"op": "load", **self.load})
            except WorkerLostError as error:
                worker.close()
                ended = (
                    "importing your adapters ended the process: it crashed, was killed or exited"
                )
                raise WorkerLostError(guarded.breach or ended) from error
        if answer["op"] != "loaded":
            worker.close()
            raise submission_error("Importing your adapters", answer, nothing_ran=True)
        return worker

    @contextmanager
    def case(self, name: str, *, fresh: bool = False) -> Iterator[RemoteAdapters]:
        """The adapters, for one case of a check.

        All cases of a problem run in one worker, which is reset between them. It is replaced where
        a case crashed, hung or left something running.

        Args:
            name: of the case: its check, and its parameters in brackets.
            fresh: whether it needs a worker in which nothing has run before.

        Raises:
            SubmissionError: the submission's import raised an exception.
            NoAdaptersError: its import ended the process or took too long, or no time is left.
            CouldNotRunError: no worker could be started.
        """
        self.forbidden_calls = set()
        self.may_differ = False
        if not self.started and self.import_error is None:
            self.start()
        check = name.partition("[")[0]
        if check in self.given_up:
            raise NoAdaptersError("an earlier case of this check exceeded a limit")
        if self.budget.left(check) <= 0:
            raise NoAdaptersError(f"earlier checks of this problem used up {self.part()}")
        if self.late[self.budget.problem_of(check)] >= MOST_LATE:
            raise NoAdaptersError(
                "two checks of this problem exceeded their time, and the others were not run"
            )
        with self.budget.spent_on(check):
            problem = self.budget.problem_of(check)
            entropy = zlib.crc32(name.encode())
            # A record takes memory, and a case that needs a new worker measures it. Of the others,
            # so many as cost little, and which is not known to the submission.
            chosen = problem != self.problem or (entropy ^ self.secret) % RECORDED_EVERY == 0
            if fresh or problem != self.problem:
                self.end_worker()
            self.problem = problem
            recorded = chosen and not fresh and name not in self.lost_records
            yield from self.adapters(name, entropy, recorded=recorded)

    def part(self) -> str:
        """The time of a problem, in words."""
        return f"its part of the {self.limits.submission_seconds:g} seconds for all problems"

    def deadline(self, check: str, seconds: float) -> Deadline:
        """How long something that belongs to a check may take: no longer than its problem."""
        left = self.budget.left(check)
        if seconds <= left:
            return Deadline(seconds)
        return Deadline(
            max(left, 0.0), f"there was no answer before the problem used up {self.part()}"
        )

    def adapters(self, name: str, entropy: int, *, recorded: bool) -> Iterator[RemoteAdapters]:
        """The adapters, once; what a case leaves running ends with it."""
        check = name.partition("[")[0]
        try:
            used = self.checking
            worker = self.checking = self.worker_for_case(check, entropy)
        except WorkerLostError as error:
            raise NoAdaptersError(str(error)) from None
        deadline = self.deadline(check, self.limits.check_seconds)
        with self.monitor.guard(deadline, worker, keep=self.imported) as guarded:
            conversation = Conversation(worker.channel, lambda: why_lost(guarded), self.shared)
            try:
                with conversation.recorded() if recorded else nullcontext():
                    yield RemoteAdapters(conversation, worker)
            finally:
                self.forbidden_calls = conversation.forbidden_calls
                lost_record = recorded and not guarded.breach and conversation.unanswered > 0
                self.may_differ = lost_record or (worker is used and not guarded.breach)
                if lost_record:
                    self.lost_records.add(name)
                elif name in self.lost_records and not conversation.unanswered:
                    self.forbidden_calls.add(NO_RECORD)
                if guarded.breach:
                    self.given_up.add(check)
                    self.late[self.problem] += guarded.late
        if guarded.breach or not self.is_alone(worker):
            self.end_worker()

    def use_new_worker(self) -> bool:
        """Have the next case run in a new worker; whether the last one ran in a used one.

        What exceeded a limit does so again, and is not tried twice.
        """
        if self.may_differ:
            self.end_worker()
        return self.may_differ

    def is_alone(self, worker: Worker) -> bool:
        """Have a worker do nothing between cases, which nobody watches; whether it is alone."""
        worker.stop()
        return worker.lineage.issuperset(self.zygote.descendants(self.imported))

    def end_worker(self) -> None:
        """End the worker of a problem and remove what it left."""
        if self.checking is not None:
            self.checking.close()
            self.checking = None
            self.zygote.kill_descendants(keep=self.imported)
            self.zygote.clean()

    def worker_for_case(self, check: str, entropy: int) -> Worker:
        """The worker of the problem, reset; a new one where there is none or it does not answer."""
        if self.checking is not None:
            if self.reset(self.checking, entropy):
                return self.checking
            self.end_worker()
        return self.new_worker(check, entropy)

    def reset(self, worker: Worker, entropy: int) -> bool:
        """Have a worker forget the last case; whether it answered."""
        worker.resume()
        try:
            with self.monitor.guard(Deadline(RESET_SECONDS), worker, keep=self.imported):
                return bool(worker.ask({"op": "reset", "entropy": entropy})["op"] == "reset")
        except WorkerLostError:
            return False

    def new_worker(self, check: str, entropy: int) -> Worker:
        """A worker in which no check has run."""
        if self.import_error is not None:
            # Raised for every check, it would grow by a piece of traceback each time.
            raise self.import_error.with_traceback(None)
        if self.imported is not None:
            try:
                with self.monitor.guard(
                    self.deadline(check, self.limits.check_seconds), self.imported
                ):
                    return forked(self.imported, entropy)
            except WorkerLostError:
                # It has ended or no longer forks: from now on, every worker imports anew.
                self.close()
        return self.fork_and_import(self.deadline(check, self.limits.import_seconds))

    def close(self) -> None:
        """End the worker that has imported the submission, and all others."""
        self.end_worker()
        if self.imported is not None:
            self.imported.close()
            self.imported = None
        self.zygote.kill_descendants()
        self.monitor.close()


def forked(imported: Worker, entropy: int) -> Worker:
    """A worker for one problem; the one that has imported the submission runs for this alone.

    It runs the submission's code, and could do anything else between and during checks.

    Raises:
        WorkerLostError: it did not fork, or says that it is that worker itself.
    """
    imported.resume()
    try:
        worker = imported.fork(entropy)
    finally:
        imported.stop()
    if worker.pid == imported.pid:
        worker.close()
        raise WorkerLostError("the process did not fork")
    return worker


def number_of_threads(worker: Worker) -> int:
    """How many threads a worker has.

    Raises:
        WorkerLostError: it has ended.
    """
    try:
        return int(worker.process.num_threads())
    except psutil.NoSuchProcess as error:
        raise WorkerLostError("the process ended when it had imported the submission") from error


def why_lost(guarded: Guarded) -> str:
    """Why a worker is gone, as far as that is known from outside."""
    return (
        guarded.breach or "the process ended before it answered: it crashed, was killed or exited"
    )
