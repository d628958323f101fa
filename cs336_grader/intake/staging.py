"""The story of intake: open the submission, find the adapters, follow their imports, copy.

Everything a submission holds is data here. Nothing of it is built, installed, imported or run, and
what cannot be graded is told apart: NothingToGradeError is the submission's fault,
WrongRequestError is that of whoever asked, CouldNotJudgeError is not known to be anybody's.
"""

import platform
import shlex
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path, PurePosixPath

from cs336_grader.records import CouldNotJudgeError, Staged, WrongRequestError

from .candidates import PACK_AGAIN, Candidate, NothingToGradeError, find_adapters
from .closure import Closure
from .copying import copy, within_limit
from .gaps import Gaps, names_of
from .installed import is_needed
from .interpreters import Interpreter, interpreter
from .listing import ADAPTERS
from .manifests import Manifests
from .modules import INIT
from .notes import Notes, named
from .sources import Source, open_source


def stage(
    path: Path,
    adapter_names: frozenset[str],
    into: Path,
    *,
    package: str,
    revision: str | None = None,
    adapters: PurePosixPath | None = None,
    python: str = "",
) -> Staged:
    """Copy the adapters of a submission and what they import to a private folder.

    Args:
        path: a folder, a zip, tar or tar.gz archive, or a git repository.
        adapter_names: the published adapters.
        into: an empty folder of this process's own.
        package: the student's, which is taken even where another of the name is installed.
        revision: of a git repository; its files as they lie there if None.
        adapters: the file within the submission that holds them; looked for if None.
        python: the interpreter that runs the submission; this one if empty.

    Raises:
        NothingToGradeError: there is nothing in it that could be graded.
        CouldNotJudgeError: it cannot be read, or exceeds a limit.
        WrongRequestError: the path, the revision, the adapters or the interpreter are not there.
    """
    notes, runs_in = Notes(), interpreter(python)
    with closing(open_source(path, revision, notes)) as source:
        found = find_adapters(source, adapter_names, notes, own_folders(package), adapters)
        refuse_broken(found, source, runs_in, notes)
        closure, gaps = followed(found, source, reserved_except(own_folders(package)), notes)
        manifests = Manifests(source, closure.files, closure.packages, runs_in, notes)
        refuse_unread(gaps.broken, manifests)
        copied, digest = copy(source, within_limit(source, closure.taken, notes), into, notes)
    mark(closure, gaps, copied, into)
    manifests.write(into / closure.search_paths[0])
    gaps.note(manifests, package, notes)
    filled, every = names_of(found.path, closure.readings)
    return Staged(
        name=source.name,
        sha256=digest,
        root=into,
        module=closure.module,
        search_paths=tuple(map(str, closure.search_paths)),
        notes=notes.lines(),
        adapters=frozenset(filled),
        stubs=frozenset(every - filled),
        unmet=manifests.unmet,
        trees=closure.trees,
    )


def own_adapters(folder: Path, adapter_names: frozenset[str], package: str) -> PurePosixPath | None:
    """The adapters of a folder that is one submission; None where it is none, or holds several."""
    notes, own = Notes(), own_folders(package)
    try:
        with closing(open_source(folder, None, notes)) as source:
            found = find_adapters(source, adapter_names, notes, own)
    except (NothingToGradeError, CouldNotJudgeError, WrongRequestError):
        return None
    return found.path if found.is_of_whole(own) else None


def may_hold_adapters(path: Path) -> bool:
    """Return True for a folder or archive that lists an adapters.py or cannot be read."""
    try:
        with closing(open_source(path, None, Notes())) as source:
            return any(file.name == ADAPTERS for file in source.sizes)
    except (CouldNotJudgeError, WrongRequestError):
        return True


def own_folders(package: str) -> set[str]:
    """The names of folders that a submission has."""
    return {package, "tests"}


def refuse_broken(found: Candidate, source: Source, python: Interpreter, notes: Notes) -> None:
    """Say whose fault it is if the adapters cannot be parsed: perhaps only this Python's."""
    if not found.fault:
        return
    manifests = Manifests(source, [found.path], set(), python, notes)
    refuse_unread({found.path: found.fault}, manifests)
    raise NothingToGradeError(f"{found.path} is no valid Python: {found.fault}")


def followed(
    found: Candidate, source: Source, is_reserved: Callable[[str], bool], notes: Notes
) -> tuple[Closure, Gaps]:
    """The adapters, with all that they import of the submission, and the gaps in it.

    Raises:
        CouldNotJudgeError: something installed would be imported in their place, or a module that
            they import may be there under a name that cannot be used.
    """
    closure = Closure(source, found.path, is_reserved, notes)
    if found.path not in closure.taken:
        raise CouldNotJudgeError(f"{found.path} has the name of something installed")
    gaps = Gaps(closure.readings, found.path)
    if gaps.unseen:
        raise CouldNotJudgeError(
            f"{source.name} imports modules that may be in files or folders with names that cannot "
            f"be used: {named(sorted(gaps.unseen))}. {PACK_AGAIN}"
        )
    return closure, gaps


def refuse_unread(faults: Mapping[PurePosixPath, str], manifests: Manifests) -> None:
    """Judge nothing where another Python may read what this one cannot.

    Args:
        faults: what is wrong with each file that cannot be read.
        manifests: say which Python is asked for, and which one runs it.
    """
    if manifests.wanted_python is not None:
        asked = f"the submission asks for {manifests.wanted_python}"
        version = str(manifests.wanted_python.versions)
    elif not manifests.python.reads_as_here:
        asked = f"is to run in {manifests.python.version}"
        version = ".".join(manifests.python.version.split(".")[:2])
    else:
        return
    command = f"uv run --python {shlex.quote(version)} cs336 grade ..."
    other = f"{asked}: start cs336 with Python {version}: {command}"
    for path, fault in faults.items():
        here = platform.python_version()
        raise CouldNotJudgeError(f"{path} is no valid Python {here} ({fault}), and {other}")


def reserved_except(own: set[str]) -> Callable[[str], bool]:
    """Tell the names of what the grader needs from those that are the submission's to use."""
    return cache(lambda name: name not in own and is_needed(name))


def mark(closure: Closure, gaps: Gaps, paths: list[PurePosixPath], into: Path) -> None:
    """Write what imports look for beside the files that were copied.

    Each top-level folder that can be imported gets an ``__init__.py``: without one, a package of
    the same name anywhere else on the import path would win over it. A stub in the place of a
    compiled module says that the module is not built.
    """
    for root in closure.search_paths:
        tops = {path.relative_to(root).parts[0] for path in paths if path.is_relative_to(root)}
        for top in sorted(tops):
            folder = into / root / top
            if folder.is_dir() and not closure.is_reserved(top):
                (folder / INIT).touch()
    for module in gaps.unbuilt:
        stub = into / module.with_suffix(".pyi")
        if stub.parent.is_dir():
            stub.touch()
