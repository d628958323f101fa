"""What a student's source defines and imports, read from its syntax tree; nothing is run."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass


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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        raise SourceError(f"{where}{error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"it cannot be parsed: {error or type(error).__name__}") from error


def defined_names(tree: ast.Module) -> dict[str, bool]:
    """The names a module defines at its top level, each with whether it is filled in."""
    names: dict[str, bool] = {}
    for node in top_level(tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names[node.name] = not is_stub(node)
            case ast.Assign():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        names[target.id] = True
            case ast.ImportFrom():
                for alias in node.names:
                    names[alias.asname or alias.name] = True
            case _:
                pass
    return names


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, with those inside its conditions and try blocks."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from top_level(node.body)
            yield from top_level(node.orelse)


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
