"""Confines the judge, before it is told anything and before any submission is imported.

What comes back from a worker is data. Should it take over the process that reads it even so, that
process can write to the folder of its run and to what was open before, and do nothing else outside.

    not dumpable   other processes of its user neither read nor write its memory and its files
    Landlock       it writes to one folder, and connects to no port and no abstract socket
    seccomp        it starts no program, makes no socket, and reaches into no other process

It reads what it likes, as a suite may, and signals workers.
"""

import errno
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cs336_grader.worker.sandbox import landlock, privileges, seccomp
from cs336_grader.worker.sandbox.probes import succeeds
from cs336_grader.worker.sandbox.root_filesystem import DEVICES
from cs336_grader.worker.sandbox.syscalls import MACHINE


@dataclass(frozen=True, slots=True)
class Confinement:
    """The layers that confine the judge.

    Attributes:
        missing: for each layer why it is missing; empty if it is in force.
        open_ways: the attempts that succeeded all the same.
    """

    missing: Mapping[str, str]
    open_ways: Sequence[str]


def confine(run: Path, files: Path) -> Confinement:
    """Confine this process, which has one thread, and those that it forks, for good.

    Args:
        run: the folder that may be written to, and removed.
        files: where temporary files go, within it.
    """
    tempfile.tempdir = os.environ["TMPDIR"] = str(files)
    layers: dict[str, Callable[[], None]] = {
        "not dumpable": privileges.hide_memory,
        "Landlock": lambda: write_only_to(run),
        "seccomp": refuse_calls,
    }
    missing = {layer: why_missing(apply) for layer, apply in layers.items()}
    return Confinement(missing, [means for means, way in ways(run).items() if succeeds(way)])


def why_missing(apply: Callable[[], None]) -> str:
    """Apply a layer; return why it is missing, or an empty text."""
    if sys.platform != "linux":
        return "Linux alone has it"
    try:
        apply()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def write_only_to(run: Path) -> None:
    """Allow this process to write, make and remove files in one folder alone."""
    privileges.no_new_privileges()
    if not landlock.version():
        raise OSError("the system has none")
    # The judge removes the folder of its run if the launcher has ended.
    above = [str(run.parent)]
    with closing(
        landlock.Ruleset(["/"], [str(run)], DEVICES, emptied=above, signals=True)
    ) as ruleset:
        ruleset.enforce()


def refuse_calls() -> None:
    """Refuse the system calls that the judge does not need."""
    privileges.no_new_privileges()
    seccomp.install(seccomp.for_judge(MACHINE))


def ways(run: Path) -> dict[str, Callable[[], object]]:
    """Return the attempts, each under the words for its success."""
    return {
        "its memory is open to its user": open_to_others,
        "it can write outside its folder": lambda: make_and_remove(run.parent),
        "it can make connections": lambda: socket.socket(socket.AF_INET).close(),
        "it can start programs": start_program,
    }


def open_to_others() -> None:
    """Raise an error if other processes of the same user cannot read this one's memory."""
    if privileges.hides_memory():
        raise OSError("it is hidden")


def make_and_remove(folder: Path) -> None:
    """Make and remove a file in a folder."""
    handle, path = tempfile.mkstemp(dir=folder)
    os.close(handle)
    os.unlink(path)


def start_program() -> None:
    """Start a program that does not exist; the error differs if programs are refused."""
    try:
        os.execv("/dev/null/program", ["program"])  # noqa: S606 (nothing is started)
    except OSError as error:
        if error.errno == errno.EPERM:
            raise
