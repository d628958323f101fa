"""The source of a submission as data: its modules, what they define and what that mentions."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from cs336_grader.parsing import MAX_SOURCE_BYTES, SourceError, parse

from .bindings import Binder
from .scopes import Scope

MAX_STOPS = 100
# Code written by hand is far smaller, and reading takes its time.
MAX_TOTAL_BYTES = 8 * 2**20


class How(StrEnum):
    """In which way a name is used."""

    CALLED = "called"
    INHERITED = "inherited from"
    NAMED = "named"
    COMPUTED = "searched for a name that is computed"


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that a definition uses.

    Attributes:
        conditional: whether it may be left out when the definition runs.
    """

    name: str
    line: int
    how: How
    conditional: bool


@dataclass(slots=True)
class Definition:
    """A function, class, method or variable of a module; without a name, the module's own code.

    Attributes:
        name: dotted, as in "cs336_basics.model.Linear.forward".
        lines: its first and last.
        attributes: names of attributes that it uses of objects of unknown type.
        methods: of a class, the names of its methods.
    """

    name: str
    file: str
    lines: tuple[int, int]
    mentions: list[Mention] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    methods: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Module:
    """A source file.

    Attributes:
        name: how it is imported.
        file: relative to the submission, with forward slashes.
    """

    name: str
    file: str
    tree: ast.Module
    scope: Scope

    def binder(self, scope: Scope, prefix: str | None, *, variables: bool) -> Binder:
        """What binds the names of a scope in this module."""
        is_package = self.file.endswith("__init__.py")
        return Binder(scope, self.name, is_package=is_package, prefix=prefix, variables=variables)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a dotted name stands for: a definition of the submission, or something from outside."""

    name: str
    own: bool


class Program:
    """All source of a submission.

    Args:
        root: the folder it lies in.
        search_paths: the folders, relative to the root, that imports start from.
        foreign: names of packages that no file of the submission may be taken for.
        trees: syntax trees that are there already, by the source that they are of.

    Attributes:
        unread: the files that are too large, nested too deep or no Python that is understood here.
            A submission can have its own Python understand more.
        links: what each definition leads to by name, certainly and perhaps, as far as it was asked.
    """

    def __init__(
        self,
        root: Path,
        search_paths: Iterable[str],
        foreign: Iterable[str],
        trees: Mapping[bytes, ast.Module],
    ) -> None:
        self.modules: dict[str, Module] = {}
        self.by_file: dict[str, Module] = {}
        self.definitions: dict[str, Definition] = {}
        self.unread: list[str] = []
        self.links: dict[tuple[str, bool], frozenset[str]] = {}
        self.foreign = {*foreign, *sys.stdlib_module_names}
        classes: set[str] = set()
        left = MAX_TOTAL_BYTES
        for path in sorted(root.rglob("*.py")):
            place = PurePosixPath(path.relative_to(root).as_posix())
            names = list(self.names_of(place, search_paths))
            if not names:
                continue
            size = path.stat().st_size
            if size > min(MAX_SOURCE_BYTES, left):
                self.unread.append(str(place))
                continue
            left -= size
            content = path.read_bytes()
            try:
                tree = trees.get(content) or parse(content)
            except SourceError:
                self.unread.append(str(place))
                continue
            module = Module(names[0], str(place), tree, Scope(None, classes))
            module.binder(module.scope, module.name, variables=True).bind_all(tree.body)
            self.by_file[module.file] = module
            for name in names:
                self.modules.setdefault(name, module)

    def names_of(self, place: PurePosixPath, search_paths: Iterable[str]) -> Iterator[str]:
        """The names that a file can be imported by, the likeliest first.

        Code may add folders to the import path: any end of its path can be its name.
        """
        parts = place.with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        for root in search_paths:
            length = len(PurePosixPath(root).parts)
            if place.is_relative_to(root) and parts[length:]:
                yield ".".join(parts[length:])
        for start in range(len(parts)):
            if parts[start] not in self.foreign:
                yield ".".join(parts[start:])

    def resolve(self, name: str, stops: set[str] | None = None) -> list[Resolved]:
        """What a dotted name can stand for, once imports and aliases are followed.

        Args:
            name: the name.
            stops: the names that were come by on the way.
        """
        stops = set() if stops is None else stops
        if name in stops or len(stops) > MAX_STOPS:
            return []
        stops.add(name)
        module, rest = self.split(name)
        if module is None:
            return [Resolved(name, own=False)]
        if not rest:
            return [Resolved(module.name, own=True)]
        here = f"{module.name}.{'.'.join(rest)}"
        if f"{module.name}.{rest[0]}" in self.definitions:
            return [Resolved(here, own=True)]
        found: list[Resolved] = []
        try:
            candidates = module.scope.lookup(rest[0])
        except RecursionError:
            candidates = []
        for candidate in candidates:
            target = ".".join((candidate, *rest[1:]))
            if target != here:
                found += self.resolve(target, stops)
        if not found:
            for star in module.scope.stars:
                found += self.resolve(".".join((star, *rest)), stops)
        return found

    def split(self, name: str) -> tuple[Module | None, list[str]]:
        """The submission's module that a dotted name begins with, and the rest of the name."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            module = self.modules.get(".".join(parts[:length]))
            if module is not None:
                return module, parts[length:]
        return None, parts

    def definition(self, name: str) -> Definition | None:
        """The innermost definition that a resolved name leads to."""
        while name:
            if name in self.definitions:
                return self.definitions[name]
            name = name.rpartition(".")[0]
        return None

    def enclosing(self, file: str, line: int) -> Definition | None:
        """The innermost definition that holds a line of a file."""
        around = [
            definition
            for definition in self.definitions.values()
            if definition.file == file and definition.lines[0] <= line <= definition.lines[1]
        ]
        return min(around, key=lambda found: found.lines[1] - found.lines[0], default=None)
