"""Tells a failed case in words: what was asked, what was found and where, how to run it alone.

Whoever wants a traceback asks for one: --tb=short, --pdb.
"""

import shlex
import shutil
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from .comparison import CheckFailedError
from .suite_folder import SuiteFolder, suite_folder

HERE = Path(__file__).parent
# An exception may speak of every weight of a model.
MOST_LINES = 24
MOST_PLACES = 4
ALONE = "Run it alone:"


class Terminal(Protocol):
    """What pytest writes to."""

    fullwidth: int

    def line(self, text: str = "", **markup: bool) -> None:
        """Write a line."""


@dataclass(frozen=True)
class Failure:
    """A failed case, as pytest shows it.

    Attributes:
        requirement: what was asked.
        found: what was found instead, or what was raised.
        places: where in the student's code that was, innermost first; else where in the check.
        command: runs the check alone.
    """

    requirement: str
    found: str
    places: tuple[str, ...]
    command: str

    def toterminal(self, terminal: Terminal) -> None:
        """Write it."""
        width = terminal.fullwidth
        terminal.line("\n".join(wrapped(self.requirement, "", width)), bold=True)
        lines = [line for text in self.found.split("\n") for line in wrapped(text, "  ", width)]
        for line in lines[:MOST_LINES]:
            terminal.line(line, red=True)
        if len(lines) > MOST_LINES:
            terminal.line(f"  ({len(lines) - MOST_LINES} more lines)")
        for line in self.places:
            # What stands there is left out where it does not fit.
            fits = len(line) + 2 <= width
            terminal.line(f"  {line if fits else line.partition(': ')[0]}")
        # In one line, so that it can be copied.
        fits = len(f"  {ALONE} {self.command}") <= width
        for line in [f"{ALONE} {self.command}"] if fits else [ALONE, self.command]:
            terminal.line(f"  {line}")

    def __str__(self) -> str:
        """The same without colours, for reports that are no terminal."""
        return "\n".join((self.requirement, self.found, *self.places))


def run_pytest() -> str:
    """What runs the checks here: where uv is not installed, the Makefile's own copy of it."""
    own = Path(".uv", "bin", "uv")
    return f"{'uv' if shutil.which('uv') or not own.is_file() else own} run pytest"


def import_failure(error: Exception, suite: SuiteFolder, folder: Path | None) -> str:
    """What is told where the adapters cannot be imported, so that there is nothing to check.

    Args:
        error: what was raised.
        suite: the suite.
        folder: where the adapters are, if not beside the suite.
    """
    _, places = where(error, suite, folder)
    lines = ["Nothing was checked, because tests/adapters.py cannot be imported."]
    lines += [f"  {line}" for line in (*found(error, raised=True).split("\n"), *places)]
    missing = str(getattr(error, "name", "")).partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and not ((folder or suite.root) / missing).exists():
        lines.append(
            f"  Your code imports {missing}. If that is a package and no misspelt name, "
            "look at it before you install it, and add it to the dependencies in pyproject.toml."
        )
    lines.append(f"  The whole traceback: {run_pytest()} -x --tb=short")
    return "\n".join(lines)


def failure(item: pytest.Item, call: pytest.CallInfo[None]) -> Failure | None:
    """What is told of a case that failed, or nothing where pytest's own words were asked for."""
    option, suite = item.config.option, suite_folder(item.config)
    error = None if call.excinfo is None else call.excinfo.value
    wanted = option.tbstyle == "auto" and item.path.parent == suite.path
    if error is None or isinstance(error, pytest.skip.Exception) or not wanted:
        return None
    requirement = (getattr(getattr(item, "function", None), "__doc__", "") or item.name).strip()
    raised, places = where(error, suite, option.adapters_from)
    words = [*run_pytest().split(), item.nodeid.partition("[")[0]]
    words += [f"--adapters-from={option.adapters_from}"] if option.adapters_from else []
    words += [f"--seed={option.seed}"] if option.seed else []
    # Where the check found a value wrong, there is nothing to trace.
    words += [] if is_found_by_check(error, raised) else ["--tb=short"]
    return Failure(requirement, found(error, raised), tuple(places), shlex.join(words))


def is_found_by_check(error: BaseException, raised: bool) -> bool:
    """Whether the check itself found something wrong, and nothing else was raised."""
    return isinstance(error, AssertionError | pytest.fail.Exception) and not raised


def found(error: BaseException, raised: bool) -> str:
    """What an exception says, what it most often means first.

    Args:
        error: the exception.
        raised: whether it comes from the student's code, or from what that calls.
    """
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, CheckFailedError):
        said = "\n".join(filter(None, (error.observation, error.facts)))
    elif is_found_by_check(error, raised):
        # pytest may have added what the assertion compared.
        said = str(error).partition("\nassert ")[0] or "The requirement is not met."
    elif not raised:
        said = f"The check cannot use what came back: {said}"
    return "\n".join([*getattr(error, "__notes__", ()), said])


def where(error: BaseException, suite: SuiteFolder, folder: Path | None) -> tuple[bool, list[str]]:
    """Whether an exception comes from the student's code, and the lines that led to it.

    Args:
        error: the exception.
        suite: the suite.
        folder: where the adapters are, if not beside the suite.
    """
    here = [suite.root, *([] if folder is None else [folder.resolve()])]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if any(Path(frame.filename).is_relative_to(root) for root in here)
        and "site-packages" not in Path(frame.filename).parts
    ]
    own = [frame for frame in frames if not is_of_the_suite(frame, suite)]
    checks = [frame for frame in frames if Path(frame.filename).name.startswith("test_")]
    told = [
        f"{'at' if i == 0 else 'called at'} {place(frame.filename, frame.lineno)}"
        f" in {frame.name}: {frame.line}"
        for i, frame in enumerate(reversed(own[-MOST_PLACES:]))
    ]
    if isinstance(error, SyntaxError) and error.filename:
        told.insert(0, f"at {place(error.filename, error.lineno)}: {(error.text or '').strip()}")
    if not told and checks:
        told = [f"the check is at {place(checks[-1].filename, checks[-1].lineno)}"]
    return (bool(own) and frames[-1] is own[-1]) or isinstance(error, SyntaxError), told


def is_of_the_suite(frame: traceback.FrameSummary, suite: SuiteFolder) -> bool:
    """Whether a line is of the checks, or of what they are made with."""
    path = Path(frame.filename)
    of_checks = path.parent == suite.path and path.name != "adapters.py"
    return of_checks or path.is_relative_to(HERE)


def place(file: str, line: int | None) -> str:
    """A file and a line, as editors and terminals understand it."""
    path = Path(file)
    near = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{near.as_posix()}:{line or 1}"


def wrapped(text: str, indent: str, width: int) -> list[str]:
    """A line cut to a width; what continues it is indented as it is, and no word is cut."""
    own = indent + text[: len(text) - len(text.lstrip())].expandtabs(4)
    return textwrap.wrap(
        text.strip(),
        width,
        initial_indent=own,
        subsequent_indent=own,
        break_long_words=False,
        break_on_hyphens=False,
    )
