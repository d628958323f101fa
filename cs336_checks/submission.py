"""Packs what a student hands in: ``python -m cs336_checks.submission`` writes submission.zip.

It says what is in the archive and which problems can be graded, and refuses what could not be.
"""

import ast
import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .rubric import RUBRIC, Rubric, RubricError, read_rubric
from .tracks import is_stub

ADAPTERS = Path("tests/adapters.py")
ARCHIVE = Path("submission.zip")
# Beside the package and the adapters: what it needs, and what a person reads.
BESIDE = ("pyproject.toml", "*.md", "*.png", "*.svg")
LEFT_OUT = ("README.md",)
MAX_BYTES = 20 * 2**20
# The same files make the same bytes, and the same digest.
EPOCH = (1980, 1, 1, 0, 0, 0)


class NotReadyError(Exception):
    """The work cannot be handed in as it is; the text says what to do."""


def main() -> int:
    """Pack the repository in the current folder; return 0, or 2 where it is not ready."""
    try:
        rubric = read_rubric(RUBRIC)
        written = written_problems(rubric)
        content = packed(files(rubric))
    except (NotReadyError, RubricError) as error:
        sys.stderr.write(f"Nothing was packed. {error}\n")
        return 2
    unfinished = ARCHIVE.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(ARCHIVE)
    sys.stdout.writelines(f"{line}\n" for line in told(content, rubric, written))
    return 0


def told(content: bytes, rubric: Rubric, written: list[str]) -> Iterator[str]:
    """Yield what is in an archive, a line each."""
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    yield f"{ARCHIVE}: {len(names)} files, {len(content) / 1024:,.0f} KB"
    yield f"SHA-256: {hashlib.sha256(content).hexdigest()}"
    yield f"Will be graded ({len(written)} of {len(rubric.problems)}): {', '.join(written)}"
    if left := [name for name in rubric.problems if name not in written]:
        yield f"No adapter is filled in for: {', '.join(left)}"
    papers = [name for name in names if name.endswith(".md")]
    yield f"Written answers and reports: {', '.join(papers) or 'no .md file beside the package'}"


def written_problems(rubric: Rubric) -> list[str]:
    """Return the problems of which an adapter is filled in.

    Raises:
        NotReadyError: there is none, or the adapters are no Python.
    """
    try:
        tree = ast.parse(ADAPTERS.read_bytes())
    except OSError as error:
        raise NotReadyError(f"There is no {ADAPTERS}: run this in your repository.") from error
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 0)
        raise NotReadyError(f"{ADAPTERS}, line {line}: {error}. Correct it first.") from error
    # Of two that bind a name, the later one counts, as when Python runs them.
    last = {name: node for node in tree.body for name in bound_by(node)}
    filled = {
        name
        for name, node in last.items()
        if not (isinstance(node, ast.FunctionDef) and is_stub(node))
    }
    written = [
        name for name, problem in rubric.problems.items() if not filled.isdisjoint(problem.adapters)
    ]
    if not written:
        raise NotReadyError(f"No function of {ADAPTERS} is filled in.")
    return written


def bound_by(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def files(rubric: Rubric) -> list[Path]:
    """Return what is handed in, in order.

    Raises:
        NotReadyError: the package is missing, or a file in it is no Python.
    """
    package = Path(rubric.package)
    if not package.is_dir():
        raise NotReadyError(f"There is no folder {package}: run this in your repository.")
    own = [path for path in package.rglob("*") if path.is_file() and is_handed_in(path)]
    for path in own:
        if path.suffix == ".py":
            try:
                ast.parse(path.read_bytes())
            except (SyntaxError, ValueError) as error:
                line = getattr(error, "lineno", 0)
                raise NotReadyError(f"{path}, line {line}: {error}. Correct it first.") from error
    beside = [path for pattern in BESIDE for path in Path().glob(pattern)]
    return sorted([*own, ADAPTERS, *(path for path in beside if path.name not in LEFT_OUT)])


def is_handed_in(path: Path) -> bool:
    """Return False for hidden files and what Python caches."""
    return not any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def packed(paths: list[Path]) -> bytes:
    """Return an archive of files.

    Raises:
        NotReadyError: they are too large together; the largest is named.
    """
    sizes = {path: path.stat().st_size for path in paths}
    if (total := sum(sizes.values())) > MAX_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise NotReadyError(
            f"The files have {total / 2**20:.0f} MB, and {MAX_BYTES / 2**20:.0f} MB are allowed. "
            f"The largest is {largest}: move data and checkpoints out of the package."
        )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.writestr(zipfile.ZipInfo(path.as_posix(), EPOCH), path.read_bytes())
    return made.getvalue()


if __name__ == "__main__":
    sys.exit(main())
