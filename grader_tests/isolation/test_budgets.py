"""Who is slow pays with the own problem, and is told which limit it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cs336_grader.running import RunningSubmission
from cs336_grader.running.faults import NoAdaptersError, WorkerLostError
from grader_tests.alone import alone
from grader_tests.limits import limits_with

from .started import started

ADAPTERS = """
import multiprocessing
import time


def right():
    return 42


def hang():
    time.sleep(1000)


def wait_for_a_process_that_fails():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    context.Process(target=lambda: 1 / 0).start()
    return queue.get()
"""
SPAWNS_WHEN_IMPORTED = """
import multiprocessing


def double(number):
    return 2 * number


with multiprocessing.get_context("spawn").Pool(2) as pool:
    doubled = pool.map(double, range(4))
"""
PROBLEMS = {
    **dict.fromkeys(("hangs", "hangs_too", "hangs_again"), "first"),
    **dict.fromkeys(("right", "right_too", "right_again"), "second"),
}


@pytest.fixture(name="submission")
def adapters_started(tmp_path: Path) -> Iterator[RunningSubmission]:
    """Some adapters, with little time."""
    limits = limits_with(check_seconds=2, submission_seconds=4)
    with started(ADAPTERS, tmp_path, limits, PROBLEMS) as submission:
        yield submission


def hang(submission: RunningSubmission, case: str) -> None:
    """Run a case that never ends by itself."""
    with alone(submission, case) as adapters:
        adapters.hang()


def test_a_check_that_hung_is_given_up(submission: RunningSubmission) -> None:
    """Its other cases would take as long, and it has failed already."""
    with pytest.raises(WorkerLostError, match=r"no answer within 2 seconds$"):
        hang(submission, "hangs[1]")
    with pytest.raises(NoAdaptersError, match="an earlier case of this check exceeded a limit"):
        hang(submission, "hangs[2]")


def test_a_problem_of_which_two_checks_hung_is_given_up(tmp_path: Path) -> None:
    """One endless loop would take the limit of a check as often as there are checks."""
    limits = limits_with(check_seconds=1, submission_seconds=60)
    with started(ADAPTERS, tmp_path, limits, PROBLEMS) as submission:
        for check in ("hangs", "hangs_too"):
            with pytest.raises(WorkerLostError, match=r"no answer within 1 seconds$"):
                hang(submission, check)
        with pytest.raises(NoAdaptersError, match="two checks of this problem exceeded their time"):
            hang(submission, "hangs_again")
        with alone(submission, "right") as adapters:
            assert adapters.right() == 42


def test_a_problem_that_hangs_costs_no_other(submission: RunningSubmission) -> None:
    """Its checks are told so, and the next problem's run."""
    with pytest.raises(WorkerLostError):
        hang(submission, "hangs")
    used_up = "used up its part of the 4 seconds for all problems$"
    with pytest.raises(WorkerLostError, match=f"no answer before the problem {used_up}"):
        hang(submission, "hangs_too")
    with pytest.raises(NoAdaptersError, match=f"earlier checks of this problem {used_up}"):
        hang(submission, "hangs_again")
    for check in ("right", "right_too", "right_again"):
        with alone(submission, check) as adapters:
            assert adapters.right() == 42


def test_a_slow_import_costs_no_check(tmp_path: Path) -> None:
    """It has a limit of its own."""
    slow = f"import time\ntime.sleep(6)\n{ADAPTERS}"
    limits = limits_with(submission_seconds=5)
    with (
        started(slow, tmp_path, limits, {"right": "only"}) as submission,
        alone(submission, "right") as adapters,
    ):
        assert adapters.right() == 42


def test_a_check_that_waits_for_its_processes_is_told_so(submission: RunningSubmission) -> None:
    """With what to look for."""
    with (
        pytest.raises(
            WorkerLostError, match=r"your code had started 1 process\. .* sends no result"
        ),
        alone(submission, "right") as adapters,
    ):
        adapters.wait_for_a_process_that_fails()


def test_an_import_that_waits_for_its_processes_is_told_so(tmp_path: Path) -> None:
    """Each of them imports the same again, fails, and is replaced."""
    limits = limits_with(import_seconds=4)
    with (
        started(SPAWNS_WHEN_IMPORTED, tmp_path, limits) as submission,
        pytest.raises(NoAdaptersError, match="never while a module is imported"),
        alone(submission, "any"),
    ):
        pass


def test_an_import_that_leaves_too_many_files_is_told_so(tmp_path: Path) -> None:
    """Where nothing else bounds them."""
    many = "for number in range(30):\n    open(f'file-{number}', 'w').close()\n"
    limits = limits_with(scratch_files=20)
    with (
        started(many, tmp_path, limits, isolated=False) as submission,
        pytest.raises(NoAdaptersError, match="left 30 files, and 20 are allowed"),
        alone(submission, "any"),
    ):
        pass
