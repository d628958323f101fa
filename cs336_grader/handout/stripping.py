"""Takes the solution out of a module: signatures and docstrings stay, bodies go."""

import ast
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import libcst as cst

from .outline import FIELDS, STRUCTURE
from .unused_imports import without_unused_imports

WIDTH = 100
# A comment that begins so comes along, without the mark.
KEPT_COMMENT = re.compile(r"# keep: ?")

Definition = cst.FunctionDef | cst.ClassDef


def stripped(
    text: str,
    stubs: Mapping[str, str],
    whole: Collection[str] = (),
    aside: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """What students get of a module.

    Args:
        text: its source.
        stubs: the definitions that lose their bodies, each with what is raised in its place.
        whole: the definitions that stay as they are. All others go, and so do comments, and
            imports that nothing needs any more.
        aside: classes that are no base of anything, each with what stands in its place, and of
            which no parameter with a default may be.
    """
    module = cst.parse_module(text)
    stripper = Stripper(stubs, whole, aside)
    body = list(spaced((node, stripper.statement(node)) for node in module.body))
    bare = module.with_changes(
        body=body, header=marked_lines(module.header), footer=marked_lines(module.footer)
    )
    return without_unused_imports(bare).code


def spaced(
    statements: Iterable[tuple[cst.BaseStatement, cst.BaseStatement | None]],
) -> Iterator[cst.BaseStatement]:
    """What stays of some statements, with the blank line above the first of a group that goes."""
    above: Sequence[cst.EmptyLine] = ()
    for whole, left in statements:
        if left is None:
            if isinstance(whole, cst.SimpleStatementLine):
                above = above or marked_lines(whole.leading_lines)
            continue
        if isinstance(left, cst.SimpleStatementLine) and not left.leading_lines:
            yield left.with_changes(leading_lines=above)
        else:
            yield left
        above = ()


def is_worth_having(text: str) -> bool:
    """Whether a module defines anything."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
    return any(isinstance(node, kinds) for node in ast.parse(text).body)


class Stripper:
    """Strips one statement after the other, and those of a class within it."""

    def __init__(
        self, stubs: Mapping[str, str], whole: Collection[str], aside: Mapping[str, str]
    ) -> None:
        self.stubs = stubs
        self.whole = whole
        self.aside = aside

    def statement(
        self, node: cst.BaseStatement, owner: str = "", *, fields: bool = False
    ) -> cst.BaseStatement | None:
        """What stays of a statement of the module or of a class.

        Args:
            node: the statement.
            owner: the class it stands in, with a dot, or nothing.
            fields: whether that class is known by its fields.
        """
        if isinstance(node, Definition):
            name = owner + node.name.value
            if name in self.whole:
                return unmarked(node)
            return self.definition(node, name) if name in self.stubs else None
        if not isinstance(node, cst.SimpleStatementLine):
            return None
        names = {owner + name for name in assigned(node)}
        if names and (
            fields or not names.isdisjoint(self.stubs) or not names.isdisjoint(self.whole)
        ):
            node = node.with_changes(trailing_whitespace=cst.TrailingWhitespace())
        elif not is_text(node) and not isinstance(node.body[0], cst.Import | cst.ImportFrom):
            return None
        return node.with_changes(leading_lines=marked_lines(node.leading_lines))

    def definition(self, node: Definition, name: str) -> Definition:
        """A function that only raises, or a class of such methods."""
        if isinstance(node, cst.FunctionDef):
            body: cst.BaseSuite = self.stub(node.body, self.stubs[name], depth=1 + name.count("."))
        else:
            parts = (one.decorator for one in node.decorators)
            bases = (one.value for one in node.bases)
            fields = any(named(part, FIELDS) for part in (*parts, *bases))
            inner = [
                one
                for statement in node.body.body
                if isinstance(statement, cst.BaseStatement)
                and (one := self.statement(statement, f"{name}.", fields=fields)) is not None
            ]
            body = cst.IndentedBlock(inner or [cst.parse_statement("pass")])
        bare = node.with_changes(
            decorators=[one for one in node.decorators if named(one.decorator, STRUCTURE)],
            lines_after_decorators=[],
            leading_lines=marked_lines(node.leading_lines),
            body=cst.SimpleStatementSuite([]),
        ).visit(WithoutRemarks())
        if isinstance(bare, cst.FunctionDef):
            return bare.with_changes(body=body, params=self.parameters(bare.params))
        bare = cst.ensure_type(bare, cst.ClassDef)
        return bare.with_changes(body=body, bases=self.bases(bare))

    def bases(self, node: cst.ClassDef) -> list[cst.Arg]:
        """The bases of a class, without those that are set aside."""
        found: list[cst.Arg] = []
        for base in node.bases:
            if isinstance(base.value, cst.Name) and base.value.value in self.aside:
                outer = filter(None, self.aside[base.value.value].split(", "))
                found += (cst.Arg(cst.parse_expression(one)) for one in outer)
            else:
                found.append(base.with_changes(comma=cst.MaybeSentinel.DEFAULT))
        return found

    def parameters(self, given: cst.Parameters) -> cst.Parameters:
        """A function's parameters, without those of what is set aside."""
        params, keywords = map(self.remaining, (given.params, given.kwonly_params))
        star = given.star_arg
        if isinstance(star, cst.ParamStar) and not keywords:
            star = cst.MaybeSentinel.DEFAULT
        return given.with_changes(params=params, kwonly_params=keywords, star_arg=star)

    def remaining(self, params: Sequence[cst.Param]) -> Sequence[cst.Param]:
        """Those of some parameters that stay; the comma of the last one fits what follows."""
        kept = [
            one
            for one in params
            if one.default is None or one.annotation is None or not self.is_aside(one.annotation)
        ]
        if len(kept) == len(params) or not kept:
            return kept
        return [*kept[:-1], kept[-1].with_changes(comma=params[-1].comma)]

    def is_aside(self, annotation: cst.Annotation) -> bool:
        """Whether an annotation speaks of what is set aside."""
        code = cst.Module([]).code_for_node(annotation.annotation)
        return not self.aside.keys().isdisjoint(re.findall(r"\w+", code))

    def stub(self, body: cst.BaseSuite, message: str, depth: int) -> cst.BaseSuite:
        """A body of a docstring, marked comments, and what is raised; one of `...` stays."""
        if isinstance(body, cst.IndentedBlock):
            first, *rest = body.body
            text = [first] if is_text(first) else []
            if not [one for one in (rest if text else body.body) if not is_nothing(one)]:
                return body
        else:
            text = []
            if is_nothing(body):
                return body
        comments = [cst.EmptyLine(comment=cst.Comment(f"# {one}")) for one in marked_comments(body)]
        raised = cst.parse_statement(raising(message, depth))
        return cst.IndentedBlock([*text, raised.with_changes(leading_lines=comments)])


class WithoutRemarks(cst.CSTTransformer):
    """Leaves out the comments at the ends of a signature's lines."""

    def leave_TrailingWhitespace(  # noqa: N802 (libcst's name)
        self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
    ) -> cst.TrailingWhitespace:
        """The end of a line without its comment."""
        return updated_node if original_node.comment is None else cst.TrailingWhitespace()


def raising(message: str, depth: int) -> str:
    """The statement that raises, wrapped to the width of a line."""
    line = f'raise NotImplementedError("{message}")'
    if len(line) + 4 * depth <= WIDTH:
        return line
    width = WIDTH - 4 * (depth + 1) - len('" "')
    parts = textwrap.wrap(message, width, break_long_words=False)
    literals = [f'"{part}"' if index == 0 else f'" {part}"' for index, part in enumerate(parts)]
    return "\n".join(("raise NotImplementedError(", *(f"    {one}" for one in literals), ")"))


def marked_comments(tree: cst.CSTNode) -> list[str]:
    """The comments within that are marked to come along, without the mark."""
    found: list[str] = []

    class Comments(cst.CSTVisitor):
        def visit_Comment(self, node: cst.Comment) -> None:  # noqa: N802 (libcst's name)
            if KEPT_COMMENT.match(node.value):
                found.append(KEPT_COMMENT.sub("", node.value))

    tree.visit(Comments())
    return found


def marked_lines(lines: Iterable[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Blank lines and marked comments."""
    return [
        line
        if line.comment is None
        else line.with_changes(comment=cst.Comment(KEPT_COMMENT.sub("# ", line.comment.value)))
        for line in lines
        if line.comment is None or KEPT_COMMENT.match(line.comment.value)
    ]


def unmarked(node: Definition) -> cst.BaseStatement:
    """A definition without the mark that keeps it."""
    text = cst.Module([node]).code
    return cst.parse_statement(re.sub(r"[ \t]*# keep$", "", text, count=1, flags=re.MULTILINE))


def named(expression: cst.BaseExpression, names: Collection[str]) -> bool:
    """Whether a decorator or base is one of these."""
    while isinstance(expression, cst.Call | cst.Subscript):
        expression = expression.func if isinstance(expression, cst.Call) else expression.value
    last = expression.attr if isinstance(expression, cst.Attribute) else expression
    return isinstance(last, cst.Name) and last.value in names


def is_text(node: cst.CSTNode) -> bool:
    """Whether a statement is a docstring."""
    return (
        isinstance(node, cst.SimpleStatementLine)
        and isinstance(node.body[0], cst.Expr)
        and isinstance(node.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )


def is_nothing(node: cst.CSTNode) -> bool:
    """Whether a statement, or a body on the line of its header, is `...` or `pass`."""
    if not isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return False
    return all(
        isinstance(one, cst.Pass)
        or (isinstance(one, cst.Expr) and isinstance(one.value, cst.Ellipsis))
        for one in node.body
    )


def assigned(node: cst.SimpleStatementLine) -> list[str]:
    """The names that a line assigns or declares."""
    match node.body[0]:
        case cst.Assign(targets=targets):
            return [one.target.value for one in targets if isinstance(one.target, cst.Name)]
        case cst.AnnAssign(target=cst.Name(value=name)):
            return [name]
    return []
