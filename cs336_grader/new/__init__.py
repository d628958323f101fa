"""Writes a new assignment of one solved example problem, which its author then changes."""

import keyword
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"
# Ends the name of a file that is a template.
ENDING = ".jinja"
# What is made of the files once they are written.
STEPS = (
    ("pytest", "-q", "-p", "no:cacheprovider", "--update-snapshots"),
    ("cs336_grader.audit.fingerprints", "."),
)
MOST_TOLD = 2000


class CouldNotMakeError(Exception):
    """The assignment could not be made; the text says why."""


def files(package: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file, with the package's name put in."""
    environment = Environment(  # noqa: S701 (no HTML)
        loader=PackageLoader(__package__),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    for path in sorted(TEMPLATES.rglob(f"*{ENDING}")):
        name = path.relative_to(TEMPLATES).as_posix()
        text = environment.get_template(name).render(package=package)
        name = name.removesuffix(ENDING).replace("package/", f"{package}/")
        yield ".gitignore" if name == "gitignore" else name, text


def package_name(folder: Path) -> str:
    """Return a name for the package: the folder's, as Python takes it.

    >>> package_name(Path("Linear algebra 1"))
    'linear_algebra_1'
    >>> package_name(Path("2nd"))
    'assignment_2nd'
    """
    name = re.sub(r"\W+", "_", folder.name.lower(), flags=re.ASCII).strip("_")
    taken = name in {"tests", "known_mistakes", "correct_variants", *sys.stdlib_module_names}
    if not name.isidentifier() or keyword.iskeyword(name) or taken:
        return f"assignment_{name}".rstrip("_")
    return name


def make(folder: Path) -> None:
    """Write an assignment to an empty folder or a new one, whole or not at all.

    Raises:
        CouldNotMakeError: its own checks could not be run.
        OSError: a file cannot be written.
    """
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as waiting:
        made = Path(waiting, folder.name)
        for name, text in files(package_name(folder)):
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        for step in STEPS:
            run(step, made)
        if folder.is_dir():
            folder.rmdir()
        os.replace(made, folder)


def run(step: tuple[str, ...], folder: Path) -> None:
    """Run a module of Python in a folder.

    Raises:
        CouldNotMakeError: it failed.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", *step],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # pytest ends with 1 where it wrote snapshots.
    if ended.returncode not in {0, 1} or (ended.returncode == 1 and step[0] != "pytest"):
        raise CouldNotMakeError((ended.stdout + ended.stderr)[-MOST_TOLD:])
