"""The process that judges and a worker share a processor, until what a check does takes long."""

import os
import sys
from pathlib import Path

import pytest

from grader_tests.limits import limits_with

from .started import started

ADAPTERS = """
import multiprocessing
import os
import time


def processors():
    with open("/proc/thread-self/status") as status:
        allowed = next(line.split()[1] for line in status if line.startswith("Cpus_allowed_list"))
    return allowed, sorted(os.sched_getaffinity(0))


def processors_later(seconds):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        time.sleep(seconds)
        return [processors(), *(pool.apply(processors) for _ in range(2))]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone keeps processes on a processor")
def test_work_that_is_divided_has_all_processors(tmp_path: Path) -> None:
    """A short check is kept on one, a long one with its processes is not; both hear of all."""
    before = os.sched_getaffinity(0)
    with started(ADAPTERS, tmp_path, limits_with(check_seconds=30)) as submission:
        with submission.check("short") as adapters:
            kept, told = adapters.processors()
            assert {int(kept)} == os.sched_getaffinity(0)
            assert told == sorted(before)
        with submission.check("long") as adapters:
            places = adapters.processors_later(1)
            assert os.sched_getaffinity(0) == before
        status = Path("/proc/thread-self/status").read_text(encoding="ascii")
        assert all(f"Cpus_allowed_list:\t{kept}\n" in status for kept, _ in places)
        with submission.check("the third, before which memory is collected") as adapters:
            adapters.processors()
        with submission.check("short again") as adapters:
            assert {int(adapters.processors()[0])} == os.sched_getaffinity(0)
    assert os.sched_getaffinity(0) == before
