"""Proves a student's repository before it is handed out.

Three things are tried, each as a student would meet it: nothing of the solution is in it; every
check runs on the stubs, passes none, and says which problem is not written yet; with the reference
put back, every check passes.
"""

import ast
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from cs336_checks.rubric import Assignment
from cs336_grader.project import dependencies, unmet

from .contents import Handout
from .environment import Case, Environment, Findings, fresh_environment
from .leaks import leaks
from .sources import ADAPTERS

# Of each kind of fault, so many are told.
SHOWN = 10


def prove(
    assignment: Assignment, handout: Handout, tell: Callable[[str], object] = lambda _: None
) -> list[str]:
    """What does not hold of a student's repository, one sentence each; nothing if all holds.

    Args:
        assignment: the author's.
        handout: what was made of it.
        tell: is told what is tried next.

    Raises:
        ProofError: it could not be tried.
    """
    tell("Looking for the solution in what is handed out.")
    faults = [
        f"{leak.file} has what should stay behind: {leak.what} ({leak.origin})"
        for leak in leaks(assignment, handout)[:SHOWN]
    ]
    faults += unmet(dependencies(assignment.folder))
    if faults:
        return faults
    with tempfile.TemporaryDirectory() as folder:
        environment = fresh_environment(Path(folder, "environment"))
        tell("Running the checks on the stubs, in a fresh environment without network.")
        faults = try_stubs(handout, environment, Path(folder, "stubs"))
        if not faults:
            tell("Running them with the reference put back.")
            faults = try_reference(assignment, handout, environment, Path(folder, "reference"))
    return faults


def lay_out(handout: Handout, folder: Path) -> None:
    """Write a student's repository."""
    for file, content in handout.files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def try_stubs(handout: Handout, environment: Environment, folder: Path) -> list[str]:
    """What does not hold of the stubs."""
    lay_out(handout, folder)
    faults = list(wrong_on_stubs(handout.assignment, run(handout, environment, folder)))
    return faults[:SHOWN]


def try_reference(
    assignment: Assignment, handout: Handout, environment: Environment, folder: Path
) -> list[str]:
    """What does not hold with the reference put back."""
    lay_out(handout, folder)
    package = assignment.rubric.package
    shutil.rmtree(folder / package)
    shutil.copytree(
        assignment.folder / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copyfile(assignment.folder / ADAPTERS, folder / ADAPTERS)
    faults = list(wrong_with_reference(handout.assignment, run(handout, environment, folder)))
    return faults[:SHOWN]


def run(handout: Handout, environment: Environment, folder: Path) -> Findings:
    """Run the checks of a repository."""
    rubric = handout.assignment.rubric
    return environment.run_checks(folder, rubric.package, rubric.limits.submission_seconds)


def by_check(assignment: Assignment, findings: Findings) -> dict[str, list[Case]]:
    """What became of the cases of each check that counts here."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in findings.cases:
        if case.check in assignment.checks:
            found[case.check].append(case)
    return found


def wrong_on_stubs(assignment: Assignment, findings: Findings) -> Iterator[str]:
    """Checks that pass, fail for another reason than a stub, or do not run."""
    cases = by_check(assignment, findings)
    for name, check in assignment.checks.items():
        if not cases[name]:
            yield f"{name} does not run on the stubs"
        problems = {check.problem, *also_about(assignment, name)}
        for case in cases[name]:
            said = case.text.partition(":")[0]
            if case.phase != "call" or case.outcome == "passed":
                yield f"{name} is {case.outcome} on the stubs ({case.phase}): {case.text:.200}"
            elif case.error != "NotImplementedError" or said not in problems:
                yield f"{name} does not say that {check.problem} is not written: {case.text:.200}"


def also_about(assignment: Assignment, check: str) -> Iterator[str]:
    """The problems whose adapters a check names, as one that saves an optimizer does."""
    text = (assignment.folder / assignment.checks[check].file).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == check:
            named = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
            for problem_id, problem in assignment.rubric.problems.items():
                if not named.isdisjoint(problem.adapters):
                    yield problem_id


def wrong_with_reference(assignment: Assignment, findings: Findings) -> Iterator[str]:
    """Checks that do not pass, of those that earn points or give advice."""
    cases = by_check(assignment, findings)
    for name in assignment.checks:
        if not cases[name]:
            yield f"{name} does not run with the reference put back"
        for case in cases[name]:
            if case.outcome != "passed":
                yield f"{name} is {case.outcome} with the reference put back: {case.text:.200}"
