"""What all tests of the grader need."""

import os
import signal

import pytest
import torch

# A suite of its own, for the grader to run.
collect_ignore = ["tiny_assignment"]

# A shell has what it starts in the background ignore interruptions, and all that this starts, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Several processes of tests share the machine: threads that wait for one another there cost more
# than all that they compute, here and in what the tests start.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def hypothesis_here_alone() -> None:
    """Its plugin imports all of it at the end of each run of pytest that the tests start."""
    # Not before the tests run: it would leave hypothesis out of processes that run some of these.
    os.environ["PYTEST_ADDOPTS"] = "-p no:hypothesispytest"
