"""Landlock: rules on which files a process and its descendants may open; see landlock(7).

It needs no privilege. Rights that a release of Linux does not know are left out.
"""

import ctypes
import os
import stat
from collections.abc import Iterable, Iterator

from .syscalls import (
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    syscall,
)

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
REMOVE_DIR = 1 << 4
# All that makes and removes, in the order of the bits.
MAKE_REMOVE = ((1 << 13) - 1) & ~(EXECUTE | WRITE_FILE | READ_FILE | READ_DIR)
# Through a device file, root would write to a disk.
MAKE_DEVICES = 1 << 6 | 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
BIND_AND_CONNECT_TCP = 0b11
ABSTRACT_SOCKETS, SIGNALS = 0b01, 0b10
WITH_TCP, WITH_SCOPES = 4, 6


class PathBeneath(ctypes.Structure):
    """A rule: rights on a file, or on a folder and everything below it."""

    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def version() -> int:
    """Return the version of Landlock in this system; 0 if it has none."""
    just_ask = 1
    try:
        return syscall(
            LANDLOCK_CREATE_RULESET, "landlock", None, ctypes.c_size_t(0), ctypes.c_uint(just_ask)
        )
    except OSError:
        return 0


def known_rights(release: int) -> int:
    """Return all rights on files that a version knows."""
    rights = READ | WRITE_FILE | MAKE_REMOVE
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        rights |= right if release >= since else 0
    return rights


class Ruleset:
    """The files and folders that may be opened, all others being closed.

    Args:
        readable: files and folders to read.
        writable: folders to read and write.
        devices: device files, or folders of them.
        listed: folders whose names may be listed.
        emptied: folders in and below which empty folders may be removed.
        signals: True if signals to processes outside are allowed.

    Raises:
        OSError: the system refuses.
    """

    def __init__(
        self,
        readable: Iterable[str],
        writable: Iterable[str],
        devices: Iterable[str],
        listed: Iterable[str] = (),
        emptied: Iterable[str] = (),
        *,
        signals: bool = False,
    ) -> None:
        release = version()
        known = known_rights(release)
        attributes = (ctypes.c_uint64 * 3)(known)
        size = 8
        if release >= WITH_TCP:
            attributes[1], size = BIND_AND_CONNECT_TCP, 16
        if release >= WITH_SCOPES:
            attributes[2], size = ABSTRACT_SOCKETS | (0 if signals else SIGNALS), 24
        self.descriptor = syscall(
            LANDLOCK_CREATE_RULESET,
            "landlock_create_ruleset",
            ctypes.byref(attributes),
            ctypes.c_size_t(size),
            ctypes.c_uint(0),
        )
        rights = {
            READ: readable,
            READ_DIR: listed,
            REMOVE_DIR: emptied,
            known & ~MAKE_DEVICES: writable,
            (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV) & known: devices,
        }
        try:
            for right, paths in rights.items():
                for path in paths:
                    allow(self.descriptor, path, right)
        except OSError:
            self.close()
            raise

    def enforce(self) -> None:
        """Apply the rules to this process and its descendants, after `no_new_privileges`.

        If the system can do it, this closes TCP too, and abstract sockets and signals (unless they
        are allowed) reach only processes under the same rules.

        Raises:
            OSError: the system refuses.
        """
        syscall(
            LANDLOCK_RESTRICT_SELF,
            "landlock_restrict_self",
            ctypes.c_int(self.descriptor),
            ctypes.c_uint(0),
        )

    def close(self) -> None:
        """Close the descriptor; applied rules stay in force."""
        os.close(self.descriptor)


def allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule for a path, if it exists."""
    beneath = 1
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= OF_A_FILE
        rule = PathBeneath(rights, descriptor)
        syscall(
            LANDLOCK_ADD_RULE,
            f"landlock_add_rule {path}",
            ctypes.c_int(ruleset),
            ctypes.c_int(beneath),
            ctypes.byref(rule),
            ctypes.c_uint(0),
        )
    finally:
        os.close(descriptor)


def without(tree: str, masked: list[str]) -> Iterator[str]:
    """Yield the parts of a tree without masked paths: a rule can only allow."""
    inside = [path for path in masked if path.startswith(tree.rstrip("/") + "/")]
    if not inside and tree not in masked:
        yield tree
    elif inside and os.path.isdir(tree):
        for name in sorted(os.listdir(tree)):
            yield from without(os.path.join(tree, name), masked)
