"""Reads the reference and its adapters, as source; nothing of them is run."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cs336_checks.rubric import Assignment

ADAPTERS = Path("tests", "adapters.py")
# On the line of a definition: it comes as it is, with its body.
KEEP = "# keep"

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """A module.

    Attributes:
        file: relative to the assignment's folder, with forward slashes.
        module: its dotted name.
        definitions: functions, classes and variables of the module, by name.
        imports: what it imports from modules, each with the module and its name there.
        kept: the definitions that are marked to come as they are, methods as in "Linear.forward".
    """

    file: str
    module: str
    text: str
    tree: ast.Module
    definitions: dict[str, ast.stmt]
    imports: dict[str, tuple[str, str]]
    kept: frozenset[str]


def reference_sources(assignment: Assignment) -> dict[str, Source]:
    """The modules of the reference, by file."""
    folder = assignment.folder / assignment.rubric.package
    sources = (read_source(assignment.folder, path) for path in sorted(folder.rglob("*.py")))
    return {source.file: source for source in sources}


def read_source(folder: Path, path: Path) -> Source:
    """Read a module of an assignment's folder."""
    file = path.relative_to(folder)
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, filename=file.as_posix())
    parts = file.with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    package = parts[:-1]
    imports = {
        alias.asname or alias.name: (absolute(node, package), alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    definitions = {name: node for node in tree.body for name in names_of(node)}
    kept = frozenset(marked(tree, kept_lines(text)))
    return Source(file.as_posix(), module, text, tree, definitions, imports, kept)


def absolute(node: ast.ImportFrom, package: tuple[str, ...]) -> str:
    """The dotted name of the module that something is imported from."""
    if not node.level:
        return node.module or ""
    base = package[: len(package) - node.level + 1]
    return ".".join((*base, *filter(None, [node.module])))


def names_of(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module or class defines."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Assign():
            for target in node.targets:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def kept_lines(text: str) -> set[int]:
    """The lines that end with the mark."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and token.string == KEEP
    }


def marked(tree: ast.Module, lines: set[int]) -> Iterator[str]:
    """The definitions whose header has the mark."""
    for node in tree.body:
        if lines.intersection(header(node)):
            yield from names_of(node)
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if lines.intersection(header(inner)):
                    yield from (f"{node.name}.{name}" for name in names_of(inner))


def header(node: ast.stmt) -> range:
    """The lines before a definition's body, or all of a statement that has none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return range(node.lineno, max(node.body[0].lineno, node.lineno + 1))
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
