"""Sees which of the names that an assignment forbids a submission's code really enters.

Functions and methods under those names are wrapped where they are found, before any code of the
submission is imported. What is allowed stays as it is and costs nothing. The submission can undo
this, as it can anything in its own process: its source is examined as well.

Not seen: what happens in processes of its own, in code that torch has compiled and in
``torch.ops``, and functions imported by name from a package that nothing had imported before. The
source shows them.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import BuiltinFunctionType, FrameType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import torch

MAX_SEEN = 100
MAX_DEPTH = 50
# Its own code between the submission and what is entered: modules, optimizers, decorators.
PASSED_THROUGH = tuple(
    str(Path(torch.__file__).parent / folder) for folder in ("nn", "optim", "utils")
)


class Tracer:
    """Notes where the submission enters what is forbidden.

    Args:
        root: the folder that the submission lies in.
        rules: whether a name, with all that it holds, is to be noted; the longer name decides.
    """

    def __init__(self, root: Path, rules: Mapping[str, bool]) -> None:
        self.root = f"{root}/"
        self.rules = rules
        self.allowed = {id(resolved(name)) for name, noted in rules.items() if not noted}
        self.looked_through: set[str] = set()
        self.wrappers: dict[int, Callable[..., Any]] = {}
        self.seen: dict[tuple[str, int, str], bool] = {}

    def is_forbidden(self, name: str) -> bool:
        """What the longest rule that holds a name says."""
        while name:
            if name in self.rules:
                return self.rules[name]
            name = name.rpartition(".")[0]
        return False

    def install(self) -> None:
        """Wrap all that is forbidden and was imported since the last time."""
        # The public name of what has several comes first.
        for module_name, module in sorted(sys.modules.items(), key=lambda item: privacy(item[0])):
            if module_name not in self.looked_through:
                self.looked_through.add(module_name)
                if type(module) is ModuleType and self.is_forbidden(module_name):
                    self.wrap_module(module_name, module)
        for name, forbidden in self.rules.items():
            if forbidden:
                self.wrap_name(name)

    def wrap_module(self, module_name: str, module: ModuleType) -> None:
        """Wrap a module's own functions and classes."""
        for name, value in list(vars(module).items()):
            dotted = f"{module_name}.{name}"
            if name.startswith("_") or id(value) in self.allowed or not self.is_forbidden(dotted):
                continue
            if isinstance(value, type) and self.is_forbidden(value.__module__):
                self.wrap_class(value, dotted)
            elif isinstance(value, FunctionType | BuiltinFunctionType) and self.belongs(
                value, module_name
            ):
                setattr(module, name, self.wrapped(value, dotted))

    def belongs(self, function: Any, module_name: str) -> bool:
        """Whether a module offers a function as its own, wherever that is written."""
        home = str(function.__module__)
        if isinstance(function, BuiltinFunctionType) and module_name.startswith(f"{home}."):
            return True
        return self.is_forbidden(home)

    def wrap_name(self, name: str) -> None:
        """Wrap one function that is forbidden by its name."""
        owner_name, _, last = name.rpartition(".")
        owner = resolved(owner_name)
        value = getattr(owner, last, None)
        if isinstance(value, FunctionType | BuiltinFunctionType | MethodDescriptorType):
            put(owner, last, self.wrapped(value, name))
        elif isinstance(value, type):
            self.wrap_class(value, name)

    def wrap_class(self, cls: type, name: str) -> None:
        """Wrap how a class is made and what its instances do; subclasses inherit that."""
        for method, value in list(vars(cls).items()):
            if isinstance(value, FunctionType) and (
                method == "__init__" or not method.startswith("_")
            ):
                put(cls, method, self.wrapped(value, name))

    def wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A function that notes where it is entered from, and does what it did."""
        # One for each function, by whatever names: what compiles code tells functions apart by it.
        if id(function) in self.wrappers:
            return self.wrappers[id(function)]

        @functools.wraps(function)
        def entered(*args: Any, **kwargs: Any) -> Any:
            if not torch.compiler.is_compiling():
                self.note(name, sys._getframe(1))
            return function(*args, **kwargs)

        self.wrappers[id(function)] = self.wrappers[id(entered)] = entered
        return entered

    def note(self, name: str, frame: FrameType | None) -> None:
        """Note an entry if the code that leads to it is the submission's.

        What one function that is noted calls itself is not: a wrapper stands between.
        """
        for _ in range(MAX_DEPTH):
            if frame is None:
                return
            file, line = frame.f_code.co_filename, frame.f_lineno
            if file.startswith("<"):
                # Made of text while running: it belongs to the file whose names it uses.
                file, line = str(frame.f_globals.get("__file__")), 1
            if file.startswith(self.root):
                if len(self.seen) < MAX_SEEN:
                    self.seen.setdefault((file.removeprefix(self.root), line, name), True)
                return
            if not file.startswith(PASSED_THROUGH):
                return
            frame = frame.f_back

    def news(self) -> list[list[Any]]:
        """What was noted since the last time."""
        new = [list(place) for place, is_new in self.seen.items() if is_new]
        self.seen = dict.fromkeys(self.seen, False)
        return new


def privacy(name: str) -> tuple[bool, str]:
    """Sorts names with a private part after all others."""
    return "._" in name, name


def resolved(name: str) -> Any:
    """What a dotted name stands for, if that is imported by now; else None."""
    module_name, rest = name, ""
    while module_name and module_name not in sys.modules:
        module_name, _, last = module_name.rpartition(".")
        rest = f"{last}.{rest}" if rest else last
    found = sys.modules.get(module_name)
    for part in filter(None, rest.split(".")):
        found = getattr(found, part, None)
    return found


def put(owner: Any, name: str, value: object) -> None:
    """Set an attribute, unless the owner is written in another language."""
    with contextlib.suppress(TypeError):
        setattr(owner, name, value)
