"""Giving up what a process may do: no way to gain anything, no capabilities, another user."""

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
    """Whom the workers of this process are to run as: where it is root, a user of their own.

    Another submission may be graded beside it, and what that starts must not count as theirs.
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
    # Who changes the user is taken for a program that may hold secrets of another: this is not.
    show_memory()


def hide_memory() -> None:
    """Close this process to others of its user: its memory, its files, and most of its ``/proc``.

    Those that it forks are closed too, programs that it starts are not.
    """
    prctl(PR_SET_DUMPABLE, 0)


def show_memory() -> None:
    """Undo ``hide_memory``."""
    prctl(PR_SET_DUMPABLE, 1)


def hides_memory() -> bool:
    """True if other processes of its user cannot read its memory."""
    return sys.platform == "linux" and int(libc().prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) == 0


def drop_bounding_capabilities() -> None:
    """Let no program that is started have any capability, while this process still may say so.

    Who may not say so has none to give; the rest is up to ``no_new_privileges``.
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
    """Let no program that is started gain anything.

    Raises:
        OSError: the system refuses.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
