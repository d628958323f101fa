"""Stand-ins for packages that answer a problem: they can be imported, and calls are noted.

A submission that imports one for something else loses nothing.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

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
    """Finds a stand-in wherever one of some packages is imported.

    Args:
        packages: their names.
        note: is told the dotted name of what is called, and from where.
    """

    def __init__(self, packages: Iterable[str], note: Note) -> None:
        self.packages = frozenset(packages)
        self.note = note

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a stand-in is made, for the packages and their submodules."""
        if name.partition(".")[0] not in self.packages:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a stand-in."""
        return StandInModule(spec.name, self.note)

    def exec_module(self, module: ModuleType) -> None:
        """Leave a stand-in as it is."""
