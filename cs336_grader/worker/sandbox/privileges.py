"""Gives up privileges: user, capabilities, and ways to gain new ones."""

import contextlib
import ctypes
import os
import sys

from .syscalls import (
    CAPSET,
    MACHINE,
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_GET_DUMPABLE,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    libc,
    prctl,
    syscall,
)

# systemd gives users from here on to services that come and go; nothing on disk belongs to them.
FIRST_USER, USERS = 61184, 4336
CAPABILITY_VERSION_3, CAPABILITIES = 0x20080522, 64


def worker_user() -> int:
    """Return the user of this process's workers: if it is root, a user of their own.

    Processes of another submission that is graded at the same time must not count as theirs.
    """
    return FIRST_USER + os.getpid() % USERS if os.geteuid() == 0 else os.geteuid()


def become(user: int) -> None:
    """Become another user, without any group but one of the same number.

    Raises:
        OSError: this is not root, or the user is not known in this namespace.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    # Linux hides the memory of a process that changes its user.
    show_memory()


def hide_memory() -> None:
    """Hide memory, files and most of ``/proc`` of this process from others of its user.

    Forked processes are hidden too, programs that it starts are not.
    """
    prctl(PR_SET_DUMPABLE, 0)


def show_memory() -> None:
    """Undo ``hide_memory``."""
    prctl(PR_SET_DUMPABLE, 1)


def hides_memory() -> bool:
    """Return True if other processes of its user cannot read its memory."""
    return sys.platform == "linux" and int(libc().prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) == 0


def drop_bounding_capabilities() -> None:
    """Let no started program have a capability.

    A process that may not do so has none to give; ``no_new_privileges`` does the rest.
    """
    with contextlib.suppress(OSError):
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
        for capability in range(CAPABILITIES):
            prctl(PR_CAPBSET_DROP, capability)


def drop_capabilities() -> None:
    """Give up every capability of this process.

    Raises:
        OSError: the system refuses.
    """
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    syscall(CAPSET[MACHINE], "capset", ctypes.byref(header), ctypes.byref(none))


def no_new_privileges() -> None:
    """Let no started program gain privileges.

    Raises:
        OSError: the system refuses.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
