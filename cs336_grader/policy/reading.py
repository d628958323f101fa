"""Reads what each function, class and variable of a module mentions."""

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cs336_grader.parsing import children

from .bindings import Function, parameters
from .dynamic import ANY_OBJECT, INSIDES
from .program import Definition, How, Mention, Module, Program
from .scopes import Scope

# They look at what something is or has, and use nothing of it.
LOOKING = {
    "builtins.hasattr",
    "builtins.isinstance",
    "builtins.issubclass",
    "typing.cast",
    "typing.TypeVar",
}
TYPES_AS_WRITTEN = (ast.Name, ast.Attribute, ast.Tuple, ast.BinOp)
TYPE_NAMES = ("typing.", "jaxtyping.", "collections.abc.", "numpy.typing.")
GENERIC = {f"builtins.{name}" for name in ("dict", "list", "set", "tuple", "type", "frozenset")}


def read(program: Program) -> None:
    """Fill in a program's definitions; what is nested too deep to be read is noted."""
    for module in program.by_file.values():
        try:
            Reader(program, module).read()
        except RecursionError:
            program.unread.append(module.file)


class Reader(ast.NodeVisitor):
    """Walks through one module.

    Attributes:
        current: the definition that is being read.
        conditions: how many conditions what is being read depends on.
    """

    def __init__(self, program: Program, module: Module) -> None:
        self.program = program
        self.module = module
        self.scope = module.scope
        self.current = self.begin(module.name, module.tree)
        self.in_class = ""
        self.in_function = False
        self.conditions = 0

    def read(self) -> None:
        """Read all of the module."""
        self.block(self.module.tree.body)

    def begin(self, name: str, node: ast.AST) -> Definition:
        """The definition of a name, which may be written in several places."""
        first = getattr(node, "lineno", 1)
        lines = (first, getattr(node, "end_lineno", 10**9))
        new = Definition(name, self.module.file, lines)
        return self.program.definitions.setdefault(name, new)

    @contextmanager
    def inside(self, definition: Definition | None, scope: Scope) -> Iterator[None]:
        """Read what follows as part of a definition, with the names of a scope."""
        before = (self.current, self.scope, self.in_class, self.in_function, self.conditions)
        self.current, self.scope = definition or self.current, scope
        self.conditions = 0 if definition else self.conditions
        yield
        self.current, self.scope, self.in_class, self.in_function, self.conditions = before

    @contextmanager
    def conditional(self, condition: bool = True) -> Iterator[None]:
        """Read something that may be left out."""
        self.conditions += condition
        yield
        self.conditions -= condition

    def block(self, statements: Iterable[ast.AST]) -> None:
        """Read statements; those after one that may leave the block may be left out."""
        before = self.conditions
        for statement in statements:
            self.visit(statement)
            if isinstance(statement, ast.If) and leaves(statement):
                self.conditions += 1
        self.conditions = before

    def generic_visit(self, node: ast.AST) -> None:
        """Read what is below a node."""
        for child in children(node):
            self.visit(child)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A constant mentions nothing."""

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        """Read several nodes."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    # What is defined

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function or method; one within a function is part of that."""
        definition = None
        if not self.in_function:
            if self.in_class:
                self.current.methods.append(node.name)
            definition = self.begin(f"{self.in_class or self.module.name}.{node.name}", node)
        with self.inside(definition, self.scope):
            self.visit_all(node.decorator_list)
            self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        scope = self.function_scope(node, node.body)
        with self.inside(definition, scope):
            self.in_function = True
            self.block(node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """The same."""
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A function without a name: part of where it stands."""
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        with self.inside(None, self.function_scope(node, [])):
            self.in_function = True
            self.visit(node.body)

    def function_scope(self, node: Function, body: Iterable[ast.AST]) -> Scope:
        """The names of a function; the first parameter of a method is an instance of its class."""
        scope = Scope(self.scope, self.scope.classes)
        names = parameters(node)
        for name in names:
            scope.bind(name, None)
        if names and self.in_class and not self.in_function:
            scope.bound[names[0]] = [self.in_class]
        self.module.binder(scope, None, variables=False).bind_all(body)
        return scope

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class; one within a function is part of that."""
        name = f"{self.in_class or self.module.name}.{node.name}"
        definition = None if self.in_function else self.begin(name, node)
        scope = Scope(self.scope, self.scope.classes, is_class=True)
        self.module.binder(scope, None, variables=False).bind_all(node.body)
        with self.inside(definition, self.scope):
            self.visit_all(node.decorator_list)
            self.visit_all(keyword.value for keyword in node.keywords)
            for parent in node.bases:
                if not self.mention(parent, How.INHERITED):
                    self.visit(parent)
        with self.inside(definition, scope):
            self.in_class = "" if self.in_function else name
            self.block(node.body)

    def visit_Assign(self, node: ast.Assign) -> None:
        """An assignment: at the top of a module, a definition of a variable."""
        self.visit_all(target for target in node.targets if not isinstance(target, ast.Name))
        self.assigned(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """An assignment with an annotation, which is left out."""
        if node.value is not None:
            self.assigned([node.target], node.value)

    def assigned(self, targets: list[ast.expr], value: ast.expr) -> None:
        """Read an assigned value, unless it only gives something another name."""
        match targets, value:
            case ([ast.Tuple(elts=pieces)], ast.Tuple(elts=values)) if len(pieces) == len(values):
                for piece, part in zip(pieces, values, strict=True):
                    self.assigned([piece], part)
                return
            case _:
                pass
        names = [target for target in targets if isinstance(target, ast.Name)]
        if names and self.scope.evaluate(value, instances=False):
            return
        at_top = self.scope is self.module.scope and len(names) == len(targets) == 1
        definition = self.begin(f"{self.module.name}.{names[0].id}", value) if at_top else None
        with self.inside(definition, self.scope):
            self.visit(value)

    # What may be left out

    def visit_If(self, node: ast.If) -> None:
        """Either branch may be left out; what only runs as a program is."""
        test = ast.unparse(node.test)
        if "__name__" in test or test.endswith("TYPE_CHECKING"):
            self.block(node.orelse)
            return
        self.visit(node.test)
        with self.conditional():
            self.block(node.body)
            self.block(node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Either value may be left out."""
        self.visit(node.test)
        with self.conditional():
            self.visit_all([node.body, node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """All but the first may be left out."""
        self.visit(node.values[0])
        with self.conditional():
            self.visit_all(node.values[1:])

    def visit_Try(self, node: ast.Try) -> None:
        """Handlers may be left out."""
        self.block(node.body)
        with self.conditional():
            for handler in node.handlers:
                self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def visit_Match(self, node: ast.Match) -> None:
        """Each case may be left out; its pattern looks at a type."""
        self.visit(node.subject)
        with self.conditional():
            for case in node.cases:
                self.visit_all([case.guard])
                self.block(case.body)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Of a table of choices, each may be left out."""
        with self.conditional(len(node.values) > 1):
            self.visit_all([*node.keys, *node.values])

    # What is mentioned

    def visit_Compare(self, node: ast.Compare) -> None:
        """A comparison uses nothing of the types that it compares."""
        for side in (node.left, *node.comparators):
            if not isinstance(side, ast.Name | ast.Attribute):
                self.visit(side)

    def visit_Import(self, node: ast.Import) -> None:
        """An import is no use."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """An import is no use."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """A type with parameters uses nothing of them."""
        names = self.scope.evaluate(node.value)
        if any(name in GENERIC or name.startswith(TYPE_NAMES) for name in names):
            return
        if not self.mention(node, How.NAMED):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A call: of a name, or of an attribute of something unknown."""
        names = self.scope.evaluate(node.func)
        if LOOKING.intersection(names):
            self.visit_all(arg for arg in node.args if not isinstance(arg, TYPES_AS_WRITTEN))
            return
        if self.looks_up(node):
            self.mention(node, How.NAMED)
            return
        if not (unpacks_a_file(names, node) or self.mention(node.func, How.CALLED)):
            self.visit(node.func)
        if "builtins.getattr" in names and node.args:
            self.mention(node.args[0], How.COMPUTED)
            self.visit_all(node.args[1:])
        else:
            self.visit_all(node.args)
        self.visit_all(keyword.value for keyword in node.keywords)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A name with dots, or an attribute of something unknown."""
        if not self.mention(node, How.NAMED):
            self.current.attributes.add(node.attr)
            if node.attr in INSIDES:
                self.note(f"{ANY_OBJECT}.{node.attr}", node, How.NAMED)
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        """A plain name."""
        if isinstance(node.ctx, ast.Load):
            self.mention(node, How.NAMED)

    def mention(self, node: ast.expr, how: How) -> bool:
        """Note what an expression stands for, and say whether that is known."""
        names = self.scope.evaluate(node)
        for name in names:
            self.note(name, node, how, ambiguous=len(names) > 1)
        inner = node
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if names and isinstance(inner, ast.Call) and not self.looks_up(inner):
            self.visit(inner)
        return bool(names)

    def note(self, name: str, node: ast.expr, how: How, *, ambiguous: bool = False) -> None:
        """Note that the current definition mentions a name."""
        conditional = ambiguous or self.conditions > 0
        self.current.mentions.append(Mention(name, node.lineno, how, conditional))

    def looks_up(self, node: ast.Call) -> bool:
        """Whether a call only looks up a name that is written out."""
        return bool(self.scope.evaluate(node, instances=False))


def unpacks_a_file(names: list[str], call: ast.Call) -> bool:
    """Whether a call reads objects from a file, as a cache does, and not from the source."""
    match call.args:
        case [ast.Call(func=ast.Attribute(attr="read"))]:
            return "pickle.loads" in names
        case _:
            return False


def leaves(statement: ast.If) -> bool:
    """Whether a branch ends what is around it; one that raises refuses, and is no choice."""
    ends = ast.Return | ast.Continue | ast.Break
    return any(
        block and isinstance(block[-1], ends) for block in (statement.body, statement.orelse)
    )
