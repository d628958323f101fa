"""Notes which ready-made functions, classes and packages a submission's code calls.

The functions and classes are wrapped where they are defined, before the submission is imported. The
operators that they lead to are recorded besides; here lies what torch writes in Python out of plain
operators, and the line of the submission that led there.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
)
from typing import Any

import torch

MAX_NOTED = 100
MAX_DEPTH = 50
TORCH = f"{Path(torch.__file__).parent}/"
# Parts of torch that call what they are given; what others call is torch's own doing.
GO_BETWEENS = (
    *("nn/", "optim/", "utils/", "_dynamo/eval_frame.py", "_functorch/", "autograd/"),
    *("fx/", "jit/", "multiprocessing/", "overrides.py", "_ops.py"),
)
PASSED_THROUGH = tuple(TORCH + part for part in GO_BETWEENS)
# The name of the code that runs as a module is imported.
IMPORT = "<module>"
WORKER = str(Path(__file__).parent)
OWN = (TORCH, WORKER)
# Events of Python's audit hooks, which no code can remove: new processes, and libraries that are
# called without a record.
EVENTS = frozenset(
    ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
) | {"subprocess.Popen", "ctypes.dlopen", "ctypes.dlsym"}


def enter(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call what the submission made or handed over: if that is ready-made, the call is noted."""
    return function(*args, **kwargs)


class EntryPoints:
    """Notes calls of what the rules are about.

    Args:
        root: the folder that the submission lies in.
        rules: dotted names, each with whether calls are noted of all that it holds; the longest
            name decides.
        is_noted: returns True for the name of an operator that is noted.
    """

    def __init__(
        self, root: Path, rules: Mapping[str, bool], is_noted: Callable[[str], bool]
    ) -> None:
        self.root = f"{root}/"
        self.rules = rules
        self.is_noted = is_noted
        self.libraries = {name.partition(".")[0] for name in rules} - {"torch"}
        self.wrappers: dict[int, Callable[..., Any]] = {}
        self.noted: set[tuple[str, int, str]] = set()

    def is_ruled(self, name: str) -> bool:
        """Return what the longest rule that holds a name says."""
        while name:
            if name in self.rules:
                return self.rules[name]
            name = name.rpartition(".")[0]
        return False

    def install(self) -> None:
        """Wrap what has been imported, and listen for events."""
        # The public name of what has several comes first.
        for name in sorted(sys.modules, key=lambda name: ("._" in name, name)):
            module = sys.modules[name]
            if type(module) is ModuleType:
                self.wrap_module(name, module)
                if name.partition(".")[0] == "torch":
                    self.wrap_operators(module)
        self.wrap_operators(torch.Tensor)
        self.wrap_named_operators()
        note = self.note

        def listen(event: str, _args: tuple[object, ...]) -> None:
            if event in EVENTS:
                note(event, sys._getframe(1))

        sys.addaudithook(listen)

    def wrap_module(self, module_name: str, module: ModuleType) -> None:
        """Wrap a module's own functions and classes, if the rules are about it."""
        holders = tuple(f"{name}." for name in self.rules)
        if not self.is_ruled(module_name) and not any(
            holder.startswith(f"{module_name}.") for holder in holders
        ):
            return
        for name, value in list(vars(module).items()):
            dotted = f"{module_name}.{name}"
            own = f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', '')}"
            if name.startswith("__") or not (self.is_ruled(dotted) and self.is_ruled(own)):
                continue
            if isinstance(value, type):
                self.wrap_class(value, dotted)
            elif callable(value):
                setattr(module, name, self.wrapped(value, dotted))

    def wrap_class(self, cls: type, name: str) -> None:
        """Wrap how a class is made and what its instances do; subclasses inherit that."""
        for method, value in list(vars(cls).items()):
            if method.startswith("__") and method not in ("__init__", "__call__"):
                continue
            if isinstance(value, FunctionType):
                setattr(cls, method, self.wrapped(value, name))
            elif isinstance(value, staticmethod | classmethod):
                setattr(cls, method, type(value)(self.wrapped(value.__func__, name)))

    def wrap_operators(self, holder: ModuleType | type) -> None:
        """Wrap the operators that a module, or the class of tensors, has as built-in functions."""
        for name in filter(lambda name: self.is_noted(f"aten::{name}"), dir(holder)):
            value = getattr(holder, name)
            if isinstance(value, BuiltinFunctionType | MethodDescriptorType):
                setattr(holder, name, self.wrapped(value, f"aten::{name}"))

    def wrap_named_operators(self) -> None:
        """Wrap how operators are called by their names, as in ``torch.ops.aten.silu``."""
        packet = torch.ops.aten.silu
        for cls in (type(packet), type(packet.default)):
            cls.__call__ = self.named(cls.__call__)  # type: ignore[method-assign]

    def named(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that notes the operator it is called for."""

        def noted(operator: Any, /, *args: Any, **kwargs: Any) -> Any:
            namespace, name, *_ = f"{operator}.".split(".")
            if self.is_noted(f"{namespace}::{name}"):
                self.note(f"{namespace}::{name}", sys._getframe(1))
            return call(operator, *args, **kwargs)

        return noted

    def wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function that notes its call and does the same."""
        if id(function) in self.wrappers:
            return self.wrappers[id(function)]

        own = (*OWN, *folders_of(name.partition(".")[0]))

        @functools.wraps(function)
        def entered(*args: Any, **kwargs: Any) -> Any:
            self.note(name, sys._getframe(1), own)
            return function(*args, **kwargs)

        del entered.__wrapped__
        # What torch.jit.script compiles instead.
        entered.__prepare_scriptable__ = lambda: function  # type: ignore[attr-defined]
        self.wrappers[id(function)] = self.wrappers[id(entered)] = entered
        return entered

    def note(self, name: str, frame: FrameType | None, own: tuple[str, ...] = OWN) -> None:
        """Note a call, unless it is made from a folder of what makes such calls for itself."""
        while frame is not None and frame.f_code.co_filename.startswith(PASSED_THROUGH):
            if frame.f_code.co_name == IMPORT:
                return
            frame = frame.f_back
        if frame is None or (
            frame.f_code.co_filename.startswith(own) and frame.f_code is not enter.__code__
        ):
            return
        place = self.place(frame)
        if place is not None and len(self.noted) < MAX_NOTED:
            self.noted.add((*place, name))

    def place(self, frame: FrameType | None) -> tuple[str, int] | None:
        """Return file and line of the submission's code that is nearest to a frame.

        Without such code on this thread they are empty; None if a library is being imported.
        """
        for _ in range(MAX_DEPTH):
            if frame is None or frame.f_code.co_filename.startswith(WORKER):
                break
            file, line = frame.f_code.co_filename, frame.f_lineno
            if file.startswith("<"):
                # Made of text while running: it belongs to the file whose names it uses.
                file, line = str(frame.f_globals.get("__file__")), 1
            if file.startswith(self.root):
                return file.removeprefix(self.root), line
            if frame.f_code.co_name == IMPORT and file == frame.f_code.co_filename:
                return None
            frame = frame.f_back
        return "", 0

    def news(self) -> list[list[Any]]:
        """Return what was noted since the last time."""
        new, self.noted = sorted(self.noted), set()
        return list(map(list, new))


def folders_of(library: str) -> list[str]:
    """Return the folders of a package that has been imported."""
    return [f"{folder}/" for folder in getattr(sys.modules.get(library), "__path__", ())]
