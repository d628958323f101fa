"""Makes a root file system that shows some trees and nothing else."""

import ctypes
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .syscalls import MOUNT_SETATTR, detach, mount, pivot_root, syscall

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC = 1, 2, 4, 8, 0x1000, 0x4000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store")
# Libraries are found, compilers started and local times told with these.
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/timezone")
# `own_processes` mounts another one over it; Linux allows that only if all of the first is visible.
PROCESSES = "/proc"
PROCESSORS = "/sys/devices/system"
DEVICE_FOLDER = "/dev"
DEVICES = tuple(f"{DEVICE_FOLDER}/{name}" for name in ("null", "zero", "full", "random", "urandom"))
SHARED_MEMORY = "/dev/shm"  # noqa: S108 (a mount of one's own, not a name that others guess)
# The parts of a virtual environment; its folder may hold an assignment too.
ENVIRONMENT_PARTS = ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg")
PACKAGE_FOLDERS = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class RootFilesystem:
    """The contents of a root file system.

    Attributes:
        staged: the submission's folder.
        scratch: the folder to write to.
        hidden: installed packages that are not shown.
        scratch_megabytes: the size of `scratch`.
        scratch_files: the number of files that it may hold.
    """

    staged: str
    scratch: str
    hidden: tuple[str, ...]
    scratch_megabytes: int
    scratch_files: int

    def trees(self) -> list[str]:
        """Return the folders and files to read, none within another."""
        wanted = [*SYSTEM, *SETTINGS, *interpreter(), self.staged]
        real = [path for tree in wanted for path in (tree, os.path.realpath(tree))]
        found: list[str] = []
        for tree in sorted({path for path in real if os.path.lexists(path)}, key=len):
            if not any(is_within(tree, outer) and not os.path.islink(outer) for outer in found):
                found.append(tree)
        return found

    def masked(self) -> list[str]:
        """Return the folders and files within those trees that are not shown."""
        return [
            path
            for folder in sys.path
            for name in self.hidden
            for path in (os.path.join(folder, name), os.path.join(folder, f"{name}.py"))
            if folder and os.path.exists(path) and not is_within(path, self.staged)
        ]


def interpreter() -> Iterator[str]:
    """Yield the folders that Python needs."""
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}:
        yield from (os.path.join(prefix, part) for part in ENVIRONMENT_PARTS)
    # Not all of sys.path: an editable installation lies in an assignment.
    yield from (path for path in sys.path if os.path.basename(path) in PACKAGE_FOLDERS)
    yield from filter(None, (sysconfig.get_path("stdlib"), sysconfig.get_config_var("LIBDIR")))
    # Every link on the way to the program must be shown.
    program = sys.executable
    while program and os.path.islink(program):
        program = os.path.join(os.path.dirname(program), os.readlink(program))
        yield os.path.dirname(os.path.normpath(program))


def is_within(path: str, folder: str) -> bool:
    """Return True for a path that lies in a folder or is it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def enter(shown: RootFilesystem, owner: int) -> None:
    """Make a root file system and enter it, in a namespace of mounts.

    Args:
        shown: its contents.
        owner: the user who may write to its folders.

    Raises:
        OSError: the system refuses; changes made by then are kept.
    """
    trees, masked = shown.trees(), shown.masked()
    root = shown.scratch
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m")
    show(root, [*trees, PROCESSES, PROCESSORS], writable=False)
    show(root, DEVICES, writable=True)
    for path in masked:
        if os.path.exists(root + path):
            mask(root + path)
    for name, target in {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        os.symlink(f"/proc/self/{target}", f"{root}/dev/{name}")
    os.makedirs(f"{root}/etc", exist_ok=True)
    user = f"worker:x:{owner}:{os.getegid()}::{shown.scratch}:/bin/false\n"
    Path(f"{root}/etc/passwd").write_text(user, encoding="ascii")
    for folder in (shown.scratch, SHARED_MEMORY):
        os.makedirs(root + folder)
    os.chdir(root)
    pivot_root(".")
    detach(".")
    os.chdir("/")
    restrict("/", MOUNT_ATTR_RDONLY, recursive=False)
    renew(shown, owner)


def renew(shown: RootFilesystem, owner: int) -> None:
    """Mount new empty folders in place of those that can be written to, after ``enter``.

    Raises:
        OSError: the system refuses.
    """
    size, files = shown.scratch_megabytes, shown.scratch_files
    options = f"size={size}m,nr_inodes={files},uid={owner},mode=0700"
    for folder in (shown.scratch, SHARED_MEMORY):
        with suppress(OSError):
            detach(folder)
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, options)


def own_processes(device: int) -> None:
    """Show only the processes of this namespace in ``/proc``, after ``enter``.

    Args:
        device: the device of the first ``/proc``.

    Raises:
        OSError: the system refuses.
    """
    if os.stat(PROCESSES).st_dev != device:
        # An earlier namespace, which has ended, mounted it.
        detach(PROCESSES)
    mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)


def show(root: str, paths: Iterable[str], *, writable: bool) -> None:
    """Show files and folders at the same paths under another root."""
    for path in paths:
        target = root + path
        if os.path.islink(path):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(path), target)
        elif os.path.exists(path):
            if os.path.isdir(path):
                os.makedirs(target, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                Path(target).touch()
            mount(path, target, None, MS_BIND | MS_REC)
            if not writable:
                restrict(target, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, recursive=True)


def mask(target: str) -> None:
    """Hide a file or folder."""
    if os.path.isdir(target):
        mount("tmpfs", target, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=0555,size=4k")
    else:
        mount("/dev/null", target, None, MS_BIND)


def restrict(target: str, attributes: int, *, recursive: bool) -> None:
    """Add attributes to a mount.

    Raises:
        OSError: the system refuses, or is older than Linux 5.12.
    """
    change = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    syscall(
        MOUNT_SETATTR,
        f"mount_setattr {target}",
        ctypes.c_int(AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(AT_RECURSIVE if recursive else 0),
        ctypes.byref(change),
        ctypes.c_size_t(ctypes.sizeof(change)),
    )
