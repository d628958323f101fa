"""The list of what was handed out, by which a later update knows what a student has changed."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

MANIFEST = ".handout.json"


class ManifestError(Exception):
    """A folder is no repository that was handed out; the text says why."""


def within(path: str) -> str:
    """A path that leads nowhere else, whoever wrote it."""
    parts = PurePosixPath(path).parts
    if (
        not parts
        or PurePosixPath(path).is_absolute()
        or {"..", ".git"} & set(parts)
        or "\\" in path
    ):
        raise ValueError("a path within the repository is expected")
    return path


RelativePath = Annotated[str, AfterValidator(within)]


class Manifest(BaseModel):
    """What was handed out.

    Attributes:
        tracks: the tracks that were chosen.
        files: the author's files, each with its digest.
        own: the files that were the student's from then on.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    title: str
    tracks: tuple[str, ...]
    files: dict[RelativePath, str]
    own: tuple[RelativePath, ...]


def digest(content: bytes) -> str:
    """The digest of a file, the same where git has changed the ends of its lines."""
    plain = content if b"\0" in content else content.replace(b"\r\n", b"\n")
    return hashlib.sha256(plain).hexdigest()


def manifest(
    title: str, tracks: tuple[str, ...], files: Mapping[str, bytes], own: Collection[str]
) -> bytes:
    """The manifest of a repository, as a file."""
    made = Manifest(
        title=title,
        tracks=tracks,
        files={path: digest(files[path]) for path in sorted(files) if path not in own},
        own=tuple(sorted(own)),
    )
    return (json.dumps(made.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """What was handed out to the student whose repository this is.

    Raises:
        ManifestError: nothing was, as far as can be told.
    """
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise ManifestError(f"{folder} was not handed out: it has no {MANIFEST}") from error
    except (ValidationError, OSError) as error:
        raise ManifestError(f"{folder / MANIFEST} cannot be read: {error}") from error
