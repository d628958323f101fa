"""Names what a search for explanations needs to know of an assignment."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cs336_checks.rubric import Assignment, Lead

# The search may take this share of the time for all checks, in addition to it.
EXPLAINING_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of an assignment that a diagnosis needs to know.

    Attributes:
        catalogue: the module that holds known mistakes.
        problems: the problem of each check.
        titles: the title of each problem.
        built_on: for each problem, those it is built on, directly or not.
        seconds: how long the search may take for all problems together.
        lead: how far students are led to a mistake.
    """

    catalogue: str
    problems: Mapping[str, str]
    titles: Mapping[str, str]
    built_on: Mapping[str, Sequence[str]]
    seconds: float
    lead: Lead = Lead.NAME


def catalogue(assignment: Assignment) -> str | None:
    """Return the package or module that holds known mistakes, if the assignment's folder has it."""
    name = assignment.rubric.known_mistakes
    if name is None:
        return None
    place = assignment.folder.joinpath(*name.split("."))
    return name if place.is_dir() or place.with_suffix(".py").is_file() else None


def scope(assignment: Assignment, checks: Collection[str]) -> Scope | None:
    """Return what failed comparisons of these checks are explained with, if mistakes are known."""
    name, rubric = catalogue(assignment), assignment.rubric
    if name is None:
        return None
    return Scope(
        name,
        {check: assignment.checks[check].problem for check in checks},
        {name: problem.title for name, problem in rubric.problems.items()},
        {problem: rubric.below(problem) for problem in rubric.problems},
        EXPLAINING_SHARE * rubric.limits.submission_seconds,
        rubric.feedback.mistakes,
    )
