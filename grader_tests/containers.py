"""So much of the processor and of memory, and no more, as a course platform's container has."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
PERIOD_MICROSECONDS = 100_000


@dataclass(frozen=True, slots=True)
class Container:
    """Control groups that a command can be started in.

    Attributes:
        folders: of the groups; none where this user may not make any.
    """

    folders: tuple[Path, ...]

    def command(self, *words: str) -> list[str]:
        """A command that runs with the limits."""
        join = "".join(f"echo $$ > {folder}/cgroup.procs; " for folder in self.folders)
        return ["sh", "-ec", f'{join}exec "$@"', "sh", *words]


@contextmanager
def container(processors: float, memory: int) -> Iterator[Container]:
    """Limits on all that is started with them together, where they are to be had.

    Args:
        processors: how many of them, or which part of one.
        memory: in bytes, with what is kept of files.
    """
    name = f"cs336-{secrets.token_hex(4)}"
    quota = round(processors * PERIOD_MICROSECONDS)
    first = {
        GROUPS / "cpu" / name / "cpu.cfs_quota_us": quota,
        GROUPS / "memory" / name / "memory.limit_in_bytes": memory,
    }
    second = {
        GROUPS / name / "cpu.max": f"{quota} {PERIOD_MICROSECONDS}",
        GROUPS / name / "memory.max": memory,
    }
    settings = first if (GROUPS / "memory").is_dir() else second
    folders = tuple(dict.fromkeys(path.parent for path in settings))
    try:
        try:
            for folder in folders:
                folder.mkdir()
            for path, value in settings.items():
                path.write_text(str(value), encoding="ascii")
        except OSError:
            yield Container(())
        else:
            yield Container(folders)
    finally:
        for folder in folders:
            with suppress(OSError):
                folder.rmdir()


def environment_of_a_container() -> dict[str, str]:
    """What a command finds in its environment there."""
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
