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
    return [without(finding, excluded, failing, prints, suite) for finding in findings]


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


def without(
    finding: Finding,
    excluded: set[str],
    failing: set[str],
    prints: FingerprintFolder,
    suite: SuiteFolder,
) -> Finding:
    """Return a finding without the mistakes that are excluded.

    Where parts fail that its problem is built on, only their mistakes are named: the problem's own
    may be no more than what the parts do to it.
    """
    parts = failing.intersection(suite.rubric.below(finding.problem))
    kept = [
        name
        for name in finding.mistakes
        if name not in excluded and (not parts or prints.mistakes[name].problem in parts)
    ]
    if len(kept) == len(finding.mistakes):
        return finding
    if not kept:
        return finding.without_explanation()
    told = explanation([(prints.mistakes[name],) for name in kept], finding.problem, suite.title)
    return replace(finding, question=told.question, message=told.statement, mistakes=told.mistakes)
