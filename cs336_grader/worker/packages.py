"""Stand-ins for packages that answer a problem: they can be imported, and calls are noted.

A submission that imports one for something else loses nothing.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import Any

from .entry_points import EntryPoints

Note = Callable[[str, FrameType | None], None]


class Anything(type):
    """The type of all that a stand-in offers: a class with any attribute, which can be called."""

    note: Note
    name: str

    def __getattr__(cls, name: str) -> "Anything":
        """Return a stand-in for an attribute."""
        if name.startswith("__"):
            raise AttributeError(name)
        return anything(f"{cls.name}.{name}", cls.note)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Note the call; a class of the submission's own is made an instance of."""
        cls.note(cls.name, sys._getframe(1))
        return super().__call__(*args, **kwargs) if cls.__module__ else cls


def anything(name: str, note: Note) -> Anything:
    """Return a stand-in of a dotted name."""
    return Anything(name.rpartition(".")[2], (), {"__module__": "", "name": name, "note": note})


class StandInModule(ModuleType):
    """A module that has every name."""

    def __init__(self, name: str, note: Note) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "0"
        self.__note = note

    def __getattr__(self, name: str) -> Anything:
        """Return a stand-in for a name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return anything(f"{self.__name__}.{name}", self.__note)


class Finder(MetaPathFinder, Loader):
    """Finds stand-ins for some packages, and wraps others as they are imported.

    Args:
        packages: their names.
        entry_points: notes what is called of them, and of other packages that the rules are about.
    """

    def __init__(self, packages: Iterable[str], entry_points: EntryPoints) -> None:
        self.packages = frozenset(packages)
        self.entry_points = entry_points

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a stand-in is made; of other packages with rules, how they are wrapped."""
        top = name.partition(".")[0]
        if top in self.packages:
            return ModuleSpec(name, self, is_package=True)
        if top not in self.entry_points.libraries:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_wrap(module: ModuleType) -> None:
                run(module)
                self.entry_points.wrap_module(name, module)

            spec.loader.exec_module = run_and_wrap  # type: ignore[method-assign]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a stand-in."""
        return StandInModule(spec.name, self.entry_points.note)

    def exec_module(self, module: ModuleType) -> None:
        """Leave a stand-in as it is."""
