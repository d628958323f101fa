"""What is in a student's repository, and whose it is."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import cs336_checks
from cs336_checks.rubric import RUBRIC, Assignment, Problem, RubricError
from cs336_grader.judging.choice import known_names
from cs336_grader.reports.summary import listed

from .course import course_files, linked_files
from .manifest import MANIFEST, manifest
from .outline import Outline, outline
from .sources import ADAPTERS
from .stripping import is_worth_having, stripped
from .student_files import WRITTEN, tasks, write

# What travels as it is. All else of the author's stays behind, unless it is made from a template.
TRAVELS = (
    ".gitattributes",
    "LICENSE",
    "tests/*.py",
    "tests/rubric.toml",
    "tests/fixtures/**/*",
    "tests/_snapshots/**/*",
    "tests/_fingerprints/*.npz",
    "tests/_fingerprints/mistakes.json",
)
# Keys of the rubric that name what stays behind.
HIDDEN_KEYS = ("known_mistakes", "correct_variants", "degenerate_work")


@dataclass(frozen=True, slots=True)
class Handout:
    """A student's repository.

    Attributes:
        assignment: the author's, limited to the problems that are handed out.
        tracks: those that were chosen; none where all are.
        files: every file by its path, with forward slashes and in order.
        own: those that are the student's from then on.
    """

    assignment: Assignment
    tracks: tuple[str, ...]
    files: dict[str, bytes]
    own: frozenset[str]


def build(assignment: Assignment, tracks: tuple[str, ...] = ()) -> Handout:
    """Make a student's repository from an author's; the same again gives the same bytes.

    Raises:
        UnknownNameError: there is no such track.
    """
    limited = chosen(assignment, tracks)
    parts = beneath(assignment, limited)
    found = outline(limited, parts)
    own = stubs(limited, found)
    told = {task.id: task for task in tasks(limited, found)}
    text = course_files(limited, told, parts)
    files = {**travelling(assignment.folder), **text, **own}
    files[RUBRIC.as_posix()] = public_rubric(files[RUBRIC.as_posix()])
    for name in WRITTEN:
        files[name] = write(name, limited, found, tracks).encode()
    files[MANIFEST] = manifest(limited.rubric.title, tracks, files, own)
    return Handout(limited, tracks, dict(sorted(files.items())), frozenset(own))


def chosen(assignment: Assignment, tracks: tuple[str, ...]) -> Assignment:
    """The assignment with the problems of some tracks; with all, where none is named."""
    known_names("track", tracks, tuple(assignment.rubric.tracks))
    problems = assignment.rubric.problems.items()
    return assignment.limited_to(
        {name for name, problem in problems if not tracks or problem.track in tracks}
    )


def beneath(assignment: Assignment, limited: Assignment) -> dict[str, Problem]:
    """The problems that handed-out problems are built on and that are not handed out, in order."""
    every, kept = assignment.rubric, limited.rubric.problems
    needed = {other for name in kept for other in every.below(name)} - kept.keys()
    return {name: problem for name, problem in every.problems.items() if name in needed}


def travelling(folder: Path) -> dict[str, bytes]:
    """Return the files that come as they are: the author's, and the library for checks."""
    library = Path(cs336_checks.__file__).parent
    copy = {
        f"{library.name}/{path.relative_to(library).as_posix()}": path.read_bytes()
        for path in library.rglob("*.py")
    }
    return copy | {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for pattern in TRAVELS
        for path in folder.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def stubs(assignment: Assignment, found: Outline) -> dict[str, bytes]:
    """The student's own files: the package and the adapters, without the solution."""
    package = f"{assignment.rubric.package}/__init__.py"
    files = {package: f'"""{assignment.rubric.title}: your solution."""\n'}
    for file, source in found.sources.items():
        text = stripped(
            source.text,
            found.stubs.get(file, {}),
            found.whole.get(file, ()),
            found.aside.get(file, {}),
        )
        if is_worth_having(text):
            files[file] = text
    for file in [name for name in files if name != ADAPTERS.as_posix()]:
        for folder in Path(file).parents[:-1]:
            files.setdefault(f"{folder.as_posix()}/__init__.py", "")
    return {file: text.encode() for file, text in files.items()}


def modules(assignment: Assignment) -> list[bytes]:
    """All modules that students are given, whichever tracks their repository was made for."""
    choices = ((), *((track,) for track in assignment.rubric.tracks))
    given = [
        stubs(limited, outline(limited, beneath(assignment, limited)))
        for limited in (chosen(assignment, tracks) for tracks in choices)
    ]
    for_all = travelling(assignment.folder), linked_files(assignment.folder)
    files = [entry for made in (*for_all, *given) for entry in made.items()]
    return [source for file, source in files if file.endswith(".py")]


def public_rubric(text: bytes) -> bytes:
    """The rubric without the keys that name what stays behind.

    Raises:
        RubricError: the keys are written in a way that is not understood.
    """
    public = re.sub(rf"(?m)^(?:{'|'.join(HIDDEN_KEYS)}) *=.*\n", "", text.decode())
    left = tomllib.loads(public)
    if any(name in left for name in HIDDEN_KEYS):
        raise RubricError(f"{RUBRIC.as_posix()}: write {listed(HIDDEN_KEYS)} on a line each")
    return public.encode()
