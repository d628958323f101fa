"""Describes a failed case: what was asked, what was found and where, how to run it alone.

Whoever wants a traceback asks for one: --tb=short, --pdb.
"""

import shlex
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from .comparison import CheckFailedError, Explanation
from .findings import Clarity, Finding
from .rubric import Lead
from .suite_folder import SuiteFolder, suite_folder

HERE = Path(__file__).parent
# An exception may speak of every weight of a model, and a sentence may repeat one.
MOST_LINES, MOST_CHARACTERS = 8, 400
MOST_PLACES = 2


@dataclass(frozen=True)
class Failure:
    """A failed case, as pytest shows it where nothing else tells it.

    Attributes:
        finding: what was found.
    """

    finding: Finding

    def toterminal(self, terminal: Any) -> None:
        """Write it."""
        terminal.line(str(self))

    def __str__(self) -> str:
        """Return it as text."""
        told = self.finding
        parts = (told.requirement, told.question, told.message, told.details, *told.lines)
        return "\n".join(filter(None, parts))


def import_failure(error: Exception, suite: SuiteFolder, folder: Path | None) -> str:
    """Return what is told where the adapters cannot be imported, so that nothing is checked.

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
    lines.append(f"  The whole traceback: {suite.command} -x --tb=short")
    return "\n".join(lines)


def finding_of(item: pytest.Item, call: pytest.CallInfo[None]) -> Finding | None:
    """Return what a failed case found, or None where pytest's own words were asked for."""
    option, suite = item.config.option, suite_folder(item.config)
    error = None if call.excinfo is None else call.excinfo.value
    wanted = option.tbstyle == "auto" and item.path.parent == suite.path
    if error is None or isinstance(error, pytest.skip.Exception) or not wanted:
        return None
    requirement = (getattr(getattr(item, "function", None), "__doc__", "") or item.name).strip()
    raised, places = where(error, suite, option.adapters_from)
    words = [*shlex.split(suite.command), item.nodeid.partition("[")[0]]
    words += [f"--adapters-from={option.adapters_from}"] if option.adapters_from else []
    words += [f"--seed={option.seed}"] if option.seed else []
    # Where the check found a value wrong, there is nothing to trace.
    words += [] if is_found_by_check(error, raised) else ["--tb=short"]
    check = getattr(item, "originalname", item.name)
    made = Finding(
        check,
        suite.problem_of.get(check, ""),
        requirement,
        "",
        cut(found(error, raised)),
        "",
        tuple(places),
        shlex.join(words),
        Clarity.SEEN if is_found_by_check(error, raised) else Clarity.RAISED,
    )
    if isinstance(error, CheckFailedError) and error.comparison is not None:
        return compared(made, error, suite.rubric.feedback.mistakes)
    return made


def compared(made: Finding, error: CheckFailedError, lead: Lead) -> Finding:
    """Return a finding with what explains the comparison that failed, as far as it is told."""
    explanation = error.explanation or Explanation("")
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    first, _, rest = error.facts.partition("\n")
    hidden = bool(explanation.mistakes) and lead is not Lead.NAME
    if hidden or not explanation.statement:
        clarity = Clarity.NUMBERS if " differ" in first or "NaN" in first else Clarity.SEEN
        message, details = first, rest
    else:
        clarity = Clarity.NAMED if explanation.mistakes else Clarity.SEEN
        message, details = explanation.statement, error.facts
    return replace(
        made,
        question="" if lead is Lead.REQUIREMENT else explanation.question,
        message=cut("\n".join([*notes, message])),
        details=cut(details),
        clarity=clarity,
        mistakes=explanation.mistakes,
        case=error.comparison.check if error.comparison else "",
        candidates=explanation.candidates,
    )


def cut(text: str) -> str:
    """Return the beginning of a text, and how much is left out."""
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]} … ({len(text) - MOST_CHARACTERS:,} more characters)"
    lines = text.split("\n")
    more = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], *([f"({more} more lines)"] if more > 0 else [])])


def is_found_by_check(error: BaseException, raised: bool) -> bool:
    """Return True if the check itself found something wrong, and nothing else was raised."""
    return isinstance(error, AssertionError | pytest.fail.Exception) and not raised


def found(error: BaseException, raised: bool) -> str:
    """Return what an exception says, what it most often means first.

    Args:
        error: the exception.
        raised: whether it comes from the student's code, or from what that calls.
    """
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, CheckFailedError):
        said = error.facts
    elif is_found_by_check(error, raised):
        # pytest may have added what the assertion compared.
        said = str(error).partition("\nassert ")[0] or "The requirement is not met."
    elif not raised:
        said = f"The check cannot use what came back. Are its type and shape right? {said}"
    return "\n".join([*getattr(error, "__notes__", ()), said])


def where(error: BaseException, suite: SuiteFolder, folder: Path | None) -> tuple[bool, list[str]]:
    """Return True if an exception comes from the student's code, and the lines that led to it.

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
    told = [
        f"{'at' if i == 0 else 'called at'} {place(frame.filename, frame.lineno)}"
        f" in {frame.name}: {frame.line}"
        for i, frame in enumerate(reversed(own[-MOST_PLACES:]))
    ]
    if isinstance(error, SyntaxError) and error.filename:
        told.insert(0, f"at {place(error.filename, error.lineno)}: {(error.text or '').strip()}")
    return (bool(own) and frames[-1] is own[-1]) or isinstance(error, SyntaxError), told


def is_of_the_suite(frame: traceback.FrameSummary, suite: SuiteFolder) -> bool:
    """Return True for a line of the checks, or of this library."""
    path = Path(frame.filename)
    of_checks = path.parent == suite.path and path.name != "adapters.py"
    return of_checks or path.is_relative_to(HERE)


def place(file: str, line: int | None) -> str:
    """A file and a line, as editors and terminals understand it."""
    path = Path(file)
    near = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{near.as_posix()}:{line or 1}"
