"""Finds what a body of code binds names to."""

import ast
from collections.abc import Iterable

from cs336_grader.parsing import children

from .scopes import Assigned, Scope

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
BINDING = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.NamedExpr,
    ast.Name,
    ast.ExceptHandler,
    ast.MatchAs,
)


class Binder:
    """Binds the names of one scope.

    Args:
        scope: takes the names.
        module: the dotted name of the module.
        is_package: whether that module is a package's ``__init__``.
        prefix: what the names of functions and classes defined here begin with; None where they
            are part of a function, and known by no name elsewhere.
        variables: whether variables are known elsewhere by such a name, too.
    """

    def __init__(
        self, scope: Scope, module: str, *, is_package: bool, prefix: str | None, variables: bool
    ) -> None:
        self.scope = scope
        self.module = module
        self.is_package = is_package
        self.prefix = prefix
        self.variables = variables

    def bind_all(self, nodes: Iterable[ast.AST]) -> None:
        """Bind what these statements bind, wherever in them, but for nested functions."""
        found = list(nodes)
        for node in found:
            if isinstance(node, BINDING):
                self.bind(node)
            if not isinstance(node, NESTED):
                found += children(node)

    def bind(self, node: ast.AST) -> None:
        """Bind what one node binds."""
        match node:
            case ast.Import() | ast.ImportFrom():
                self.bind_import(node)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.scope.bind(name, self.own(name))
            case ast.ClassDef(name=name):
                self.scope.bind(name, self.own(name))
                if self.prefix:
                    self.scope.classes.add(f"{self.prefix}.{name}")
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.assign(target, value)
            case ast.AnnAssign() | ast.NamedExpr() if node.value is not None:
                self.assign(node.target, node.value)
            case ast.Name(id=name, ctx=ast.Store()) if name not in self.scope.bound:
                self.scope.bind(name, self.own(name) if self.variables else None)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                self.scope.bind(name, None)
            case _:
                pass

    def own(self, name: str) -> str | None:
        """What something defined here is called elsewhere."""
        return f"{self.prefix}.{name}" if self.prefix else None

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Bind what an assignment binds; a tuple piece by piece where it is written out."""
        match target, value:
            case ast.Name(id=name), _:
                self.scope.bind(name, Assigned(value, self.own(name) if self.variables else None))
            case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(values):
                for one, other in zip(targets, values, strict=True):
                    self.assign(one, other)
            case _:
                pass

    def bind_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Bind what is imported."""
        for alias in node.names:
            if isinstance(node, ast.Import):
                top = alias.name.partition(".")[0]
                self.scope.bind(alias.asname or top, alias.name if alias.asname else top)
            elif alias.name == "*":
                self.scope.stars.append(self.source(node))
            else:
                name = f"{self.source(node)}.{alias.name}".lstrip(".")
                self.scope.bind(alias.asname or alias.name, name)

    def source(self, node: ast.ImportFrom) -> str:
        """The module that is imported from, in full."""
        if not node.level:
            return node.module or ""
        parts = self.module.split(".")
        kept = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*kept, *([node.module] if node.module else [])])


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters, in order."""
    given = function.args
    plain = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [one.arg for one in [*plain, *rest]]
