"""Copies what is taken of a submission to a private folder."""

import hashlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from cs336_grader.records import CouldNotJudgeError, Staged

from .candidates import find_adapters
from .closure import INIT, Closure
from .installed import is_distribution, is_installed
from .manifests import Manifests
from .notes import Notes, named
from .sources import Source, open_source

MAX_TOTAL_BYTES = 256 * 2**20


def stage(path: Path, adapter_names: frozenset[str], into: Path, *, package: str) -> Staged:
    """Copy the adapters of a submission and what they import to a private folder.

    Args:
        path: a folder or a zip archive.
        adapter_names: the published adapters.
        into: an empty folder of this process's own.
        package: what the assignment calls the student's package; a package of this name is taken
            even where another is installed.

    Raises:
        NothingToGradeError: there is nothing in it that could be graded.
        CouldNotJudgeError: it cannot be read, or exceeds a limit.
    """
    notes = Notes()
    source = open_source(path, notes)
    adapters = find_adapters(source, adapter_names, notes)
    closure = Closure(source, adapters, reserved_except({package, "tests"}), notes)
    affordable = within_limit(source, closure.taken, notes)
    digest = copy(source, affordable, into)
    mark_packages(closure, affordable, into)
    manifests = Manifests(source, closure, notes)
    manifests.write(into / closure.search_paths[0])
    lacking = [name for name in manifests.declared if not is_distribution(name)]
    if lacking:
        notes.say(f"It declares packages that are not installed here: {named(lacking)}.")
    return Staged(
        name=source.name,
        sha256=digest,
        root=into,
        module=closure.module,
        search_paths=tuple(map(str, closure.search_paths)),
        notes=notes.lines(),
    )


def reserved_except(own: set[str]) -> Callable[[str], bool]:
    """Tell the names of installed packages from those that are the submission's to use."""
    return lambda name: name not in own and is_installed(name)


def within_limit(source: Source, taken: set[PurePosixPath], notes: Notes) -> list[PurePosixPath]:
    """What can be copied: all source code, then data as long as there is room, smallest first."""
    total = 0
    kept: list[PurePosixPath] = []
    dropped: list[str] = []
    for path in sorted(taken, key=lambda path: (path.suffix != ".py", source.sizes[path], path)):
        total += source.sizes[path]
        if total <= MAX_TOTAL_BYTES:
            kept.append(path)
        elif path.suffix == ".py":
            raise CouldNotJudgeError(
                f"{source.name} has more than {MAX_TOTAL_BYTES // 2**20} MB of source code"
            )
        else:
            dropped.append(str(path))
    if dropped:
        notes.say(f"Left out (all together too large): {named(dropped)}.")
    return sorted(kept)


def copy(source: Source, paths: list[PurePosixPath], into: Path) -> str:
    """Copy files, and return the SHA-256 of all paths with their contents."""
    digest = hashlib.sha256()
    for path in paths:
        content = source.read(path)
        digest.update(str(path).encode() + b"\0" + hashlib.sha256(content).digest())
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target.write_bytes(content)
    return digest.hexdigest()


def mark_packages(closure: Closure, paths: list[PurePosixPath], into: Path) -> None:
    """Give each top-level folder that can be imported an ``__init__.py``.

    Without one, a package of the same name anywhere else on the import path would win over it.
    """
    for root in closure.search_paths:
        tops = {path.relative_to(root).parts[0] for path in paths if path.is_relative_to(root)}
        for top in sorted(tops):
            folder = into / root / top
            if folder.is_dir() and not closure.is_reserved(top):
                (folder / INIT).touch()
