"""Limits that the system enforces for each process."""

import os
import sys
from dataclasses import dataclass

if sys.platform != "win32":
    import resource

MEBIBYTE = 2**20
OPEN_FILES = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a submission, as the rubric explains them."""

    check_seconds: float
    import_seconds: float
    submission_seconds: float
    cpu_seconds: float
    memory_megabytes: int
    processes: int
    file_megabytes: int
    scratch_megabytes: int
    scratch_files: int


def apply(limits: Limits, *, others: int) -> None:
    """Set the limits of this process and of those that descend from it.

    Args:
        limits: what is allowed.
        others: how many processes outside count as the same user's.

    Raises:
        OSError: the system refuses.
    """
    if sys.platform == "win32":
        raise OSError("there are none on Windows")
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: limits.memory_megabytes * MEBIBYTE,
        resource.RLIMIT_FSIZE: limits.file_megabytes * MEBIBYTE,
        resource.RLIMIT_NOFILE: OPEN_FILES,
    }
    if sys.platform == "linux":
        # Elsewhere the number of the user's processes is not known.
        wanted[resource.RLIMIT_NPROC] = limits.processes + others
    for kind, value in wanted.items():
        most, _ = within_hard_limit(kind, value)
        resource.setrlimit(kind, (most, most))


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process: it raises an error before the system has none left.

    Processes that it starts may raise the limit.
    """
    if sys.platform == "linux":
        limits = within_hard_limit(resource.RLIMIT_DATA, megabytes * MEBIBYTE)
        resource.setrlimit(resource.RLIMIT_DATA, limits)


def within_hard_limit(kind: int, wanted: int) -> tuple[int, int]:
    """Return the wanted limit, at most the hard limit, and the hard limit."""
    _, hard = resource.getrlimit(kind)
    return (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)), hard


def be_ended_first() -> None:
    """If the machine has no memory left, let Linux kill this process and not the judge.

    Raises:
        OSError: the system has no such setting.
    """
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def processes_of(user: int) -> int:
    """Return the number of a user's processes and threads, as far as they are shown."""
    found = 0
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                found += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return found


def proportional(pid: int) -> int:
    """Return the proportional set size of a process in bytes; 0 if not known."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
