"""Takes back names of mistakes that the rest of a run contradicts."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from .diagnosis import explanation
from .findings import Finding
from .fingerprints import FingerprintFolder
from .suite_folder import SuiteFolder


def reconsidered(
    findings: Sequence[Finding], passed: Collection[str], suite: SuiteFolder
) -> list[Finding]:
    """Return findings without mistakes that other cases of the run contradict.

    Where a part fails that a problem is built on, the problem's own mistakes are not named: what is
    seen may be no more than what the part does to it.

    Args:
        findings: what failed cases found.
        passed: the cases that passed, as snapshots name them.
        suite: the suite.
    """
    named = {mistake for finding in findings for mistake in finding.mistakes}
    if not named:
        return list(findings)
    prints = FingerprintFolder(suite.fingerprints)
    excluded = {mistake for case in passed for mistake in prints.failing(case) & named}
    excluded |= opposed(findings, named, prints)
    failing = {finding.problem for finding in findings}
    whole = {name for name in failing if failing.isdisjoint(suite.rubric.below(name))}
    seen = {
        mistake
        for finding in findings
        for mistake in finding.candidates or ()
        if finding.problem in whole and prints.mistakes[mistake].problem == finding.problem
    }
    return [
        without(finding, kept(finding, excluded, whole, seen, prints), prints, suite)
        for finding in findings
    ]


def opposed(findings: Sequence[Finding], named: set[str], prints: FingerprintFolder) -> set[str]:
    """Return mistakes that give something else in more cases than they explain.

    Those of a mistake's own problem count by themselves as well.
    """
    found: set[str] = set()
    for mistake in named:
        explains = [
            (finding.problem, mistake in finding.candidates)
            for finding in findings
            if finding.candidates is not None
            and (mistake in finding.candidates or mistake in prints.failing(finding.case))
        ]
        own = [held for problem, held in explains if problem == prints.mistakes[mistake].problem]
        every = [held for _, held in explains]
        if any(2 * sum(cases) < len(cases) for cases in (own, every)):
            found.add(mistake)
    return found


def kept(
    finding: Finding,
    excluded: set[str],
    whole: set[str],
    seen: set[str],
    prints: FingerprintFolder,
) -> list[str]:
    """Return the mistakes of a finding that are told.

    Args:
        finding: the finding.
        excluded: mistakes that the run contradicts.
        whole: the failing problems of which no part fails.
        seen: mistakes that checks of such a problem show.
        prints: tells the problem of each mistake.
    """
    left = [name for name in finding.mistakes if name not in excluded]
    if finding.problem in whole:
        return left
    others = [name for name in left if prints.mistakes[name].problem != finding.problem]
    # Once one that gives the same is ruled out, the rest need a proof.
    if len(others) == len(finding.mistakes):
        return others
    return [name for name in others if name in seen]


def without(
    finding: Finding, names: list[str], prints: FingerprintFolder, suite: SuiteFolder
) -> Finding:
    """Return a finding that names these of its mistakes alone."""
    if len(names) == len(finding.mistakes):
        return finding
    if not names:
        return finding.without_explanation()
    told = explanation([(prints.mistakes[name],) for name in names], finding.problem, suite.title)
    return replace(finding, question=told.question, message=told.statement, mistakes=told.mistakes)
