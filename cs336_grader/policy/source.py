"""Reads a submission's source for two things: where something is named, and what hides a call."""

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TypeGuard

from cs336_grader.parsing import MAX_SOURCE_BYTES, SourceError, parse
from cs336_grader.records import Staged

# Code written by hand is far smaller, and reading takes its time.
MAX_TOTAL_BYTES = 8 * 2**20
BUILTINS = frozenset(dir(builtins))
TEXT = "turns text or bytes into code or objects"
SEARCH = "reads frames, memory or inner parts of functions and objects"
FOREIGN = "runs code that is not Python"
COMPUTED = "gets a module or an attribute by a computed name"
REPLACED = "replaces a part of torch or of Python"
RECORD = "uses inner parts of torch, where calls are not recorded"
# What is imported or built in: a name stands for all that it holds.
NAMES = {
    TEXT: "builtins.exec builtins.eval builtins.compile pickle.loads pickle.Unpickler marshal runpy"
    " code types.CodeType types.FunctionType torch.jit.CompilationUnit",
    SEARCH: "sys._getframe sys._current_frames inspect.currentframe inspect.stack gc.get_objects"
    " inspect.getouterframes gc.get_referrers gc.get_referents",
    FOREIGN: "ctypes cffi torch.utils.cpp_extension torch.library torch.ops.load_library"
    " torch.jit.script torch.jit.trace torch.jit.trace_module torch.jit.load",
    RECORD: "torch._C torch._VF",
    REPLACED: "sys.settrace sys.setprofile sys.meta_path sys.path_hooks bdb",
    COMPUTED: "importlib.import_module importlib.__import__ builtins.__import__ builtins.getattr"
    " importlib.util importlib.machinery pkgutil.resolve_name pydoc.locate",
}
# Attributes of whatever object.
ATTRIBUTES = {
    SEARCH: "__builtins__ __closure__ __code__ __globals__ __subclasses__ __getattribute__"
    " __prepare_scriptable__ __wrapped__ f_back f_globals f_locals",
    RECORD: "redispatch _op_dk DispatchKeySet _enable_record_function ExecutionTraceObserver"
    " _disable_execution_trace_observer _remove_execution_trace_observer",
}
REASON_OF_NAME = {name: reason for reason, names in NAMES.items() for name in names.split()}
REASON_OF_ATTRIBUTE = {name: why for why, names in ATTRIBUTES.items() for name in names.split()}
# Functions that look up a name, each with which argument that is; written out, it hides nothing.
LOOK_UP = {"builtins.getattr": 1} | dict.fromkeys(
    ("importlib.import_module", "importlib.__import__", "builtins.__import__"), 0
)


class Source:
    """The files that a submission's adapters import, directly or not.

    Attributes:
        adapters: the file of the adapters, relative to the submission.
        files: the tree of each file, the adapters' first.
        unread: the files that are too large, nested too deep or no Python that is understood here.
        every: all files with source, imported or not.
    """

    def __init__(self, staged: Staged) -> None:
        self.unread: list[str] = []
        trees = self.trees(staged)
        self.every = {*trees, *self.unread}
        written = f"{staged.module.replace('.', '/')}.py"
        self.adapters = next((file for file in trees if file.endswith(written)), written)
        self.files: dict[str, ast.Module] = {}
        waiting = [self.adapters] if self.adapters in trees else list(trees)
        wanted: set[str] = {staged.module}
        while waiting:
            file = waiting.pop(0)
            if file not in self.files:
                self.files[file] = trees[file]
                found = set(imported(trees[file]))
                waiting += [other for other in trees if not found.isdisjoint(names_of(other))]
                wanted |= found
        self.unread = [file for file in self.unread if not wanted.isdisjoint(names_of(file))]

    def trees(self, staged: Staged) -> dict[str, ast.Module]:
        """Return the syntax trees of all files."""
        trees: dict[str, ast.Module] = {}
        left = MAX_TOTAL_BYTES
        for path in sorted(staged.root.rglob("*.py")):
            file, size = path.relative_to(staged.root).as_posix(), path.stat().st_size
            if size > min(MAX_SOURCE_BYTES, left):
                self.unread.append(file)
                continue
            left -= size
            content = path.read_bytes()
            try:
                trees[file] = staged.trees.get(content) or parse(content)
            except SourceError:
                self.unread.append(file)
        return trees

    def place_of(self, name: str, adapters: Iterable[str]) -> tuple[str, int]:
        """Return where the source names what ran; if nowhere, the first of some adapters."""
        for file, tree in self.files.items():
            bound = bindings(tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.expr) and names(node, name, bound):
                    return file, node.lineno
        return self.place_of_adapter(adapters)

    def place_of_adapter(self, adapters: Iterable[str]) -> tuple[str, int]:
        """Return where one of these adapters is defined; without a line if nowhere."""
        tree, wanted = self.files.get(self.adapters), set(adapters)
        lines = (
            [
                node.lineno
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef) and node.name in wanted
            ]
            if tree
            else []
        )
        return self.adapters, min(lines, default=0)

    def hiding(self) -> Iterator[tuple[str, dict[str, set[int]]]]:
        """Yield each file with code that hides what it calls: the reasons with their lines."""
        for file, tree in self.files.items():
            bound = bindings(tree)
            harmless = {id(node.func) for node in ast.walk(tree) if is_written_out(node, bound)}
            found: dict[str, set[int]] = {}
            for node in ast.walk(tree):
                if id(node) not in harmless and (reason := reason_of(node, bound)):
                    found.setdefault(reason, set()).add(getattr(node, "lineno", 0))
            if found:
                yield file, found


