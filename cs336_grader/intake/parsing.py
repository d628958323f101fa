"""What a student's source defines and imports, read from its syntax tree; nothing is run."""

import ast
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from cs336_grader.records import CouldNotJudgeError

# Parsing can take a thousand times the memory; no module that a person wrote is as long.
MAX_SOURCE_BYTES = 2**18
# An ordinary submission is parsed in a tenth of a second; a hostile file can take many.
MAX_PARSING_SECONDS = 60
CONFLICT = re.compile(rb"^(?:<{7} |={7}\r?$|>{7} )", re.MULTILINE)
# Python keeps each beginning of a dotted name that is imported: 130,000 parts take 17 GB.
MAX_DOTTED_PARTS = 5000
DOTTED_PART = re.compile(rb"\.[\s\\]*[^\s\\.,]+[\s\\]*")
ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Patience:
    """The time in which all of a submission must be parsed.

    Args:
        name: the submission's name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.end = time.process_time() + MAX_PARSING_SECONDS

    def check(self) -> None:
        """Go on, if there is time left.

        Raises:
            CouldNotJudgeError: there is none.
        """
        if time.process_time() > self.end:
            raise CouldNotJudgeError(f"{self.name} holds source code that takes too long to parse")


class SourceError(Exception):
    """A source file is no Python; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name.

    Attributes:
        level: 0 if absolute, else the number of leading dots.
        parts: module and name, as in ("cs336_basics", "model", "Linear"); the last parts may
            name something within a module.
    """

    level: int
    parts: tuple[str, ...]


def parse(source: bytes) -> ast.Module:
    """The syntax tree of a source file.

    Raises:
        SourceError: it is no Python.
    """
    if len(source) > MAX_SOURCE_BYTES:
        raise SourceError(f"it has more than {MAX_SOURCE_BYTES // 2**10} KB and was not read")
    if (encoding := ENCODINGS.get(source[:2])) is not None:
        raise SourceError(f"it is in {encoding}, which Python does not read; save it as UTF-8")
    if has_endless_name(source):
        raise SourceError(f"it has a name of more than {MAX_DOTTED_PARTS:,} parts")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        raise SourceError(place_and_fault(source, error)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"it cannot be parsed: {error or type(error).__name__}") from error


def has_endless_name(source: bytes) -> bool:
    """Whether a dotted name has more parts than any that is meant."""
    parts, end = 0, -1
    for part in DOTTED_PART.finditer(source):
        parts = parts + 1 if part.start() == end else 1
        end = part.end()
        if parts > MAX_DOTTED_PARTS:
            return True
    return False


def place_and_fault(source: bytes, error: SyntaxError) -> str:
    """The line of a syntax error, and what is wrong there."""
    conflict = CONFLICT.search(source)
    if conflict is not None:
        line = source.count(b"\n", 0, conflict.start()) + 1
        return f"line {line}: a merge conflict is not resolved"
    return f"line {error.lineno}: {error.msg}" if error.lineno else error.msg


def text_of(source: bytes) -> str:
    """The text of a source file, whatever its encoding."""
    return source.decode(ENCODINGS.get(source[:2], "utf-8"), "replace")


def defined_names(tree: ast.Module) -> dict[str, bool]:
    """The names a module binds at its top level, each with whether it is filled in.

    An import of everything binds "*".
    """
    names: dict[str, bool] = {}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names[node.name] = not is_stub(node)
            case ast.ClassDef():
                names[node.name] = True
            case ast.alias():
                names[node.asname or node.name] = True
            case ast.Name(ctx=ast.Store()):
                names[node.id] = True
            case (
                ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
            ):
                pass
            case _:
                pending += reversed(list(ast.iter_child_nodes(node)))
    return names


def is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function does nothing but raise NotImplementedError or pass."""
    for node in function.body:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                continue
            case ast.Raise(exc=ast.Name(id="NotImplementedError")):
                return True
            case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
                return True
            case _:
                return False
    return True


def imports(tree: ast.Module) -> Iterator[Import]:
    """All that a module imports, wherever in it the statement stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(0, tuple(alias.name.split(".")))
            case ast.ImportFrom():
                module = tuple(node.module.split(".")) if node.module else ()
                for alias in node.names:
                    yield Import(node.level, (*module, alias.name))
            case ast.Call(
                func=ast.Attribute(attr="import_module")
                | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ) if all(part.isidentifier() for part in name.split(".")):
                yield Import(0, tuple(name.split(".")))
            case _:
                pass
