"""Forks of a process that has one thread, as cheap as they can be had.

Whatever a process writes to while another one shares it is copied, and a huge page becomes many
small ones for good, which each further fork and each end of a child has to go through. So a parent
had better do nothing until its child has ended.
"""

import ctypes
import functools
import os
import signal
import sys
from contextlib import suppress

from .isolation.syscalls import (
    CLONE,
    CLONE_CHILD_CLEARTID,
    CLONE_CHILD_SETTID,
    CLONE_VFORK,
    MACHINE,
    PR_GET_TID_ADDRESS,
    checked,
    prctl,
)


def fork_alone() -> int:
    """Fork a process that has one thread; what Python does about others' locks is left out.

    That touches memory all over, which costs each child some 3 ms of CPU.
    """
    if sys.platform != "linux":
        return os.fork()
    return checked(libc_with_lock().fork(), "fork")


def fork_and_wait() -> int:
    """Fork a process that has one thread, and go on only when the child has ended.

    Where the system can do that, the parent stands still within the call: nothing that it writes to
    is shared with the child by then, and had to be copied.
    """
    pid = vfork()
    if pid:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
    return pid


def vfork() -> int:
    """Fork so that the parent waits, where the system can do that; the child has its own memory.

    What libraries asked the C library to do at a fork is left out: it is about other threads.
    """
    # Another C library may keep something else where glibc keeps a thread's id.
    known = MACHINE in CLONE and hasattr(libc_with_lock(), "gnu_get_libc_version")
    if sys.platform != "linux" or not known:
        return fork_alone()
    own_id = ctypes.c_void_p()
    try:
        # Where that is, to be set for the child's.
        prctl(PR_GET_TID_ADDRESS, ctypes.addressof(own_id))
    except OSError:
        return fork_alone()
    flags = CLONE_VFORK | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | signal.SIGCHLD
    # The last two are in another order on each kind of processor, and one is not looked at.
    arguments = (*(ctypes.c_long(0),) * 2, own_id, own_id)
    return checked(
        libc_with_lock().syscall(ctypes.c_long(CLONE[MACHINE]), ctypes.c_long(flags), *arguments),
        "clone",
    )


@functools.cache
def libc_with_lock() -> ctypes.PyDLL:
    """The C library of this process; its functions keep Python's one lock while they run."""
    return ctypes.PyDLL(None, use_errno=True)
