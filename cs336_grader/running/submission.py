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
from .forbidden_calls import NO_RECORD, Place, forbidden_calls_in
from .remote import RemoteAdapters
from .resource_monitor import Deadline, ResourceMonitor
from .zygote import Worker, Zygote

# A reset takes less than a millisecond, and a new worker a few.
RESET_SECONDS = 1.0
# If so many checks of a problem exceed their time, the others are not run.
MOST_LATE = 2
# Torch's operators are recorded in the first case of a problem and in one of so many others.
RECORDED_EVERY = 12
ENDED = "it crashed, was killed or exited"


class RunningSubmission:
    """A staged submission, the worker that has imported it, and the one that runs its checks.

    Args:
        zygote: the process that all workers are forked from.
        load: the root folder, search paths and module to import.
        limits: limits of the submission.
        shared: the folders whose files checks pass by their paths as texts.
        problems: the problem of each check.
        secret: decides which cases are recorded; the submission cannot know it.

    Attributes:
        budget: the time that is left for each problem; importing is not counted.
        imported: the worker that has imported the submission; None if it cannot be forked.
        checking: the worker that runs the checks of the current problem.
        forbidden_calls: the forbidden calls of the last case.
        import_calls: those of the import.
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
        self.budget = Budget(limits.submission_seconds, problems or {})
        self.used_up = (
            f"used up its part of the {limits.submission_seconds:g} seconds for all problems"
        )
        self.imported: Worker | None = None
        self.checking: Worker | None = None
        self.problem = ""
        self.may_differ = False
        self.started = False
        self.import_error: SubmissionError | WorkerLostError | None = None
        self.given_up: set[str] = set()
        self.lost_records: set[str] = set()
        self.late: Counter[str] = Counter()
        self.forbidden_calls: set[Place] = set()
        self.import_calls: set[Place] = set()

    @contextmanager
    def case(self, name: str, *, fresh: bool = False) -> Iterator[RemoteAdapters]:
        """Yield the adapters for one case of a check.

        All cases of a problem run in one worker, which is reset between them. It is replaced where
        a case crashed, hung or left a process running.

        Args:
            name: the name of the case: its check, and its parameters in brackets.
            fresh: True if the case needs a worker in which no other case has run.

        Raises:
            SubmissionError: the submission's import raised an exception.
            NoAdaptersError: its import ended the process or took too long, or no time is left.
            CouldNotRunError: no worker could be started.
        """
        self.forbidden_calls, self.may_differ = set(), False
        check = name.partition("[")[0]
        problem = self.budget.problem_of(check)
        if not self.started:
            self.import_first()
        self.refuse_late(check, problem)
        with self.budget.spent_on(check):
            entropy = zlib.crc32(name.encode())
            # A record takes memory, and a case that needs a new worker measures it. Of the others,
            # so many as cost little, and which is not known to the submission.
            chosen = problem != self.problem or (entropy ^ self.secret) % RECORDED_EVERY == 0
            if fresh or problem != self.problem:
                self.end_worker()
            self.problem = problem
            recorded = chosen and not fresh and name not in self.lost_records
            yield from self.run(name, entropy, recorded=recorded)

    def import_first(self) -> None:
        """Import the submission; keep a failure, which every case raises.

        A submission that starts threads is imported again for each problem: a fork has none of
        them.

        Raises:
            CouldNotRunError: no worker could be started.
        """
        self.started = True
        try:
            worker = self.import_in_new_worker(Deadline(self.limits.import_seconds))
            threads = worker.process.num_threads()
        except (SubmissionError, WorkerLostError) as error:
            self.import_error = error
            return
        except psutil.NoSuchProcess:
            self.import_error = WorkerLostError(f"the process ended after the import: {ENDED}")
            return
        if threads > 1:
            worker.close()
            self.zygote.kill_descendants()
            return
        worker.stop()
        self.imported = worker
        count, most = self.zygote.keep_files(), self.limits.scratch_files
        if count > most:
            self.import_error = WorkerLostError(
                f"importing your adapters left {count:,} files, and {most:,} are allowed"
            )

    def import_in_new_worker(self, deadline: Deadline) -> Worker:
        """Fork the zygote and import the submission there.

        Raises:
            SubmissionError: the import raised an exception.
            WorkerLostError: the import ended the process or exceeded a limit.
        """
        worker = self.zygote.fork()
        with self.monitor.guard(deadline, worker) as guarded:
            try:
                answer = worker.ask({"op": "load", **self.load})
            except WorkerLostError as error:
                worker.close()
                reason = guarded.breach or f"importing your adapters ended the process: {ENDED}"
                raise WorkerLostError(reason) from error
        if answer["op"] != "loaded":
            worker.close()
            raise submission_error("Importing your adapters", answer, nothing_ran=True)
        self.import_calls.update(forbidden_calls_in(answer.get("seen")))
        return worker

    def refuse_late(self, check: str, problem: str) -> None:
        """Refuse a check that exceeded a limit before, or whose problem has no time left.

        Raises:
            NoAdaptersError: the check is not to be run.
        """
        if check in self.given_up:
            raise NoAdaptersError("an earlier case of this check exceeded a limit")
        if self.budget.left(check) <= 0:
            raise NoAdaptersError(f"earlier checks of this problem {self.used_up}")
        if self.late[problem] >= MOST_LATE:
            raise NoAdaptersError(
                "two checks of this problem exceeded their time, and the others were not run"
            )

    def deadline(self, check: str, seconds: float) -> Deadline:
        """Return the deadline of an operation for a check: at the latest when its time is used."""
        left = self.budget.left(check)
        if seconds <= left:
            return Deadline(seconds)
        return Deadline(max(left, 0.0), f"there was no answer before the problem {self.used_up}")

    def run(self, name: str, entropy: int, *, recorded: bool) -> Iterator[RemoteAdapters]:
        """Yield the adapters for a case; then stop the worker, or end it if it cannot go on."""
        check = name.partition("[")[0]
        try:
            used = self.checking
            worker = self.checking = self.reset_or_new_worker(check, entropy)
        except WorkerLostError as error:
            raise NoAdaptersError(str(error)) from None
        deadline = self.deadline(check, self.limits.check_seconds)
        with self.monitor.guard(deadline, worker, keep=self.imported) as guarded:
            ended = f"the process ended before it answered: {ENDED}"
            conversation = Conversation(
                worker.channel, lambda: guarded.breach or ended, self.shared
            )
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
        # The monitor does not look between cases: no code of the submission may run then.
        worker.stop()
        if guarded.breach or not worker.lineage.issuperset(self.zygote.descendants(self.imported)):
            self.end_worker()

    def use_new_worker(self) -> bool:
        """Run the next case in a new worker if the last one may have another result there.

        A case that exceeded a limit would exceed it again.
        """
        if self.may_differ:
            self.end_worker()
        return self.may_differ

    def end_worker(self) -> None:
        """End the worker of the current problem, its descendants and its files."""
        if self.checking is not None:
            self.checking.close()
            self.checking = None
            self.zygote.kill_descendants(keep=self.imported)
            self.zygote.clean()

    def reset_or_new_worker(self, check: str, entropy: int) -> Worker:
        """Reset the worker of the problem; replace it if there is none or it does not answer."""
        if self.checking is not None:
            self.checking.resume()
            try:
                with self.monitor.guard(Deadline(RESET_SECONDS), self.checking, self.imported):
                    if self.checking.ask({"op": "reset", "entropy": entropy})["op"] == "reset":
                        return self.checking
            except WorkerLostError:
                pass
            self.end_worker()
        return self.new_worker(check, entropy)

    def new_worker(self, check: str, entropy: int) -> Worker:
        """Fork the worker that has imported the submission, or import it in a new one.

        Raises:
            SubmissionError, WorkerLostError: the submission cannot be imported.
        """
        if self.import_error is not None:
            # Raised for every check, it would grow by a piece of traceback each time.
            raise self.import_error.with_traceback(None)
        if self.imported is not None:
            deadline = self.deadline(check, self.limits.check_seconds)
            try:
                with self.monitor.guard(deadline, self.imported):
                    return forked(self.imported, entropy)
            except WorkerLostError:
                # It has ended or no longer forks: from now on, every worker imports again.
                self.close()
        return self.import_in_new_worker(self.deadline(check, self.limits.import_seconds))

    def close(self) -> None:
        """End all workers."""
        self.end_worker()
        if self.imported is not None:
            self.imported.close()
            self.imported = None
        self.zygote.kill_descendants()
        self.monitor.close()


def forked(imported: Worker, entropy: int) -> Worker:
    """Fork the worker that has imported the submission.

    It runs code of the submission, and is therefore stopped at all other times.

    Raises:
        WorkerLostError: it did not fork, or names itself as the new worker.
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
