"""Decides what of a submission is taken: the adapters, and what they import.

Taken are the modules beside the adapters and, from there on, every package or module of the
submission that is imported, whether the import starts from the adapters' folder, from one above it,
or from a ``src`` folder in one of them. Tests, notebooks, data elsewhere and other assignments stay
where they are. Not covered: names computed while running.
"""

from collections.abc import Callable
from pathlib import PurePosixPath

from .notes import Notes
from .parsing import Import, SourceError, imports, parse
from .sources import MAX_FILE_BYTES, Source

COMPILED = {".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".o", ".a"}
INIT = "__init__.py"
TOP = PurePosixPath()


class Closure:
    """The files to take, found from the adapters on.

    Args:
        source: the submission.
        adapters: the adapters' path in it.
        is_reserved: whether a top-level name belongs to something installed.
        notes: takes what is left out.

    Attributes:
        module: how the adapters are imported.
        taken: the files to take.
        search_paths: the folders that imports start from, in order.
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
        self.folders = {
            parent for path in source.sizes if path.suffix == ".py" for parent in path.parents
        }
        base, self.module = self.place_of_adapters()
        above = [adapters.parent, *adapters.parent.parents]
        self.roots = list(
            dict.fromkeys([base, *(root for folder in above for root in (folder, folder / "src"))])
        )
        self.used_roots = {base}
        self.taken: set[PurePosixPath] = set()
        self.unread: list[PurePosixPath] = []
        self.take_neighbours()
        while self.unread:
            self.follow(self.unread.pop())
        self.leave_out_what_shadows()
        self.search_paths = [root for root in self.roots if root in self.used_roots]

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
        for path in self.source.sizes:
            if folder in path.parents and path.name != "conftest.py":
                self.take(path)

    def follow(self, path: PurePosixPath) -> None:
        """Take what a file imports."""
        try:
            tree = parse(self.source.read(path))
        except SourceError:
            # Importing it will fail and say why, unless nothing ever imports it.
            return
        for found in sorted(set(imports(tree)), key=lambda found: found.parts):
            if found.level:
                self.follow_relative(path, found)
            else:
                self.follow_absolute(found.parts)

    def follow_relative(self, path: PurePosixPath, found: Import) -> None:
        """Take what is imported from the importing file's own package."""
        above = path.parents
        if found.level <= len(above):
            self.descend(above[found.level - 1], found.parts)

    def follow_absolute(self, parts: tuple[str, ...]) -> None:
        """Take what is imported by its full name, if the submission has it."""
        homes = [root for root in self.roots if self.holds(root, parts[0])]
        # As Python has it: a namespace package comes after everything else.
        homes.sort(key=lambda root: self.is_namespace(root / parts[0]))
        if self.is_reserved(parts[0]):
            for root in homes:
                self.notes.skipped(f"would hide the installed {parts[0]}", root / parts[0])
            return
        if homes:
            self.used_roots.add(homes[0])
            self.descend(homes[0], parts)
            return
        # A folder that the code itself adds to the import path; it will do so again.
        for folder in sorted(self.folders):
            if folder.parent in self.roots and self.holds(folder, parts[0]):
                self.descend(folder, parts)
                return

    def holds(self, folder: PurePosixPath, name: str) -> bool:
        """Whether a folder has a module or package of this name."""
        return (folder / name).with_suffix(".py") in self.source.sizes or (
            folder / name in self.folders
        )

    def is_namespace(self, package: PurePosixPath) -> bool:
        """Whether a name is only that of a folder without an ``__init__.py``."""
        return (
            package.with_suffix(".py") not in self.source.sizes
            and package / INIT not in self.source.sizes
        )

    def descend(self, folder: PurePosixPath, parts: tuple[str, ...]) -> None:
        """Take the module or package that a name starting in this folder stands for.

        Of a package that holds the adapters, and of a mere folder of packages, only the part that
        is named is taken: beside it may lie anything.
        """
        if not parts or not self.holds(folder, parts[0]):
            return
        package = folder / parts[0]
        module = package.with_suffix(".py")
        if package not in self.folders or (
            module in self.source.sizes and package / INIT not in self.source.sizes
        ):
            self.take(module)
            return
        leads_on = self.is_namespace(package) and package.joinpath(*parts[1:2]) in self.folders
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
