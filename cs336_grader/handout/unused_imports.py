"""Leaves out the imports that a module has no use for any more."""

import ast
import re
from collections.abc import Collection, Sequence

import libcst as cst

LINE_LENGTH = 100


def without_unused_imports(module: cst.Module) -> cst.Module:
    """The module, importing only what it still names."""
    tree = ast.parse(module.code)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            used.update(re.findall(r"\w+", node.value) if node.value.isidentifier() else ())
    body: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    above: Sequence[cst.EmptyLine] = ()
    for whole in module.body:
        statement = whole
        if isinstance(statement, cst.SimpleStatementLine):
            first = statement.body[0]
            if isinstance(first, cst.Import | cst.ImportFrom):
                kept = kept_import(first, used)
                # The blank line above the first of a group goes to the next one.
                above = statement.leading_lines or above
                if kept is None:
                    continue
                statement = statement.with_changes(body=[kept], leading_lines=above)
                above = ()
        body.append(statement)
    return module.with_changes(body=body)


def kept_import(
    node: cst.Import | cst.ImportFrom, used: Collection[str]
) -> cst.Import | cst.ImportFrom | None:
    """An import of the names that are used, or none."""
    if isinstance(node.names, cst.ImportStar) or (
        isinstance(node, cst.ImportFrom) and is_future(node)
    ):
        return node
    kept: Sequence[cst.ImportAlias] = [
        alias for alias in node.names if local_name(alias).partition(".")[0] in used
    ]
    if len(kept) == len(node.names):
        return node
    if not kept:
        return None
    names = [alias.with_changes(comma=cst.MaybeSentinel.DEFAULT) for alias in kept]
    if isinstance(node, cst.Import):
        return node.with_changes(names=names)
    line = node.with_changes(names=names, lpar=None, rpar=None)
    if len(cst.Module([]).code_for_node(line)) <= LINE_LENGTH:
        return line
    return node.with_changes(names=[*kept[:-1], names[-1]])


def is_future(node: cst.ImportFrom) -> bool:
    """Whether an import changes how the module is read."""
    return isinstance(node.module, cst.Name) and node.module.value == "__future__"


def local_name(alias: cst.ImportAlias) -> str:
    """What an imported name is called here."""
    return str(alias.evaluated_alias or alias.evaluated_name)
