"""The chapters of a course text, and the problems that each is about."""

import re
import tomllib
from pathlib import Path

from .model import RubricError

COURSE = "course"
# A chapter begins with a comment that holds TOML: problems = ["rope"].
FRONT = re.compile(r"\A<!--\n(.*?)^-->\n", re.MULTILINE | re.DOTALL)


def chapters(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the chapters of an assignment in order, each with the problems it is about.

    They are the files of its folder ``course`` whose names begin with two digits; there are none
    where it has no such folder.

    Raises:
        RubricError: a chapter does not begin with its problems.
    """
    files = sorted((folder / COURSE).glob("[0-9][0-9]_*.md"))
    return {f"{COURSE}/{path.name}": problems_of(path) for path in files}


def problems_of(path: Path) -> tuple[str, ...]:
    """Return the problems that a chapter names at its beginning."""
    front = FRONT.match(path.read_text(encoding="utf-8"))
    try:
        return tuple(tomllib.loads(front[1] if front else "")["problems"])
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise RubricError(
            f"{path}: a chapter begins with a comment of three lines, "
            'whose second is problems = ["name", ...], or problems = []'
        ) from error


def chapter_of_problems(folder: Path) -> dict[str, str]:
    """Return the chapter of each problem that has one.

    Raises:
        RubricError: a chapter does not begin with its problems.
    """
    return {problem: file for file, problems in chapters(folder).items() for problem in problems}
