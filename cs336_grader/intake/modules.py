"""Which modules and packages a submission has, and which it has in a form that is not imported."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from .listing import folders_of

COMPILED = {".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".o", ".a"}
# What a compiled module is built from, or is described by while it is not built.
BUILT_FROM = {".pyi", ".pyx", ".cpp", ".cc", ".c", ".rs"}
INIT = "__init__.py"
# The files that say how a project is built.
RECIPES = {"Cargo.toml", "CMakeLists.txt", "meson.build", "pyproject.toml", "setup.py"}


@dataclass(frozen=True, slots=True)
class NearMiss:
    """What a submission has in place of an imported module.

    Attributes:
        module: the module's path, without an ending.
        spelled: the file or folder whose name differs in case; None if there is none.
        unseen: the name of a file or folder that was not taken and may be the module. With neither
            of them, the module is a compiled one that is not built.
    """

    module: PurePosixPath
    spelled: PurePosixPath | None = None
    unseen: str = ""


class Modules:
    """The modules and packages among the files of a submission.

    Args:
        files: of the submission.
        unseen: the names of files and folders that may belong to it and were not taken.
        to_build: the last names of compiled modules whose sources it has.

    Attributes:
        folders: those with a module in them or below them.
    """

    def __init__(
        self, files: Iterable[PurePosixPath], unseen: Iterable[str], to_build: frozenset[str]
    ) -> None:
        self.files = frozenset(files)
        self.to_build = to_build
        self.unseen = {
            part.partition(".py")[0]: name
            for name in unseen
            for part in name.replace("\\", "/").split("/")
        }
        sources = [path for path in self.files if path.suffix == ".py"]
        self.folders = folders_of(sources)
        self.unbuilt = {
            path.with_name(path.name.partition(".")[0])
            for path in self.files
            if path.suffix in COMPILED | BUILT_FROM
        }
        self.spelled: dict[str, PurePosixPath] = {}
        self.homes: dict[str, list[PurePosixPath]] = defaultdict(list)
        for path in sorted(sources) + sorted(self.folders - {PurePosixPath()}):
            module = path.with_suffix("") if path.suffix == ".py" else path
            self.spelled[str(module).casefold()] = path
            self.homes[module.name].append(module.parent)

    def holds(self, folder: PurePosixPath, name: str) -> bool:
        """Whether a folder has a module or package of this name."""
        return (folder / f"{name}.py") in self.files or folder / name in self.folders

    def is_namespace(self, package: PurePosixPath) -> bool:
        """Whether a name is only that of a folder without an ``__init__.py``."""
        return (
            package.with_name(f"{package.name}.py") not in self.files
            and package / INIT not in self.files
        )

    def is_project(self, folder: PurePosixPath) -> bool:
        """Return True for a folder that is no package and holds a project to be built."""
        return self.is_namespace(folder) and any(folder / name in self.files for name in RECIPES)

    def along(self, folder: PurePosixPath, parts: tuple[str, ...]) -> list[PurePosixPath]:
        """The files that an import runs which starts in a folder."""
        found: list[PurePosixPath] = []
        for part in parts:
            package, module = folder / part, folder / f"{part}.py"
            if package in self.folders and (
                package / INIT in self.files or module not in self.files
            ):
                found.append(package / INIT)
                folder = package
            else:
                found.append(module)
                break
        return [path for path in found if path in self.files]

    def near_miss(self, folder: PurePosixPath, parts: tuple[str, ...]) -> NearMiss | None:
        """What of an import that starts in a folder is there, but not as Python looks for it.

        The last of several parts may name something within a module, whatever files there are.
        """
        for number, part in enumerate(parts, start=1):
            place = folder / part
            if not self.holds(folder, part):
                if part in self.unseen:
                    return NearMiss(place, unseen=self.unseen[part])
                if place in self.unbuilt or part in self.to_build:
                    return NearMiss(place)
                spelled = self.spelled.get(str(place).casefold())
                is_module = number < len(parts) or number == 1
                return NearMiss(place, spelled) if spelled is not None and is_module else None
            if place not in self.folders:
                return None
            folder = place
        return None
