"""What a student's source defines and imports, read from its syntax tree; nothing is run."""

import ast
import time
from collections.abc import Iterator
from dataclasses import dataclass

from cs336_checks.tracks import is_stub
from cs336_grader.parsing import children
from cs336_grader.records import CouldNotJudgeError

# An ordinary submission is parsed in a tenth of a second; a hostile file can take many.
MAX_PARSING_SECONDS = 60


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
                pending += reversed(list(children(node)))
    return names


def imports(tree: ast.Module) -> Iterator[Import]:
    """All that a module imports, wherever in it the statement stands."""
    found: list[ast.AST] = [tree]
    for node in found:
        found += children(node)
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
