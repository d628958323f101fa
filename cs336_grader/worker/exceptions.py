"""Turns an exception into text: the judge gets none as an object."""

import os
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import NamedTuple, TypeGuard

from .channel import Message

MAX_TEXT = 4000
MAX_FRAMES = 4
MAX_NAME = 200
NAME_OF_IMPORT = re.compile(r"cannot import name '([\w.]+)'")
# Files that a compiled module is built from, or that describe one that is not built.
COMPILED_SUFFIXES = (".pyi", ".pyx", ".cpp", ".cc", ".c", ".rs")
PYTHON = "Python"
NOT_HERE = "which the grading environment does not have."


class Origin(NamedTuple):
    """A submission's place and needs, which explain its exceptions.

    Attributes:
        root: its folder.
        package: the name of the student's package.
        unmet: the versions that it asks for and that are not installed, in words, by the name
            that imports use or "Python".
    """

    root: Path
    package: str
    unmet: Mapping[str, str] = MappingProxyType({})


def describe(error: BaseException, origin: Origin | None) -> Message:
    """Describe an exception: its type and text, and the places in the submission that raised it."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be read)"
    if origin is not None:  # the folder that a submission is copied to means nothing to its author
        text = text.replace(f"{origin.root}{os.sep}", "")
    frames = own_frames(error, origin.root) if origin is not None else []
    places = [place for place, _ in frames]
    return {
        "op": "error",
        "type": type(error).__name__[:MAX_TEXT],
        "text": text[:MAX_TEXT].encode("utf-8", "replace").decode(),
        "places": places[-MAX_FRAMES:],
        "missing": None if origin is None else missing(error, origin, frames),
    }


def own_frames(error: BaseException, root: Path) -> list[tuple[str, str]]:
    """Return the places in a submission that led to an exception, each with its function."""
    found = [
        (f"{Path(frame.filename).relative_to(root)}:{frame.lineno}", frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(root)
    ]
    if isinstance(error, SyntaxError):
        file = Path(error.filename or "")
        if file.is_relative_to(root):
            found.append((f"{file.relative_to(root)}:{error.lineno}", "<module>"))
    return found


def missing(error: BaseException, origin: Origin, frames: list[tuple[str, str]]) -> str | None:
    """Say what the environment lacks, if that is the reason for an exception."""
    where = f" ({frames[-1][0]})" if frames else ""
    if isinstance(error, ImportError) and is_short_text(error.name):
        return not_imported(error, error.name, origin, where)
    if isinstance(error, AttributeError):
        return not_there(error, origin, where)
    is_importing = any(function == "<module>" for _, function in frames)
    if (
        PYTHON in origin.unmet
        and is_importing
        and isinstance(error, TypeError | NameError | SyntaxError)
    ):
        asked = origin.unmet[PYTHON]
        return f"Your code cannot be imported here{where}. It asks for {asked}."
    return None


def not_imported(error: ImportError, module: str, origin: Origin, where: str) -> str | None:
    """Say what an import did not find, unless that is code of the submission."""
    top = module.partition(".")[0]
    found = NAME_OF_IMPORT.match(str(error))
    full = module if found is None else f"{module}.{found[1]}"
    if own(full, COMPILED_SUFFIXES, origin.root):
        return (
            f"Your code imports {full}{where}. It is a compiled module of the submission, and the "
            "grader builds none."
        )
    if isinstance(error, ModuleNotFoundError):
        if top == origin.package or has(top, origin.root):
            return None
        asked = asked_for(top, origin) or (
            "The name comes from the submission, which declares no package of this name."
        )
        return f"Your code imports {top}{where}, {NOT_HERE} {asked}"
    if found is None or error.path is None or Path(error.path).is_relative_to(origin.root):
        return None
    return f"Your code imports {found[1]} of {module}{where}, {NOT_HERE} {asked_for(top, origin)}"


def not_there(error: AttributeError, origin: Origin, where: str) -> str | None:
    """Say what an installed module lacks, if the submission asks for another version."""
    owner = error.obj
    if not isinstance(owner, ModuleType | type):
        return None
    module = getattr(owner, "__name__" if isinstance(owner, ModuleType) else "__module__", None)
    if not is_short_text(module):
        return None
    asked = asked_for(module.partition(".")[0], origin)
    if not asked or not is_short_text(error.name):
        return None
    return f"Your code uses {error.name} of {module}{where}, {NOT_HERE} {asked}"


def asked_for(top: str, origin: Origin) -> str:
    """Name the version that the submission asks for, if it is not installed."""
    asked = origin.unmet.get(PYTHON if top in sys.stdlib_module_names else top)
    return "" if asked is None else f"The submission asks for {asked}."


def is_short_text(value: object) -> TypeGuard[str]:
    """Return True for a text that can be a module's name; the value may be anything."""
    return type(value) is str and 0 < len(value) <= MAX_NAME


def has(top: str, root: Path) -> bool:
    """Return True if the submission has a module or package of a name, in upper or lower case."""
    wanted = {top.casefold(), f"{top}.py".casefold()}
    return any(
        entry.name.casefold() in wanted
        for folder in map(Path, sys.path)
        if folder.is_relative_to(root) and folder.is_dir()
        for entry in folder.iterdir()
    )


def own(module: str, suffixes: tuple[str, ...], root: Path) -> bool:
    """Return True if the submission has a file of a module's name with one of these endings."""
    places = [Path(path, *module.split(".")) for path in sys.path]
    return any(
        place.with_name(place.name + suffix).exists()
        for place in places
        if place.is_relative_to(root)
        for suffix in suffixes
    )
