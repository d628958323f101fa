"""Decides what of the reference students get: what adapters call, and what signatures speak of.

Everything else in the reference is a part of its solution and stays behind. So do methods that are
called by the reference alone; ``forward``, ``step`` and what else a framework calls are called by
nobody, and come along. A class that no adapter calls is no base of one that comes along, and no
parameter that can be left out is about it.
"""

import ast
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cs336_checks.rubric import Assignment, Problem

from .sources import ADAPTERS, Place, Source, read_source, reference_sources

# What decorates a function without being a part of how it works.
STRUCTURE = {
    *("abstractmethod", "classmethod", "dataclass", "overload", "override", "property"),
    *("runtime_checkable", "setter", "staticmethod"),
}
# Every dict, list and set has these: a suite that calls one does not ask the student for it.
OF_CONTAINERS = frozenset(name for kind in (dict, list, set) for name in dir(kind))
# What torch calls of a module, whoever else does.
CALL = "forward"
# What a class is made of where its fields are all that there is to it.
FIELDS = {"dataclass", "Enum", "NamedTuple", "Protocol", "StrEnum", "TypedDict"}


@dataclass(slots=True)
class Outline:
    """What students get of some modules.

    Attributes:
        sources: the modules by file, the adapters among them.
        stubs: the definitions of each file that come without their bodies, each with what is
            raised in its place. A method is called as in "Linear.forward".
        whole: the definitions of each file that come as they are.
        aside: the classes that no adapter calls, as each file names them, with what stands in the
            place of one as a base.
        tasks: what is to be written for each problem, by file and name.
        beneath: what is to be written of problems that are not handed out, because handed-out
            problems are built on it.
    """

    sources: dict[str, Source]
    stubs: dict[str, dict[str, str]] = field(default_factory=dict)
    whole: dict[str, set[str]] = field(default_factory=dict)
    aside: dict[str, dict[str, str]] = field(default_factory=dict)
    tasks: dict[str, list[Place]] = field(default_factory=dict)
    beneath: list[Place] = field(default_factory=list)


def outline(assignment: Assignment, beneath: Mapping[str, Problem]) -> Outline:
    """The outline of an assignment's problems and of others that these are built on."""
    return Search(assignment, beneath).outline()


