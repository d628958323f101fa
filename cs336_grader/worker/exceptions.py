"""Turns an exception into text: nothing of it may reach the trusted process as an object."""

import re
import sys
import traceback
from pathlib import Path
from typing import NamedTuple, TypeGuard

from .channel import Message

MAX_TEXT = 4000
MAX_FRAMES = 4
MAX_NAME = 200
NAME_OF_IMPORT = re.compile(r"cannot import name '([\w.]+)'")
# What a compiled module is built from, or is described by while it is not built.
COMPILED_SUFFIXES = (".pyi", ".pyx", ".cpp", ".cc", ".c", ".rs")


class Origin(NamedTuple):
    """Where a submission lies, and what its package should be called."""

    root: Path
    package: str


def describe(error: BaseException, origin: Origin | None) -> Message:
    """An exception as text: its type, what it says, and where in the submission it was raised."""
    root = origin.root if origin is not None else None
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be had)"
    places = [
        f"{Path(frame.filename).relative_to(root)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if root is not None and Path(frame.filename).is_relative_to(root)
    ]
    if isinstance(error, SyntaxError) and root is not None:
        file = Path(error.filename or "")
        if file.is_relative_to(root):
            places.append(f"{file.relative_to(root)}:{error.lineno}")
    return {
        "op": "error",
        "type": type(error).__name__[:MAX_TEXT],
        "text": text[:MAX_TEXT].encode("utf-8", "replace").decode(),
        "places": places[-MAX_FRAMES:],
        "missing": missing(error, origin),
    }


def missing(error: BaseException, origin: Origin | None) -> str | None:
    """What an import did not find, in words, if it is none of the submission's own code."""
    if origin is None or not isinstance(error, ImportError) or not is_short_text(error.name):
        return None
    root = origin.root
    if isinstance(error, ModuleNotFoundError):
        top = error.name.partition(".")[0]
        if top != origin.package and not has(top, root):
            return f"the package {top}"
        return compiled(error.name, root)
    name = NAME_OF_IMPORT.match(str(error))
    if name is None:
        return None
    if error.path is not None and not Path(error.path).is_relative_to(root):
        return f"{name[1]} of {error.name}"
    return compiled(f"{error.name}.{name[1]}", root)


def is_short_text(value: object) -> TypeGuard[str]:
    """Whether a value, which may be anything, is a text that can be a module's name."""
    return type(value) is str and 0 < len(value) <= MAX_NAME


def compiled(module: str, root: Path) -> str | None:
    """The module, in words, if the submission has what it would be built from."""
    return f"the compiled module {module}" if own(module, COMPILED_SUFFIXES, root) else None


def has(top: str, root: Path) -> bool:
    """Whether the submission has a module or package of a name, in whatever case it is written."""
    wanted = {top.casefold(), f"{top}.py".casefold()}
    return any(
        entry.name.casefold() in wanted
        for folder in map(Path, sys.path)
        if folder.is_relative_to(root) and folder.is_dir()
        for entry in folder.iterdir()
    )


def own(module: str, suffixes: tuple[str, ...], root: Path) -> bool:
    """Whether the submission has a file of a module's name with one of these endings."""
    places = [Path(path, *module.split(".")) for path in sys.path]
    return any(
        place.with_name(place.name + suffix).exists()
        for place in places
        if place.is_relative_to(root)
        for suffix in suffixes
    )
