"""What all submissions of a class are graded with; kept with the reports."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import cs336_checks
import cs336_grader
from cs336_checks.rubric import Assignment
from cs336_grader.reports.files import write

SETTINGS = "class.json"
CACHES = "__pycache__"


@dataclass(frozen=True, slots=True)
class Settings:
    """What all submissions of a class are graded with.

    Attributes:
        submissions: the folder that holds them.
        assignment: the assignment's folder.
        digest: of what grades: the assignment and the grader.
        seed: what all inputs derive from.
        tracks: as in a request.
        only: the same.
        isolation: the same.
        worker_python: the same.
    """

    submissions: str
    assignment: str
    digest: str
    seed: int
    tracks: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    isolation: str = "auto"
    worker_python: str = ""


ALL_SETTINGS = TypeAdapter(Settings)


def saved_settings(folder: Path) -> Settings | None:
    """What a class was graded with, if a folder holds one."""
    try:
        return ALL_SETTINGS.validate_json((folder / SETTINGS).read_bytes())
    except (OSError, ValidationError):
        return None


def save_settings(folder: Path, settings: Settings) -> None:
    """Keep what a class is graded with.

    Raises:
        OSError: it cannot be written.
    """
    write(folder / SETTINGS, ALL_SETTINGS.dump_json(settings, indent=2).decode())


def differences(before: Settings, now: Settings) -> list[str]:
    """What two settings do not have in common, a line each."""
    lines = []
    for name in Settings.__slots__:
        was, is_ = getattr(before, name), getattr(now, name)
        if name == "digest" and was != is_:
            lines.append("the grader or the assignment has changed since")
        elif was != is_:
            lines.append(f"{name.replace('_', ' ')}: was {in_words(was)}, now {in_words(is_)}")
    return lines


def in_words(setting: object) -> str:
    """A setting as people read it."""
    words = ", ".join(setting) if isinstance(setting, tuple) else str(setting)
    return words or "not named"


def with_digest(settings: Settings, assignment: Assignment) -> Settings:
    """The settings with the digest of what grades: the assignment, and this program."""
    parts = [assignment.folder / "tests", assignment.folder / assignment.rubric.package]
    if assignment.rubric.known_mistakes is not None:
        parts += assignment.folder.glob(f"{assignment.rubric.known_mistakes.partition('.')[0]}*")
    programs = map(Path, (*cs336_checks.__path__, *cs336_grader.__path__))
    return replace(settings, digest=digest_of([*parts, *programs]))


def digest_of(parts: Iterable[Path]) -> str:
    """A digest of files and folders, without what Python caches in them."""
    found = hashlib.sha256()
    for part in parts:
        for path in sorted([part, *part.rglob("*")]):
            if path.is_file() and CACHES not in path.parts:
                found.update(f"{path.relative_to(part.parent).as_posix()}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
