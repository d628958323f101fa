"""Runs a submission's adapters in worker processes, as if they were functions of this one."""

from cs336_grader.worker.process import die_with_parent as die_with_parent

from .faults import CouldNotRunError as CouldNotRunError
from .submission import RunningSubmission as RunningSubmission
from .warm import fork_warm_worker as fork_warm_worker
from .warm import warm_up as warm_up
