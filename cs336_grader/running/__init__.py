"""Runs a submission's adapters in worker processes, as if they were functions of this one."""

from cs336_grader.worker.process import adopt_orphans as adopt_orphans
from cs336_grader.worker.process import die_with_parent as die_with_parent
from cs336_grader.worker.process import warm_up as warm_up
from cs336_grader.worker.sandbox.limits import Limits as Limits
from cs336_grader.worker.sandbox.limits import limit_memory as limit_memory
from cs336_grader.worker.sandbox.privileges import hide_memory as hide_memory

from .confinement import confine as confine
from .faults import CouldNotRunError as CouldNotRunError
from .measuring import measure as measure
from .submission import RunningSubmission as RunningSubmission
from .zygote import Setting as Setting
from .zygote import Zygote as Zygote
from .zygote import fork_zygote as fork_zygote
from .zygote import forked_zygote as forked_zygote
from .zygote import start_zygote as start_zygote
