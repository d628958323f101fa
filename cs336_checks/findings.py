"""Findings of failed cases, each cause told once."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any, Self

# Begins a line that is never broken, so that it can be copied.
ALONE = "Run it alone:"
# So many further checks are named where they fail in the same way.
MOST_NAMED = 4
# By so many characters at their beginning, two texts are the same but for numbers.
TELLING = 120
# So many causes of one problem are told in full.
MOST_TOLD = 3


class Clarity(IntEnum):
    """How much a finding tells of its cause; the clearest first."""

    NAMED = 0  # a known mistake gives the same
    RAISED = 1  # an exception, with its place in the student's code
    SEEN = 2  # a sentence says what is wrong
    NUMBERS = 3  # values differ, and no more is known


@dataclass(frozen=True)
class Finding:
    """The finding of a failed case.

    Attributes:
        check: the test function.
        problem: the problem it belongs to.
        requirement: what was asked.
        question: leads to the mistake without naming it.
        message: what was found.
        details: numbers and places.
        lines: where in the student's code it was raised, innermost first.
        command: runs the check alone.
        clarity: how much it tells of its cause.
        mistakes: the ids of the known mistakes that each give the same.
        case: the check with its file and parameters, as snapshots name it.
        candidates: the ids of all that give the same, told or not; None where nothing was compared
            that could tell.
    """

    check: str
    problem: str
    requirement: str
    question: str
    message: str
    details: str
    lines: tuple[str, ...]
    command: str
    clarity: Clarity
    mistakes: tuple[str, ...] = ()
    case: str = ""
    candidates: tuple[str, ...] | None = None

    @property
    def cause(self) -> tuple[str, ...]:
        """Equal for findings that have one cause, as far as their texts tell."""
        text = re.sub(r"[-+]?\d[\d.,e%+-]*", "#", self.message)[:TELLING]
        if self.clarity is Clarity.RAISED:
            return text, *self.lines[:1]
        return self.problem, text

    def without_explanation(self) -> Self:
        """Return the finding with its numbers alone."""
        message, _, details = self.details.partition("\n")
        return replace(
            self,
            question="",
            message=message,
            details=details,
            clarity=Clarity.NUMBERS,
            mistakes=(),
        )

    def plain(self) -> dict[str, Any]:
        """Return it as a dictionary, which can travel between processes."""
        return {**asdict(self), "clarity": int(self.clarity)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        """Return the finding of a dictionary."""
        lists = {
            name: tuple(plain[name])
            for name in ("lines", "mistakes", "candidates")
            if plain[name] is not None
        }
        return cls(**{**plain, **lists, "clarity": Clarity(plain["clarity"])})


@dataclass
class Cause:
    """Findings that have one cause.

    Attributes:
        findings: the finding that is told, then the others.
        mistakes: the known mistakes that explain all of them.
    """

    findings: list[Finding]
    mistakes: frozenset[str]

    @property
    def told(self) -> Finding:
        """The finding that is told, if it can be of the problem that a mistake belongs to."""
        own = (one for one in self.findings if f"{one.problem}/" in " ".join(self.mistakes))
        return next(own, self.findings[0])

    def others(self) -> str:
        """Return a sentence on the other checks that fail in the same way.

        Those of the problem itself are named, those of others counted.
        """
        told = self.told
        checks = dict.fromkeys((one.problem, one.check) for one in self.findings)
        checks.pop((told.problem, told.check))
        if not checks:
            return ""
        own = [check for problem, check in checks if problem == told.problem]
        elsewhere = Counter(problem for problem, _ in checks if problem != told.problem)
        places = [named(own)] if own else []
        if elsewhere:
            places.append(f"in {counted(elsewhere)}")
        many = "1 more check fails" if len(checks) == 1 else f"{len(checks)} more checks fail"
        return f"{many} in the same way: {'; '.join(places)}."


def causes(findings: Iterable[Finding]) -> list[Cause]:
    """Return the causes of findings, in the order in which the checks come, the clearest first."""
    found: list[Cause] = []
    order: dict[str, int] = {}
    every = list(findings)
    for one in every:
        order.setdefault(one.problem, len(order))
    for one in sorted(every, key=lambda one: len(one.mistakes) or len(every)):
        cause = next((cause for cause in found if is_of(one, cause)), None)
        if cause is None:
            found.append(Cause([one], frozenset(one.mistakes)))
        else:
            cause.findings.append(one)
            cause.mistakes &= frozenset(one.mistakes)
    return sorted(found, key=lambda cause: (order[cause.told.problem], cause.told.clarity))


def is_of(finding: Finding, cause: Cause) -> bool:
    """Return True for a finding that a cause explains."""
    if finding.mistakes or cause.mistakes:
        return not cause.mistakes.isdisjoint(finding.mistakes)
    return finding.cause == cause.findings[0].cause


def lines(cause: Cause, chapter: str, *, verbose: bool) -> Iterator[str]:
    """Yield what is told of a cause in full, the requirement first and a chapter at the end."""
    told = cause.told
    yield f"{told.problem}: {told.requirement}"
    for text in (told.question, told.message, *told.lines, told.details if verbose else ""):
        yield from (f"  {line}" for line in text.split("\n") if line.strip())
    if others := cause.others():
        yield f"  {others}"
    if chapter:
        yield f"  Read more: {chapter}"
    yield f"  {ALONE} {told.command}"


def paragraphs(
    findings: Iterable[Finding],
    below: Callable[[str], Container[str]],
    chapters: Mapping[str, str],
    *,
    verbose: bool,
) -> Iterator[list[str]]:
    """Yield what is told of findings, a paragraph at a time.

    Args:
        findings: what failed cases found, in the order of the checks.
        below: returns the problems that a problem is built on.
        chapters: the chapter about each problem that has one; it is told once a problem, and not
            where a part fails that the problem is built on.
        verbose: whether numbers and places are told, and every cause.
    """
    found = causes(findings)
    problems = list(dict.fromkeys(cause.told.problem for cause in found))
    waiting: dict[str, int] = {}
    raised = False
    for name in problems:
        own = [cause for cause in found if cause.told.problem == name]
        parts_fail = any(other in below(name) for other in problems)
        if parts_fail and not verbose:
            # An exception may have nothing to do with the part. One is told in the whole run.
            most = Clarity.NAMED if raised else Clarity.RAISED
            full = [cause for cause in own if cause.told.clarity <= most][:1]
            raised |= any(cause.told.clarity is Clarity.RAISED for cause in full)
            waiting[name] = len({o.check for one in own if one not in full for o in one.findings})
            own = full
        if own:
            # What is to be read first is the chapter of the part.
            chapter = "" if parts_fail else chapters.get(name, "")
            yield from problem_lines(own, chapter, verbose=verbose)
    if any(waiting.values()):
        yield [f"Checks of what is built on this fail as well: {counted(waiting)}. All: -v."]


def problem_lines(found: Sequence[Cause], chapter: str, *, verbose: bool) -> Iterator[list[str]]:
    """Yield what is told of one problem: clear causes in full, of others the checks' names."""
    clear = [one for one in found if one.told.clarity < Clarity.NUMBERS] or found[:1]
    # The cases of one check may fail in several ways: the clearest is told.
    first: dict[str, Cause] = {}
    for cause in clear:
        first.setdefault(cause.told.check, cause)
    full = found if verbose else list(first.values())[:MOST_TOLD]
    for cause in full:
        yield list(lines(cause, chapter if cause is full[0] else "", verbose=verbose))
    told = {cause.told.check for cause in full}
    rest = (one.check for cause in found if cause not in full for one in cause.findings)
    names = [name for name in dict.fromkeys(rest) if name not in told]
    if names:
        verb = "fails" if len(names) == 1 else "fail"
        yield [f"  Also in {found[0].told.problem}: {named(names)} {verb} (all: -v)."]


def named(checks: Sequence[str]) -> str:
    """Return the names of checks, of many the first ones."""
    more = len(checks) - MOST_NAMED
    return ", ".join(checks[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def counted(problems: Mapping[str, int]) -> str:
    """Return the names of problems, each with its number of checks."""
    return ", ".join(f"{name} ({count})" for name, count in problems.items() if count)