class Search:
    """The walk from the adapters through signatures.

    Args:
        assignment: has the problems that are handed out.
        beneath: the others that these are built on.

    Attributes:
        roots: the definitions that adapters call, by file and name.
        owners: the problem that each definition is first needed for.
    """

    def __init__(self, assignment: Assignment, beneath: Mapping[str, Problem]) -> None:
        self.assignment = assignment
        self.beneath = beneath
        self.problems = {**beneath, **assignment.rubric.problems}
        self.reference = reference_sources(assignment)
        self.modules = {source.module: source for source in self.reference.values()}
        self.adapters = read_source(assignment.folder, assignment.folder / ADAPTERS)
        suite = sorted((assignment.folder / "tests").glob("*.py"))
        self.asked_for = set().union(*map(attributes, map(parsed, suite))) - OF_CONTAINERS
        self.called = set().union(*(attributes(one.tree) for one in self.reference.values()))
        self.roots = {
            (source.file, name)
            for problem in self.problems.values()
            for adapter in problem.adapters
            for source, name in self.reached_by(adapter)
        }
        self.aside = {source.file: self.set_aside(source) for source in self.reference.values()}
        self.owners: dict[Place, str] = {}

    def outline(self) -> Outline:
        """Walk, and tell what was found."""
        found = Outline({**self.reference, self.adapters.file: self.adapters}, aside=self.aside)
        for problem_id, problem in self.problems.items():
            for adapter in problem.adapters:
                self.own(problem_id, self.reached_by(adapter))
        for source in self.reference.values():
            self.own("", ((source, name) for name in source.kept if "." not in name))
        for place, owner in self.owners.items():
            self.enter(found, place, owner)
            if place in self.roots and owner in self.beneath:
                found.beneath.append(place)
            elif place in self.roots:
                found.tasks.setdefault(owner, []).append(place)
        stubs = found.stubs[self.adapters.file] = {}
        for problem_id, problem in self.assignment.rubric.problems.items():
            for adapter in problem.adapters:
                stubs[adapter] = f"{problem_id}: {self.advice(problem_id, adapter)}"
        found.whole[self.adapters.file] = {
            name for name in self.adapters.kept if name not in self.assignment.adapter_names
        }
        return found

    def own(self, problem: str, places: Iterable[tuple[Source, str]]) -> None:
        """Note what a problem needs, and what the signatures of that speak of."""
        waiting = deque(places)
        while waiting:
            source, name = waiting.popleft()
            if (source.file, name) in self.owners:
                continue
            self.owners[source.file, name] = problem
            node = source.definitions[name]
            whole = name in source.kept
            mentions = (
                mentioned_names(node) if whole else self.mentions(node, self.aside[source.file])
            )
            for mentioned in mentions:
                waiting.extend(self.resolve(source, mentioned))

    def reached_by(self, adapter: str) -> list[tuple[Source, str]]:
        """What an adapter calls of the reference."""
        node = self.adapters.definitions.get(adapter)
        names = () if node is None else dict.fromkeys(mentioned_names(node))
        return [found for name in names for found in self.resolve(self.adapters, name)]

    def resolve(self, source: Source, name: str) -> Iterator[tuple[Source, str]]:
        """Where in the reference a name of a module is defined, if it is."""
        if name in source.definitions and source is not self.adapters:
            yield source, name
        elif name in source.imports:
            module, original = source.imports[name]
            if module in self.modules:
                yield from self.resolve(self.modules[module], original)

    def set_aside(self, source: Source) -> dict[str, str]:
        """The classes that no adapter calls, by the names that a module has for them."""
        return {
            name: ", ".join(self.outer_bases(place))
            for name in (*source.definitions, *source.imports)
            for place in self.resolve(source, name)
            if self.is_aside(place)
        }

    def is_aside(self, place: tuple[Source, str]) -> bool:
        """Whether this is a class that no adapter calls, and not known by its fields."""
        source, name = place
        node = source.definitions[name]
        called = (source.file, name) in self.roots or name in source.kept
        return isinstance(node, ast.ClassDef) and not called and not has_fields(node)

    def outer_bases(self, place: tuple[Source, str]) -> Iterator[str]:
        """The bases of a class, and of those that are set aside, theirs."""
        source, name = place
        node = source.definitions[name]
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            # A class may be called as its base in another module, which `module.Name` names.
            found = (one for one in self.resolve(source, last_name(base)) if one != place)
            inner = [one for one in found if self.is_aside(one)]
            if inner:
                yield from self.outer_bases(inner[0])
            else:
                yield ast.unparse(base)

    def mentions(self, node: ast.stmt, aside: Container[str]) -> Iterator[str]:
        """The names that what stays of a definition speaks of."""
        parts: list[ast.AST] = []
        if isinstance(node, ast.ClassDef):
            parts += (base for base in node.bases if last_name(base) not in aside)
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and self.stays(inner.name):
                    yield from self.mentions(inner, aside)
                elif has_fields(node) and isinstance(inner, ast.AnnAssign | ast.Assign):
                    parts.append(inner)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts += parameters(node.args, aside)
            parts += filter(None, [node.returns])
        else:
            parts.append(node)
        for part in parts:
            yield from mentioned_names(part)

    def stays(self, method: str) -> bool:
        """Whether a method is asked for, and no part of how the reference does it."""
        if method.startswith("_"):
            return method.endswith("__")
        return method == CALL or method in self.asked_for or method not in self.called

    def enter(self, found: Outline, place: Place, problem: str) -> None:
        """Put a definition into the outline, a class with its methods."""
        file, name = place
        source = self.reference[file]
        if name in source.kept:
            found.whole.setdefault(file, set()).add(name)
            return
        stubs = found.stubs.setdefault(file, {})
        prefix = f"{problem}: " if problem else ""
        stubs[name] = f"{prefix}{name} in {file} is not written yet"
        node = source.definitions[name]
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            full = f"{name}.{getattr(inner, 'name', '')}"
            if full in source.kept:
                found.whole.setdefault(file, set()).add(full)
            elif isinstance(inner, ast.FunctionDef) and self.stays(inner.name):
                stubs[full] = f"{prefix}{full} in {file} is not written yet"

    def advice(self, problem: str, adapter: str) -> str:
        """What to do for an adapter: what to write where, and to call it."""
        places = [(source.file, name) for source, name in self.reached_by(adapter)]
        own = [place for place in places if self.owners[place] == problem] or places
        by_file: dict[str, list[str]] = {}
        for file, name in own:
            by_file.setdefault(file, []).append(name)
        if not by_file:
            return f"write {adapter} in {ADAPTERS.as_posix()}"
        parts = [f"{' and '.join(names)} in {file}" for file, names in by_file.items()]
        call = "it" if len(own) == 1 else "them"
        return f"write {', '.join(parts)}, then call {call} in {adapter} of {ADAPTERS.as_posix()}"


def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_bytes(), filename=path.name)


def attributes(tree: ast.AST) -> set[str]:
    """All names that stand after a dot, but for those of a class above."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and not (isinstance(node.value, ast.Call) and last_name(node.value) == "super")
    }


def parameters(arguments: ast.arguments, aside: Container[str]) -> Iterator[ast.AST]:
    """The annotations and defaults of a function's parameters that stay."""
    ordered = [*arguments.posonlyargs, *arguments.args]
    missing = len(ordered) - len(arguments.defaults)
    defaults = [*[None] * missing, *arguments.defaults, *arguments.kw_defaults]
    for one, default in zip([*ordered, *arguments.kwonlyargs], defaults, strict=True):
        spoken_of = () if one.annotation is None else mentioned_names(one.annotation)
        if default is None or not any(name in aside for name in spoken_of):
            yield from filter(None, (one.annotation, default))
    for rest in filter(None, (arguments.vararg, arguments.kwarg)):
        yield from filter(None, [rest.annotation])


def mentioned_names(tree: ast.AST) -> Iterator[str]:
    """All names, those in quoted annotations too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and str(node.value).isidentifier():
            yield str(node.value)


def last_name(node: ast.AST) -> str:
    """What a decorator or base is called, without what it is an attribute of or called with."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "attr", getattr(node, "id", ""))


def has_fields(node: ast.ClassDef) -> bool:
    """Whether a class is known by its fields."""
    return not FIELDS.isdisjoint(map(last_name, (*node.decorator_list, *node.bases)))
