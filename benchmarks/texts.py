"""Text to measure with that needs no network: what installed Python packages say of themselves.

Docstrings are English, with some code in it; sources are code, with some English in it. The same
packages give the same text.
"""

import ast
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from cs336_basics.training.tokens import END_OF_TEXT

FOLDER = Path("data/benchmarks")


def docstrings() -> Iterator[str]:
    """Every docstring of the installed packages."""
    for source in sources():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what others' sources have that Python warns of
            try:
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError):
                continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""


def sources() -> Iterator[str]:
    """Every Python file of the installed packages."""
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*.py")):
        try:
            yield path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue


KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "docstrings": docstrings,
    "sources": sources,
}


def text_file(kind: str, size: int) -> Path:
    """A file of about so many bytes, or of fewer where there is no more; nothing comes twice."""
    path = FOLDER / f"{kind}-{size}.txt"
    if path.exists():
        return path
    seen: set[str] = set()
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = 0
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        for text in KINDS[kind]():
            if text in seen or not text:
                continue
            seen.add(text)
            written += file.write(f"{text}\n{END_OF_TEXT}\n")
            if written >= size:
                break
    unfinished.replace(path)
    return path