def names_of(file: str) -> set[str]:
    """Return the names that a file can be imported by: code may add folders to the path."""
    parts = PurePosixPath(file).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return {".".join(parts[start:]) for start in range(len(parts))}


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a file imports, as they are written, and those that hold them."""
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names]
        for name in found:
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def bindings(tree: ast.Module) -> dict[str, str]:
    """Return what imports bind names to in a file; what it defines itself is bound to nothing."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                bound[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.setdefault(node.name, "")
    return bound


def dotted(node: ast.AST, bound: Mapping[str, str]) -> str:
    """Return the full name of what was imported or is built in; of all else nothing."""
    if isinstance(node, ast.Name):
        return bound.get(node.id, f"builtins.{node.id}" if node.id in BUILTINS else "")
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value, bound)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def is_torch(node: ast.AST, bound: Mapping[str, str]) -> bool:
    """Return True for torch and all that it holds."""
    return f"{dotted(node, bound)}.".startswith("torch.")


def is_written_out(node: ast.AST, bound: Mapping[str, str]) -> TypeGuard[ast.Call]:
    """Return True for a call that looks up a name in plain sight, or in no part of torch."""
    if not isinstance(node, ast.Call):
        return False
    called = dotted(node.func, bound)
    if called == "pickle.loads":
        # As a cache is read from its file.
        return bool(node.args) and getattr(getattr(node.args[0], "func", 0), "attr", "") == "read"
    which = LOOK_UP.get(called)
    if which is None or len(node.args) <= which:
        return False
    return isinstance(node.args[which], ast.Constant) or (
        which == 1 and not is_torch(node.args[0], bound)
    )


def reason_of(node: ast.AST, bound: Mapping[str, str]) -> str:
    """Return in which way a piece of code hides what it calls; nothing where it does not."""
    match node:
        case ast.Attribute(ctx=ast.Store(), value=value) if is_torch(value, bound):
            return REPLACED
        case ast.Attribute(attr="__dict__", value=value) if is_torch(value, bound):
            return COMPUTED
        case ast.Attribute(attr=attribute) if attribute in REASON_OF_ATTRIBUTE:
            return REASON_OF_ATTRIBUTE[attribute]
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
            return reason_of_name(dotted(node, bound))
        case ast.Call(func=function, args=[first, *_]) if is_torch(first, bound):
            called = dotted(function, bound)
            return {"builtins.setattr": REPLACED, "builtins.vars": COMPUTED}.get(called, "")
        case _:
            return ""


def reason_of_name(name: str) -> str:
    """Return the reason that is listed for a full name, or for what holds it."""
    reason = REASON_OF_ATTRIBUTE.get(name.rpartition(".")[2], "")
    while name and not reason:
        reason = REASON_OF_NAME.get(name, "")
        name = name.rpartition(".")[0]
    return reason


def names(node: ast.expr, name: str, bound: Mapping[str, str]) -> bool:
    """Return True for an expression that says by which name something of torch is called."""
    wanted = plain(name.rpartition(":")[2].rpartition(".")[2])
    match node:
        case ast.Constant(value=str(text)):
            return plain(text.rpartition(".")[2]) == wanted
        case ast.Attribute(attr=attribute) if not is_torch(node, bound):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            return plain(attribute) == wanted and not own
        case ast.Name() | ast.Attribute() if is_torch(node, bound):
            last = plain(dotted(node, bound).rpartition(".")[2])
            return last == wanted or (len(last) > len("norm_") and last in wanted)
        case _:
            return False


def plain(name: str) -> str:
    """Return a name as it is compared: LayerNorm is layer_norm."""
    return name.replace("_", "").lower()
