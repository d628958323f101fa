"""Workers start from the same state, are replaced where they cannot go on, and leave nothing."""

import zlib
from typing import Any

import pytest
import torch

from cs336_grader.running import RunningSubmission
from cs336_grader.running.faults import WorkerLostError
from grader_tests.alone import alone

LOST = ("exit_now", "hold_every_connection", "write_rubbish")


def test_each_check_starts_from_the_same_state(submission: RunningSubmission) -> None:
    """Nothing a check does is seen by the next, and random numbers repeat."""
    seen = []
    for _ in range(2):
        with alone(submission, "same") as adapters:
            seen.append((adapters.remember(), adapters.random_numbers().tolist()))
    assert seen[0] == seen[1]
    assert seen[0][0] == 1
    # Known mistakes draw the same in the suite's own process, and are recognised by that.
    generator = torch.Generator().manual_seed(zlib.crc32(b"same"))
    assert seen[0][1] == torch.rand(3, generator=generator).tolist()


def test_the_cases_of_a_problem_share_a_worker(submission: RunningSubmission) -> None:
    """In each of them random numbers start anew; the next problem has a worker of its own."""
    seen = []
    for _ in range(2):
        with submission.case("case") as adapters:
            seen.append((adapters.pid, adapters.remember(), adapters.random_numbers().tolist()))
    with submission.case("next") as adapters:
        assert (adapters.pid != seen[0][0], adapters.remember()) == (True, 1)
    (first, once, numbers), (second, twice, same_numbers) = seen
    assert (first, once, numbers) == (second, twice - 1, same_numbers)


def test_the_checks_of_a_problem_share_a_worker(submission: RunningSubmission) -> None:
    """It is reset between them; a check that asks for a fresh worker gets one."""
    with submission.case("first") as adapters:
        worker = adapters.pid
        adapters.change_everything()
    with submission.case("second") as adapters:
        assert adapters.pid == worker
        assert adapters.state() == (torch.float32, True, [])
    with submission.case("second", fresh=True) as adapters:
        assert adapters.pid != worker
    submission.end_worker()


def test_a_worker_that_cannot_go_on_is_replaced(submission: RunningSubmission) -> None:
    """It has ended, or is in the middle of its work: the next case gets another one."""
    with submission.case("same[ends]") as adapters, pytest.raises(WorkerLostError):
        adapters.exit_now()
    with submission.case("same[lingers]") as adapters:
        lingering = adapters.pid
        assert adapters.answer_and_linger() == 42
    with submission.case("same[last]") as adapters:
        assert adapters.pid != lingering
        assert adapters.remember() == 1
    submission.end_worker()


def test_pools_of_processes_end(adapters: Any) -> None:
    """No handler of the judge lets the members of a pool miss the signal to end."""
    assert adapters.pools()


@pytest.mark.parametrize("end", LOST)
def test_a_lost_worker_costs_its_own_check(submission: RunningSubmission, end: str) -> None:
    """The check is told that there is no result, and the next one runs as if nothing happened."""
    with pytest.raises(WorkerLostError), alone(submission, end) as adapters:
        getattr(adapters, end)()
    with alone(submission, "next") as adapters:
        assert adapters.echo(1) == [1]


def test_a_submission_that_cannot_be_forked_is_imported_anew(
    submission: RunningSubmission,
) -> None:
    """If the worker that imported it has ended, every check still gets its own process."""
    with alone(submission, "parent"):
        assert submission.imported is not None
        submission.imported.process.kill()
    for _ in range(2):
        with alone(submission, "next") as adapters:
            assert adapters.remember() == 1


def test_a_case_that_may_differ_in_a_new_worker_is_told(submission: RunningSubmission) -> None:
    """It ran in a worker that another case had used, and exceeded no limit."""
    with submission.case("first"):
        pass
    assert not submission.use_new_worker()
    with submission.case("second") as adapters:
        used = adapters.pid
    assert submission.use_new_worker()
    with submission.case("second") as adapters:
        assert adapters.pid != used
    assert not submission.use_new_worker()
    submission.end_worker()
