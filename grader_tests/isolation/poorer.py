"""Runs a command as on a poorer machine: as another user, or with system calls refused.

python poorer.py [--user] [--refuse NAME ...] -- COMMAND ...
"""

import argparse
import errno
import os
import sys
from pathlib import Path

from cs336_grader.worker.sandbox import privileges, seccomp
from cs336_grader.worker.sandbox.namespaces import MS_PRIVATE, MS_REC
from cs336_grader.worker.sandbox.root_filesystem import MS_BIND
from cs336_grader.worker.sandbox.syscalls import CLONE_NEWNS, MACHINE, mount, unshare

USER = 54321
# As a container refuses them, and as an older system does: system calls and what they answer.
REFUSALS = {
    "namespaces": ({"unshare": (272, 97), "mount": (165, 40)}, errno.EPERM),
    "Landlock": ({"create": (444, 444), "add": (445, 445), "restrict": (446, 446)}, errno.ENOSYS),
}


def main() -> None:
    """Become poorer, then run the command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--refuse", action="append", default=[], choices=REFUSALS)
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    if asked.user and os.geteuid() == 0:
        show_python()
        privileges.become(USER)
        os.environ["HOME"] = "/nowhere"
    privileges.no_new_privileges()
    for name in asked.refuse:
        refuse(name)
    os.execvp(asked.command[0], asked.command)  # noqa: S606 (this is what it is for)


def show_python() -> None:
    """Let other users find Python where it lies, even in a folder that is closed to them."""
    closed = next(
        (
            folder
            for folder in reversed(Path(sys.base_prefix).parents)
            if not folder.stat().st_mode & 0o001
        ),
        None,
    )
    if closed is None:
        return
    unshare(CLONE_NEWNS)
    python = os.open(sys.base_prefix, os.O_PATH)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", str(closed), "tmpfs", 0, "mode=0755")
    os.makedirs(sys.base_prefix)
    mount(f"/proc/self/fd/{python}", sys.base_prefix, None, MS_BIND)


def refuse(name: str) -> None:
    """Have the system refuse some calls from here on."""
    column = ("x86_64", "aarch64").index(MACHINE)
    calls, answer = REFUSALS[name]
    steps = [(seccomp.LOAD, 0, 0, seccomp.NUMBER)]
    for numbers in calls.values():
        refused = (seccomp.RETURN, 0, 0, seccomp.ERRNO | answer)
        steps += [(seccomp.IF_EQUAL, 0, 1, numbers[column]), refused]
    seccomp.install([*steps, (seccomp.RETURN, 0, 0, seccomp.ALLOW)])


if __name__ == "__main__":
    main()
