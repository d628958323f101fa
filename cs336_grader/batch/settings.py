"""What all submissions of a class are graded with; kept with the reports."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import cs336_checks
import cs336_grader
from cs336_checks.rubric import RUBRIC, Assignment, Rubric
from cs336_grader.reports.files import write

SETTINGS = "class.json"
CACHES = "__pycache__"


@dataclass(frozen=True, slots=True)
class Settings:
    """What all submissions of a class are graded with.

    Attributes:
        submissions: the folder that holds them.
        assignment: the assignment's folder.
        digest: of what grades: the assignment and the grader, without the points.
        points: a digest of what each problem and its parts are worth.
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
    points: str = ""
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
        if was == is_:
            continue
        if name == "digest":
            lines.append("the grader or the assignment has changed since")
        elif name == "points":
            lines.append("the points of the assignment have changed since")
        else:
            lines.append(f"{name.replace('_', ' ')}: was {in_words(was)}, now {in_words(is_)}")
    return lines


def in_words(setting: object) -> str:
    """A setting as people read it."""
    words = ", ".join(setting) if isinstance(setting, tuple) else str(setting)
    return words or "not named"


def with_digest(settings: Settings, assignment: Assignment) -> Settings:
    """Return the settings with the digests of what grades: the assignment, and this program."""
    tests = assignment.folder / "tests"
    parts = [path for path in tests.iterdir() if path.name != RUBRIC.name]
    parts.append(assignment.folder / assignment.rubric.package)
    if assignment.rubric.known_mistakes is not None:
        parts += assignment.folder.glob(f"{assignment.rubric.known_mistakes.partition('.')[0]}*")
    programs = map(Path, (*cs336_checks.__path__, *cs336_grader.__path__))
    files = digest_of([*sorted(parts), *programs])
    kept, points = without_points(assignment.rubric)
    return replace(settings, digest=text_digest(files + kept), points=text_digest(points))


def without_points(rubric: Rubric) -> tuple[str, str]:
    """Return a rubric without what problems are worth, and that alone."""
    kept = rubric.model_dump(mode="json")
    worth = {name: problem.pop("points") for name, problem in kept["problems"].items()}
    share = kept["scoring"].pop("edge_share")
    return json.dumps(kept, sort_keys=True), json.dumps([worth, share], sort_keys=True)


def text_digest(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(parts: Iterable[Path]) -> str:
    """A digest of files and folders, without what Python caches in them."""
    found = hashlib.sha256()
    for part in parts:
        for path in sorted([part, *part.rglob("*")]):
            if path.is_file() and CACHES not in path.parts:
                found.update(f"{path.relative_to(part.parent).as_posix()}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
