"""Decides what of a submission is taken: the adapters, and what they import.

Taken are the modules beside the adapters and, from there on, every package or module of the
submission that is imported, whether the import starts from the adapters' folder, from one above it,
or from a ``src`` folder in one of them. Tests, notebooks, data elsewhere and other assignments stay
where they are. Not covered: names computed while running.
"""

import ast
from collections.abc import Callable
from pathlib import PurePosixPath

from cs336_grader.parsing import MAX_SOURCE_BYTES, SourceError, parse

from .building import modules_to_build
from .gaps import Reading
from .listing import MAX_FILE_BYTES
from .modules import COMPILED, INIT, Modules, NearMiss
from .names import Patience, defined_names, imports
from .notes import Notes
from .sources import Source

TOP = PurePosixPath()
# A tree takes a hundred times the memory of its source. Hardly any submission has more.
MAX_KEPT_BYTES = 2**21


class Closure:
    """The files to take, found from the adapters on.

    Args:
        source: the submission.
        adapters: the adapters' path in it.
        is_reserved: whether a top-level name is that of something the grader needs.
        notes: takes what is left out.

    Attributes:
        module: how the adapters are imported.
        taken: the files to take.
        search_paths: the folders that imports start from, in order.
        readings: what each file that is taken imports.
        trees: the syntax trees of these files, by their content; of very many, those of a part.
    """

    def __init__(
        self,
        source: Source,
        adapters: PurePosixPath,
        is_reserved: Callable[[str], bool],
        notes: Notes,
    ) -> None:
        self.source = source
        self.adapters = adapters
        self.is_reserved = is_reserved
        self.notes = notes
        self.modules = Modules(source.sizes, source.unseen, modules_to_build(source))
        base, self.module = self.place_of_adapters()
        above = [adapters.parent, *adapters.parent.parents]
        self.roots = list(
            dict.fromkeys([base, *(root for folder in above for root in (folder, folder / "src"))])
        )
        self.known_homes: dict[str, list[PurePosixPath]] = {}
        self.used_roots = {base}
        self.taken: set[PurePosixPath] = set()
        self.packages_taken: set[PurePosixPath] = set()
        self.unread: list[PurePosixPath] = []
        self.patience = Patience(source.name)
        self.readings: dict[PurePosixPath, Reading] = {}
        self.trees: dict[bytes, ast.Module] = {}
        self.kept_bytes = 0
        self.take_neighbours()
        while self.unread:
            self.follow(self.unread.pop())
        self.leave_out_what_shadows()
        self.search_paths = [root for root in self.roots if root in self.used_roots]

    @property
    def files(self) -> list[PurePosixPath]:
        """The adapters, and then all that is taken."""
        return [self.adapters, *sorted(self.taken)]

    @property
    def packages(self) -> set[str]:
        """The names of the packages that are taken."""
        return {
            path.relative_to(root).parts[0]
            for root in self.search_paths
            for path in self.taken
            if path.is_relative_to(root) and len(path.relative_to(root).parts) > 1
        }

    def place_of_adapters(self) -> tuple[PurePosixPath, str]:
        """The folder from which the adapters are imported, and by what name."""
        folder = top = self.adapters.parent
        while top.parent != TOP and top.parent / INIT in self.source.sizes:
            top = top.parent
        if folder == TOP or self.is_reserved(top.name):
            return folder, self.adapters.stem
        parts = self.adapters.with_suffix("").relative_to(top.parent).parts
        if not all(part.isidentifier() for part in parts):
            return folder, self.adapters.stem
        return top.parent, ".".join(parts)

    def take_neighbours(self) -> None:
        """Take the adapters with the modules beside them, or with the package they are part of."""
        self.take(self.adapters)
        folder = self.adapters.parent
        beside = [
            path for path in self.source.sizes if path.parent == folder and path.suffix == ".py"
        ]
        modules = [path for path in beside if not is_test(path)]
        for path in modules:
            self.take(path)
        if folder.name != "tests" and len(modules) == len(beside) and folder / INIT in modules:
            package = folder
            while package.parent != TOP and package.parent / INIT in self.source.sizes:
                package = package.parent
            if package != TOP:
                self.take_tree(package)

    def take(self, path: PurePosixPath) -> None:
        """Take a file with the ``__init__.py`` of each package it lies in."""
        if path in self.taken:
            return
        if path.suffix in COMPILED:
            self.notes.skipped("compiled", path)
            return
        if self.source.sizes[path] > MAX_FILE_BYTES:
            self.notes.skipped(f"larger than {MAX_FILE_BYTES // 2**20} MB", path)
            return
        self.taken.add(path)
        if path.suffix == ".py":
            self.unread.append(path)
        marker = path.parent / INIT
        if path == marker:
            marker = path.parent.parent / INIT
        if marker in self.source.sizes and marker.parent != TOP:
            self.take(marker)

    def take_tree(self, folder: PurePosixPath) -> None:
        """Take all of a package."""
        if folder in self.packages_taken:
            return
        self.packages_taken.add(folder)
        for path in self.source.sizes:
            if folder in path.parents and path.name != "conftest.py":
                self.take(path)

    def follow(self, path: PurePosixPath) -> None:
        """Take what a file imports."""
        content = self.source.read(path)
        self.patience.check()
        reading = self.readings[path] = Reading()
        if len(content) > MAX_SOURCE_BYTES:
            self.notes.say(f"{path} is too long to be read for what it imports.")
            return
        try:
            tree = parse(content)
        except SourceError as error:
            # Importing it will fail and say why, unless nothing ever imports it.
            reading.fault = str(error)
            return
        self.kept_bytes += len(content)
        if self.kept_bytes <= MAX_KEPT_BYTES:
            self.trees[content] = tree
        reading.names = defined_names(tree)
        for found in sorted(set(imports(tree)), key=lambda found: found.parts):
            if not found.level:
                self.follow_absolute(found.parts, reading)
            elif found.level <= len(path.parents):
                # From the importing file's own package.
                self.take_import(path.parents[found.level - 1], found.parts, reading)

    def follow_absolute(self, parts: tuple[str, ...], reading: Reading) -> None:
        """Take what is imported by its full name, if the submission has it."""
        top = parts[0]
        homes = self.homes(top)
        if self.is_reserved(top):
            for root in homes:
                self.notes.skipped(f"would hide the installed {top}", root / top)
            return
        if top in self.modules.to_build and all(
            self.modules.is_project(home / top) for home in homes
        ):
            reading.elsewhere.add(top)
            reading.misses.add(NearMiss(self.roots[0] / top))
            return
        # Or in a folder that the code itself adds to the import path; it will do so again.
        added = [home for home in self.modules.homes.get(top, []) if home.parent in self.roots]
        if homes:
            self.used_roots.add(homes[0])
        elif not added:
            reading.elsewhere.add(top)
        for home in (homes or added)[:1] or self.roots:
            self.take_import(home, parts, reading)

    def homes(self, top: str) -> list[PurePosixPath]:
        """The folders that hold a top-level name, in the order in which imports look there."""
        if top not in self.known_homes:
            homes = [root for root in self.roots if self.modules.holds(root, top)]
            # As Python has it: a namespace package comes after everything else.
            homes.sort(key=lambda root: self.modules.is_namespace(root / top))
            self.known_homes[top] = homes
        return self.known_homes[top]

    def take_import(self, folder: PurePosixPath, parts: tuple[str, ...], reading: Reading) -> None:
        """Take what an import stands for that starts in a folder, and remember what that is."""
        files = self.modules.along(folder, parts)
        reading.leads.update(files)
        if parts[-1] == "*":
            reading.stars.update(files[-1:])
        miss = self.modules.near_miss(folder, parts)
        if miss is not None:
            reading.misses.add(miss)
        self.descend(folder, parts)

    def descend(self, folder: PurePosixPath, parts: tuple[str, ...]) -> None:
        """Take the module or package that a name starting in this folder stands for.

        Of a package that holds the adapters, and of a mere folder of packages, only the part that
        is named is taken: beside it may lie anything.
        """
        if not parts or not self.modules.holds(folder, parts[0]):
            return
        package = folder / parts[0]
        module = package.with_suffix(".py")
        if package not in self.modules.folders or (
            module in self.source.sizes and package / INIT not in self.source.sizes
        ):
            self.take(module)
            return
        leads_on = (
            self.modules.is_namespace(package)
            and package.joinpath(*parts[1:2]) in self.modules.folders
        )
        if package not in self.adapters.parents and not (leads_on and len(parts) > 1):
            self.take_tree(package)
            return
        if package / INIT in self.source.sizes:
            self.take(package / INIT)
        self.descend(package, parts[1:])

    def leave_out_what_shadows(self) -> None:
        """Leave out what would be imported in place of something installed."""
        for path in sorted(self.taken):
            for root in sorted(self.used_roots):
                if not path.is_relative_to(root):
                    continue
                top = path.relative_to(root).parts[0]
                name = top.removesuffix(".py")
                if not self.is_reserved(name):
                    continue
                # A folder that holds the adapters stays, as one that no import begins with.
                if root / top not in self.adapters.parents or path == root / top / INIT:
                    self.taken.discard(path)
                    self.notes.skipped(f"would hide the installed {name}", path)


def is_test(path: PurePosixPath) -> bool:
    """Whether a file is one of the suite's, of which a submission has its own copy."""
    return path.name.startswith("test_") or path.name == "conftest.py"
