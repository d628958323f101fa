"""An autograder archive: the grader, the assignment, and the scripts that a platform runs."""

import shlex
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

import cs336_checks
import cs336_grader
from cs336_checks.rubric import Assignment, chapters
from cs336_grader.project import dependencies, pinned

PROGRAMS = [Path(path) for package in (cs336_checks, cs336_grader) for path in package.__path__]
# The distribution that holds the grader, with what submissions often import.
GRADER_NEEDS = "cs336[grader,submissions]"
PERCENT = 100.0
# Many submissions ask for no earlier one.
PYTHON = (3, 12)
SCRIPTS = ("setup.sh", "run_autograder")
# No member is dated, so that the same files make the same archive.
DATE = (1980, 1, 1, 0, 0, 0)
EXECUTABLE, PLAIN = 0o100755, 0o100644


def gradescope(
    assignment: Assignment, minutes: int, tracks: tuple[str, ...] = ()
) -> dict[str, bytes]:
    """The files of an autograder for Gradescope, by name and in order.

    Args:
        assignment: what is to be graded with it.
        minutes: the time limit that is set on the platform.
        tracks: what to grade; if none, each track that a submission attempts.

    Raises:
        PackageNotFoundError: a package that the grader or the assignment needs is not installed.
    """
    files = {name: path.read_bytes() for name, path in packed(assignment)}
    version = ".".join(map(str, max(sys.version_info[:2], PYTHON)))
    words = ["--minutes", str(minutes), "--worth", f"{worth(assignment, tracks):g}"]
    words += [word for name in tracks for word in ("--track", name)]
    for script in SCRIPTS:
        template = templates().get_template(f"{script}.jinja")
        files[script] = template.render(python=version, options=shlex.join(words)).encode()
    needed = [GRADER_NEEDS, *dependencies(assignment.folder)]
    pins = [pin for pin in pinned(needed) if not pin.startswith("cs336==")]
    files["requirements.txt"] = "".join(f"{pin}\n" for pin in pins).encode()
    return dict(sorted(files.items()))


def worth(assignment: Assignment, tracks: tuple[str, ...]) -> float:
    """The points for full marks on the platform, whichever tracks a submission attempts.

    If tracks are named, the points of these. Where students choose, the maximum of a submission
    depends on its tracks, but a platform has one maximum for all: the score is then a percentage.
    """
    rubric = assignment.rubric
    return rubric.full_marks(tracks) if tracks or len(rubric.tracks) < 2 else PERCENT


def packed(assignment: Assignment) -> Iterator[tuple[str, Path]]:
    """The modules, data and chapters that grading needs, each with its place in the archive."""
    for program in PROGRAMS:
        for path in files_below(program):
            yield f"{program.name}/{path.relative_to(program).as_posix()}", path
    for chapter in chapters(assignment.folder):
        yield chapter, assignment.folder / chapter
    rubric = assignment.rubric
    for name in filter(None, ("tests", rubric.package, rubric.known_mistakes)):
        place = assignment.folder.joinpath(*name.split("."))
        for path in (place.with_suffix(".py"), *files_below(place)):
            if path.is_file():
                yield path.relative_to(assignment.folder).as_posix(), path


def files_below(folder: Path) -> Iterator[Path]:
    """The files of a folder, without what running it has left there."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        left = any(part == "__pycache__" or part.startswith(".") for part in parts)
        if path.is_file() and not left:
            yield path


def write(files: dict[str, bytes], out: Path) -> None:
    """Write an archive; the same files give the same bytes.

    Raises:
        OSError: it cannot be written.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, DATE)
            member.create_system = 3  # Unix, whose permissions follow
            member.external_attr = (EXECUTABLE if name in SCRIPTS else PLAIN) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)


@cache
def templates() -> Environment:
    """The scripts, to be filled with a version and with options that are quoted already."""
    return Environment(  # noqa: S701 (no HTML)
        loader=PackageLoader(__package__), undefined=StrictUndefined, keep_trailing_newline=True
    )
