"""What the names of a scope can stand for, as far as the source says it."""

import ast
import builtins
from dataclasses import dataclass

# A name of the submission's choosing could stand for more and more.
MAX_CANDIDATES = 16
BUILTINS = frozenset(dir(builtins))
IMPORTING = {"importlib.import_module", "importlib.__import__", "builtins.__import__"}


@dataclass(frozen=True, slots=True)
class Assigned:
    """What a name was assigned.

    Attributes:
        own: what the name itself is called elsewhere, unless the value turns out to be an alias.
    """

    value: ast.expr
    own: str | None


# A dotted name, a value, or something unknown.
Bound = str | Assigned | None


class Scope:
    """The names of a module, class or function, each with all that it is bound to.

    Args:
        parent: the scope around it; for a module's, None.
        classes: the submission's classes by their dotted names; calling one makes an instance,
            whose attributes are looked for in the class.
        is_class: whether it is the body of a class.

    Attributes:
        stars: the modules of which all names are imported.
    """

    def __init__(
        self, parent: "Scope | None", classes: set[str], *, is_class: bool = False
    ) -> None:
        self.parent = parent
        self.classes = classes
        self.is_class = is_class
        self.bound: dict[str, list[Bound]] = {}
        self.stars: list[str] = parent.stars if parent else []
        self.known: dict[str, list[str]] = {}

    def bind(self, name: str, value: Bound) -> None:
        """Note something that a name is bound to."""
        self.bound.setdefault(name, []).append(value)

    def owner(self, name: str) -> "Scope | None":
        """The scope that a name used in this one belongs to; functions do not see a class's."""
        scope: Scope | None = self
        while scope is not None and (name not in scope.bound or (scope.is_class and scope != self)):
            scope = scope.parent
        return scope

    def lookup(self, name: str) -> list[str]:
        """The dotted names that a name can stand for."""
        scope = self.owner(name)
        if scope is None:
            if name in BUILTINS:
                return [f"builtins.{name}"]
            return [f"{star}.{name}" for star in self.stars[:MAX_CANDIDATES]]
        if name not in scope.known:
            # A name that depends on itself adds nothing to what it stands for.
            scope.known[name] = []
            found = [one for value in scope.bound[name] for one in scope.names_of(value)]
            scope.known[name] = list(dict.fromkeys(found))[:MAX_CANDIDATES]
        return scope.known[name]

    def names_of(self, value: Bound) -> list[str]:
        """The dotted names that something bound stands for."""
        if isinstance(value, Assigned):
            return self.evaluate(value.value) or ([value.own] if value.own else [])
        return [] if value is None else [value]

    def evaluate(self, node: ast.expr, *, instances: bool = True) -> list[str]:
        """The dotted names that an expression can stand for; none where that is unknown.

        Args:
            node: the expression.
            instances: whether an instance of a class of the submission goes by the class's name.
        """
        match node:
            case ast.Name(id=name):
                return self.lookup(name)
            case ast.Attribute(value=value, attr=attribute):
                return [f"{held}.{attribute}" for held in self.evaluate(value)]
            case ast.NamedExpr(value=value):
                return self.evaluate(value, instances=instances)
            case ast.Subscript(value=value, slice=key):
                return self.subscript(value, constant_text(key))
            case ast.Call():
                found = self.constant_call(node)
                called = self.evaluate(node.func) if instances else []
                return found + [name for name in called if name in self.classes]
            case _:
                return []

    def subscript(self, value: ast.expr, key: str | None) -> list[str]:
        """What a constant key finds in a module's names, or in the table of modules."""
        found: list[str] = []
        for held in self.evaluate(value) if key else ():
            if held == "sys.modules":
                found.append(str(key))
            elif held.endswith(".__dict__"):
                found.append(f"{held.removesuffix('.__dict__')}.{key}")
        return found

    def constant_call(self, node: ast.Call) -> list[str]:
        """What a call that looks up a constant name returns."""
        found: list[str] = []
        texts = [constant_text(argument) for argument in node.args]
        for function in self.evaluate(node.func) if node.args else ():
            if function == "builtins.getattr" and texts[1:2] != [None]:
                found += [f"{held}.{texts[1]}" for held in self.evaluate(node.args[0])]
            elif function == "builtins.vars":
                found += [f"{held}.__dict__" for held in self.evaluate(node.args[0])]
            elif function in IMPORTING and texts[0]:
                top_only = function.endswith("__import__") and len(texts) + len(node.keywords) == 1
                found.append(texts[0].partition(".")[0] if top_only else texts[0])
        return found


def constant_text(node: ast.expr) -> str | None:
    """A text that is written out, in one piece or in several that are put together."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return joined([left, right])
        case ast.JoinedStr(values=values):
            return joined(values)
        case ast.FormattedValue(value=value):
            return constant_text(value)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=""), attr="join"),
            args=[ast.List(elts=values) | ast.Tuple(elts=values)],
        ):
            return joined(values)
        case _:
            return None


def joined(nodes: list[ast.expr]) -> str | None:
    """Pieces of text that are written out, as one; None if one of them is not."""
    texts = [constant_text(node) for node in nodes]
    return None if None in texts else "".join(map(str, texts))
