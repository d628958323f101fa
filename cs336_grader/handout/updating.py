"""Brings a student's repository up to date: what is the author's is replaced, nothing else.

Three states of every file are compared: as it was handed out, as it is there, and as it would be
handed out now. What somebody has changed there is left alone and told. All is decided before
anything is written, and each file is replaced at once, so no work is lost at any moment, committed
or not.
"""

import ast
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .contents import Handout
from .manifest import MANIFEST, Manifest, ManifestError, digest
from .sources import ADAPTERS


class Action(StrEnum):
    """What becomes of a file."""

    ADD = "added"
    REPLACE = "updated"
    DELETE = "deleted"
    LEAVE = "left as it is"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a file of a student's repository.

    Attributes:
        why: why it is left as it is, though it would be handed out otherwise now.
    """

    file: str
    action: Action
    why: str = ""


def plan(handout: Handout, before: Manifest, repository: Path) -> list[Change]:
    """What is to be done to a student's repository, in order.

    Raises:
        ManifestError: a file or folder in it leads elsewhere.
    """
    changes = [
        change
        for file in sorted({*handout.files, *before.files} - {MANIFEST})
        if (change := decided(file, handout, before, repository)) is not None
    ]
    if digest(handout.files[MANIFEST]) != state(repository, MANIFEST):
        changes.append(Change(MANIFEST, Action.REPLACE))
    return changes


def decided(file: str, handout: Handout, before: Manifest, repository: Path) -> Change | None:
    """What is to be done to a file, if anything."""
    there = state(repository, file)
    if file in handout.own or file in before.own:
        # A stub that is new and not in anybody's way; any other is the student's.
        new = there is None and file in handout.own and file not in {*before.own, *before.files}
        return Change(file, Action.ADD) if new else None
    was = before.files.get(file)
    now = digest(handout.files[file]) if file in handout.files else None
    if there == now or (there is not None and was == now):
        return None
    if there is None:
        return Change(file, Action.ADD)
    if there != was:
        why = "it was changed here" if was else "it was here before"
        return Change(file, Action.LEAVE, f"{why}; delete it and update again to have the author's")
    return Change(file, Action.DELETE if now is None else Action.REPLACE)


def state(repository: Path, file: str) -> str | None:
    """The digest of a file that is there.

    Raises:
        ManifestError: it is no file, or leads out of the repository.
    """
    path = repository / file
    for part in (path, *path.parents):
        if part == repository:
            break
        if part.is_symlink():
            raise ManifestError(f"{part} is a link; what it leads to is not touched")
    if path.is_dir():
        raise ManifestError(f"{path} is a folder where a file is expected")
    return digest(path.read_bytes()) if path.is_file() else None


def carry_out(changes: list[Change], handout: Handout, repository: Path) -> None:
    """Do what was planned; the list of what was handed out comes last."""
    for change in changes:
        path = repository / change.file
        match change.action:
            case Action.ADD | Action.REPLACE:
                replace(path, handout.files[change.file])
            case Action.DELETE:
                path.unlink()


def replace(path: Path, content: bytes) -> None:
    """Write a file that is whole at any moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        fresh.write_bytes(content)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def missing_adapters(handout: Handout, repository: Path) -> Iterator[str]:
    """The stubs of adapters that a student's file does not have, which nobody else may add."""
    path = repository / ADAPTERS
    try:
        there = ast.parse(path.read_bytes()) if path.is_file() else ast.Module([], [])
    except (SyntaxError, ValueError):
        return
    names = {node.name for node in ast.walk(there) if isinstance(node, ast.FunctionDef)}
    source = handout.files[ADAPTERS.as_posix()].decode()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name not in names:
            yield ast.get_source_segment(source, node) or node.name
