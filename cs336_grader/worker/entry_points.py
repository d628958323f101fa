"""Notes which ready-made functions, classes and packages a submission's code calls.

The functions and classes are wrapped where they are defined, before the submission is imported. The
operators that they lead to are recorded besides; here lies what torch writes in Python out of plain
operators, and the line of the submission that led there.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

MAX_NOTED = 100
MAX_DEPTH = 50
TORCH = f"{Path(torch.__file__).parent}/"
# Parts of torch that call what they are given; what others call is torch's own doing.
GO_BETWEENS = (
    *("nn/", "optim/", "utils/", "_dynamo/eval_frame.py", "_functorch/", "autograd/"),
    *("fx/", "jit/", "multiprocessing/", "overrides.py"),
)
PASSED_THROUGH = tuple(TORCH + part for part in GO_BETWEENS)
# The name of the code that runs as a module is imported.
IMPORT = "<module>"
WORKER = str(Path(__file__).parent)
# Events of Python's audit hooks, which no code can remove.
PROCESSES = frozenset(
    ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
) | {"subprocess.Popen"}


class EntryPoints:
    """Notes calls of what the rules are about.

    Args:
        root: the folder that the submission lies in.
        rules: dotted names, each with whether calls are noted of all that it holds; the longest
            name decides.
    """

    def __init__(self, root: Path, rules: Mapping[str, bool]) -> None:
        self.root = f"{root}/"
        self.rules = rules
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
        """Wrap what has been imported, and listen for new processes."""
        # The public name of what has several comes first.
        for name in sorted(sys.modules, key=lambda name: ("._" in name, name)):
            module = sys.modules[name]
            if type(module) is ModuleType and self.is_ruled(name):
                self.wrap_module(name, module)
        note = self.note

        def listen(event: str, _args: tuple[object, ...]) -> None:
            if event in PROCESSES:
                note(event, sys._getframe(1))

        sys.addaudithook(listen)

    def wrap_module(self, module_name: str, module: ModuleType) -> None:
        """Wrap a module's own functions and classes."""
        for name, value in list(vars(module).items()):
            dotted = f"{module_name}.{name}"
            if name.startswith("__") or not self.is_ruled(dotted):
                continue
            if isinstance(value, type):
                if self.is_ruled(f"{value.__module__}.{value.__name__}"):
                    self.wrap_class(value, dotted)
            elif isinstance(value, FunctionType) and self.is_ruled(
                f"{value.__module__}.{value.__name__}"
            ):
                setattr(module, name, self.wrapped(value, dotted))

    def wrap_class(self, cls: type, name: str) -> None:
        """Wrap how a class is made and what its instances do; subclasses inherit that."""
        for method, value in list(vars(cls).items()):
            if isinstance(value, FunctionType) and (
                method == "__init__" or not method.startswith("_")
            ):
                setattr(cls, method, self.wrapped(value, name))

    def wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function that notes its call and does the same."""
        if id(function) in self.wrappers:
            return self.wrappers[id(function)]

        @functools.wraps(function)
        def entered(*args: Any, **kwargs: Any) -> Any:
            self.note(name, sys._getframe(1))
            return function(*args, **kwargs)

        del entered.__wrapped__
        self.wrappers[id(function)] = self.wrappers[id(entered)] = entered
        return entered

    def note(self, name: str, frame: FrameType | None) -> None:
        """Note a call, unless torch or this worker makes it for itself.

        Its place is the nearest line of the submission, if any of its code is on this thread.
        """
        while frame is not None and frame.f_code.co_filename.startswith(PASSED_THROUGH):
            if frame.f_code.co_name == IMPORT:
                return
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename.startswith((TORCH, WORKER)):
            return
        if len(self.noted) < MAX_NOTED:
            self.noted.add((*self.place(frame), name))

    def place(self, frame: FrameType | None) -> tuple[str, int]:
        """Return file and line of the submission's code that is nearest to a frame."""
        for _ in range(MAX_DEPTH):
            if frame is None:
                break
            file, line = frame.f_code.co_filename, frame.f_lineno
            if file.startswith("<"):
                # Made of text while running: it belongs to the file whose names it uses.
                file, line = str(frame.f_globals.get("__file__")), 1
            if file.startswith(self.root):
                return file.removeprefix(self.root), line
            frame = frame.f_back
        return "", 0

    def news(self) -> list[list[Any]]:
        """Return what was noted since the last time."""
        new, self.noted = sorted(self.noted), set()
        return list(map(list, new))
