"""Digests of the sources that decide what a check finds with a catalogue's entry.

A result is made anew only where one of the two has changed. What the reference computes counts by
the snapshots, not by its source: another way to write it changes no result.
"""

import ast
import hashlib
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType

import cs336_checks.draws
from cs336_checks.catalogue import KnownMistake
from cs336_checks.rubric import Assignment
from cs336_checks.suite_folder import SuiteFolder

DIGEST_CHARACTERS = 12


def check_digests(assignment: Assignment) -> dict[str, str]:
    """Return a digest for each check: its code, what it is drawn from, its expected values."""
    suite = SuiteFolder(assignment.folder / "tests")
    return {
        name: digest(
            divided(assignment.folder / check.file)[1][name],
            rest(assignment.folder / check.file, tuple(assignment.checks)),
            *(rest(path, ()) for path in imported(assignment.folder / check.file)),
            Path(cs336_checks.draws.__file__).read_text(encoding="utf-8"),
            *snapshots(suite, f"{Path(check.file).stem}.{name}"),
        )
        for name, check in assignment.checks.items()
    }


def mistake_digests(mistakes: Iterable[KnownMistake]) -> dict[str, str]:
    """Return a digest for each mistake: its functions, and the code of its catalogue they use."""
    known = list(mistakes)
    names = tuple(mistake.id.partition("/")[2] for mistake in known)
    return {mistake.id: digest(*mistake_sources(mistake, names)) for mistake in known}


def mistake_sources(mistake: KnownMistake, entries: tuple[str, ...]) -> Iterator[str]:
    """Yield the sources of a mistake, without those of other entries."""
    yield ",".join(mistake.replaces)
    for replacement in mistake.replaces.values():
        function = inspect.unwrap(replacement)
        if not isinstance(function, FunctionType):
            function = type(function)
        path = Path(inspect.getfile(function))
        yield divided(path)[1].get(function.__name__, "")
        yield rest(path, entries)
        yield from (rest(other, entries) for other in imported(path))


def snapshots(suite: SuiteFolder, check: str) -> Iterator[str]:
    """Yield digests of the expected values of a check's cases."""
    for path in sorted(suite.snapshots.glob(f"{check}*")):
        if path.stem.partition("[")[0] == check:
            yield hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def divided(path: Path) -> tuple[str, dict[str, str]]:
    """Return a module's source without its functions and classes, and the source of each."""
    lines = path.read_text(encoding="utf-8").splitlines()
    functions: dict[str, str] = {}
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            start = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
            end = node.end_lineno or start
            functions[node.name] = "\n".join(lines[start:end])
            lines[start:end] = [""] * (end - start)
    return "\n".join(filter(None, lines)), functions


@cache
def rest(path: Path, entries: tuple[str, ...]) -> str:
    """Return a module's source without the functions that are entries of their own."""
    outside, functions = divided(path)
    return "\n".join([outside, *(text for name, text in functions.items() if name not in entries)])


@cache
def imported(path: Path) -> tuple[Path, ...]:
    """Return the modules beside a module that it imports, directly or not."""
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        for node in ast.walk(ast.parse(waiting.pop().read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                for name in names:
                    other = path.parent / f"{name.partition('.')[0]}.py"
                    if other.is_file() and other not in found and other != path:
                        found[other] = None
                        waiting.append(other)
    return tuple(found)


def digest(*texts: str) -> str:
    """Return a short digest of texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:DIGEST_CHARACTERS]
