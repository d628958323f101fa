"""The system calls of Linux that Python has no functions for."""

import ctypes
import functools
import os
import platform
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

# Numbers that differ between kinds of processors; those from 424 on are the same on all.
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
CAPSET = {"x86_64": 126, "aarch64": 91}
MOUNT_SETATTR = 442
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

MACHINE = platform.machine()


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    """Return the result of a call of the C library.

    Raises:
        OSError: the call failed.
    """
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, *arguments: Any) -> int:
    """Make a system call by its number.

    Raises:
        OSError: the call failed.
    """
    call = libc().syscall
    call.restype = ctypes.c_long
    return checked(call(ctypes.c_long(number), *arguments), what)


def prctl(option: int, *arguments: int) -> None:
    """Call prctl on Linux; do nothing elsewhere.

    Raises:
        OSError: the call failed.
    """
    if sys.platform == "linux":
        four = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
        checked(libc().prctl(option, *four), f"prctl {option}")


def unshare(flags: int) -> None:
    """Enter new namespaces.

    Raises:
        OSError: the system refuses.
    """
    checked(libc().unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system.

    Raises:
        OSError: the system refuses.
    """
    checked(
        libc().mount(
            os.fsencode(source),
            os.fsencode(target),
            None if kind is None else kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() or None,
        ),
        f"mount {target}",
    )


def detach(target: str) -> None:
    """Unmount a file system, even if it is in use.

    Raises:
        OSError: the system refuses.
    """
    mnt_detach = 2
    checked(libc().umount2(os.fsencode(target), mnt_detach), f"umount {target}")


def pivot_root(new_root: str) -> None:
    """Make a mounted folder the root, with the old one mounted on top of it.

    Raises:
        OSError: the system refuses.
    """
    path = os.fsencode(new_root)
    syscall(PIVOT_ROOT[MACHINE], "pivot_root", path, path)
