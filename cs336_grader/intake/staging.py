"""The story of intake: open the submission, find the adapters, follow their imports, copy.

Everything a submission holds is data here. Nothing of it is built, installed, imported or run, and
what cannot be graded is told apart: NothingToGradeError is the submission's fault,
CouldNotJudgeError is not known to be.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath

from cs336_grader.records import CouldNotJudgeError, Staged

from .candidates import Candidate, NothingToGradeError, find_adapters
from .closure import Closure
from .copying import copy, within_limit
from .gaps import Gaps, names_of
from .installed import is_needed
from .manifests import Manifests
from .modules import INIT
from .notes import Notes
from .sources import Source, open_source


def stage(
    path: Path,
    adapter_names: frozenset[str],
    into: Path,
    *,
    package: str,
    revision: str | None = None,
    adapters: PurePosixPath | None = None,
) -> Staged:
    """Copy the adapters of a submission and what they import to a private folder.

    Args:
        path: a folder, a zip, tar or tar.gz archive, or a git repository.
        adapter_names: the published adapters.
        into: an empty folder of this process's own.
        package: what the assignment calls the student's package; a package of this name is taken
            even where another is installed.
        revision: the revision of a git repository to read; its files as they lie there if None.
        adapters: the file within the submission that holds the adapters; looked for if None.

    Raises:
        NothingToGradeError: there is nothing in it that could be graded.
        CouldNotJudgeError: it cannot be read, or exceeds a limit.
    """
    notes = Notes()
    with closing(open_source(path, revision, notes)) as source:
        found = find_adapters(source, adapter_names, notes, adapters)
        if found.fault:
            refuse_broken(source, found, notes)
        closure = Closure(source, found.path, reserved_except({package, "tests"}), notes)
        if found.path not in closure.taken:
            raise CouldNotJudgeError(f"{found.path} has the name of something installed")
        manifests = Manifests(source, closure.files, closure.packages, notes)
        gaps = Gaps(closure.readings, found.path)
        if manifests.asks_for_another_python:
            refuse_newer_python(gaps, manifests)
        copied, digest = copy(source, within_limit(source, closure.taken, notes), into, notes)
    mark_packages(closure, copied, into)
    mark_unbuilt(gaps, into)
    manifests.write(into / closure.search_paths[0])
    gaps.note(manifests, package, notes)
    return Staged(
        name=source.name,
        sha256=digest,
        root=into,
        module=closure.module,
        search_paths=tuple(map(str, closure.search_paths)),
        notes=notes.lines(),
        adapters=adapter_names & names_of(found.path, closure.readings),
    )


def refuse_broken(source: Source, found: Candidate, notes: Notes) -> None:
    """Say whose fault it is that the adapters cannot be parsed.

    Raises:
        NothingToGradeError: the submission's.
        CouldNotJudgeError: perhaps only this Python's.
    """
    manifests = Manifests(source, [found.path], set(), notes)
    if manifests.asks_for_another_python:
        raise CouldNotJudgeError(
            f"{found.path} is no valid Python for the version that grades ({found.fault}), and "
            f"the submission asks for another, {manifests.wanted_python}"
        )
    raise NothingToGradeError(f"{found.path} is no valid Python: {found.fault}")


def refuse_newer_python(gaps: Gaps, manifests: Manifests) -> None:
    """Judge nothing where modules cannot be parsed and another Python was asked for."""
    for path, fault in gaps.broken.items():
        raise CouldNotJudgeError(
            f"{path} is no valid Python for the version that grades ({fault}), and the submission "
            f"asks for another, {manifests.wanted_python}"
        )


def reserved_except(own: set[str]) -> Callable[[str], bool]:
    """Tell the names of what the grader needs from those that are the submission's to use."""
    return lambda name: name not in own and is_needed(name)


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


def mark_unbuilt(gaps: Gaps, into: Path) -> None:
    """Leave a stub where a compiled module is missing: it tells that it is not built."""
    for module in gaps.unbuilt:
        stub = into / module.with_suffix(".pyi")
        if stub.parent.is_dir():
            stub.touch()
