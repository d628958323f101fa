"""Makes of all trials what an audit says: which mistakes survive, what each check is good for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from cs336_checks.rubric import Assignment, Check, Rubric, Tier

from . import margins
from .records import (
    SCHEMA_VERSION,
    Audit,
    AuditedCheck,
    ComparisonResult,
    DegenerateResult,
    Entry,
    Kind,
    Listing,
    MistakeResult,
    SuiteFault,
    Trial,
    Trials,
)

RIGHT = (Kind.REFERENCE, Kind.VARIANT)
# The largest share of a problem's points that degenerate work may earn.
MOST_EARNED = 0.05


class Evidence:
    """All that was seen of the implementations of one problem.

    Attributes:
        trials: by implementation and seed.
        alike: for each seed, the groups of mistakes that looked the same.
    """

    def __init__(
        self,
        problem: str,
        checks: Iterable[Check],
        entries: Iterable[Entry],
        found: Iterable[Trials],
    ) -> None:
        self.problem = problem
        self.checks = {check.name: check for check in checks}
        self.entries = [entry for entry in entries if entry.problem == problem]
        self.trials: dict[str, dict[int, list[Trial]]] = defaultdict(lambda: defaultdict(list))
        self.alike: list[tuple[tuple[str, ...], ...]] = []
        for each in found:
            for trial in each.trials:
                self.trials[trial.implementation][each.job.seed].append(trial)
            if each.job.mistakes:
                self.alike.append(each.alike)
        for by_seed in self.trials.values():
            first, *others = sorted(by_seed)
            for seed in others:
                by_seed[seed] += (trial for trial in by_seed[first] if not trial.drawn)

    def of(self, *kinds: Kind) -> list[Entry]:
        """The implementations of some kinds."""
        return [entry for entry in self.entries if entry.kind in kinds]

    def failed(self, implementation: str, seed: int) -> dict[str, str]:
        """The checks that fail at a seed, each with what is known of the first failure."""
        found: dict[str, str] = {}
        for trial in self.trials[implementation][seed]:
            if trial.failed:
                found.setdefault(trial.check, trial.failure or measured(trial))
        return found

    def counts(self, check: str) -> bool:
        """Whether a check earns points."""
        return self.checks[check].tier is not Tier.ADVICE


def measured(trial: Trial) -> str:
    """What is wrong with a trial in which nothing was raised."""
    comparison, distance = max(trial.distances.items(), key=lambda entry: entry[1])
    if distance == inf:
        return f"{comparison}: more than numbers is wrong"
    return f"{comparison}: off by {distance:.2g} times what is allowed"


def audit(assignment: Assignment, listing: Listing, found: Sequence[Trials]) -> Audit:
    """What an audit says, given all trials of the problems that were looked at."""
    jobs: dict[str, list[Trials]] = defaultdict(list)
    for each in sorted(found, key=lambda each: each.job.seed):
        jobs[each.job.problem].append(each)
    checks: list[AuditedCheck] = []
    mistakes: list[MistakeResult] = []
    comparisons: list[ComparisonResult] = []
    twins: list[tuple[str, ...]] = []
    degenerate: list[DegenerateResult] = []
    faults: list[SuiteFault] = []
    seeds = {each.job.seed: each.job.mistakes for each in found}
    variants: list[str] = []
    for problem in (name for name in assignment.rubric.problems if name in jobs):
        own = [check for check in assignment.checks.values() if check.problem == problem]
        evidence = Evidence(problem, own, listing.entries, jobs[problem])
        variants += [known.id for known in evidence.of(Kind.VARIANT)]
        judged = [mistake_result(evidence, known) for known in evidence.of(Kind.MISTAKE)]
        mistakes += judged
        checks += [check_result(evidence, check, judged) for check in own]
        margin = list(comparison_results(evidence, judged, listing.narrow))
        comparisons += margin
        twins += shared(evidence.alike)
        earned = degenerate_results(evidence, assignment.rubric)
        degenerate += earned
        faults += [*wrong_with(evidence), *survivors(judged), *unearned(earned)]
        faults += [fault for each in margin for fault in margins.faults(each)]
        faults += margins.outdated(margin, own, listing.narrow)
    return Audit(
        SCHEMA_VERSION,
        assignment.rubric.title,
        tuple(sorted(seeds)),
        tuple(sorted(seed for seed, mistaken in seeds.items() if mistaken)),
        tuple(variants),
        tuple(mistakes),
        tuple(checks),
        tuple(comparisons),
        tuple(twins),
        tuple(degenerate),
        dict(listing.sources),
        tuple(faults),
    )


def mistake_result(evidence: Evidence, known: Entry) -> MistakeResult:
    """What the checks of its problem make of a mistake."""
    by_seed = [evidence.failed(known.id, seed).keys() for seed in evidence.trials[known.id]]
    always = [check for check in evidence.checks if all(check in failed for failed in by_seed)]
    ever = {check for failed in by_seed for check in failed}
    best = margins.clearest(
        [
            [trial for trial in trials if evidence.counts(trial.check)]
            for trials in evidence.trials[known.id].values()
        ]
    )
    return MistakeResult(
        id=known.id,
        problem=known.problem,
        sentence=known.sentence,
        caught_by=tuple(always),
        sometimes=tuple(check for check in evidence.checks if check in ever.difference(always)),
        clearest=best.place,
        distance=None if best.distance == inf else best.distance,
        survives=not all(any(map(evidence.counts, failed)) for failed in by_seed),
    )


def degenerate_results(evidence: Evidence, rubric: Rubric) -> list[DegenerateResult]:
    """The points that degenerate work would earn at the first seed."""
    problem = rubric.problems[evidence.problem]
    found = []
    for known in evidence.of(Kind.DEGENERATE):
        seed = min(evidence.trials[known.id], default=0)
        ran = {trial.check for trial in evidence.trials[known.id][seed]}
        passed = ran.difference(evidence.failed(known.id, seed))
        earned = problem.earned(passed, rubric.scoring.edge_share)
        passes = tuple(c for c in evidence.checks if c in passed and evidence.counts(c))
        share = earned / problem.points
        found.append(
            DegenerateResult(known.id, known.problem, known.sentence, earned, share, passes)
        )
    return found


def unearned(degenerate: Iterable[DegenerateResult]) -> Iterator[SuiteFault]:
    """Degenerate work that earns more than it may."""
    for each in degenerate:
        if each.share > MOST_EARNED:
            message = f"earns {each.share:.0%} of the points without any work: it passes "
            yield SuiteFault(each.id, each.problem, message + ", ".join(each.passes))


def check_result(
    evidence: Evidence, check: Check, mistakes: Sequence[MistakeResult]
) -> AuditedCheck:
    """What a check is good for, given what became of the mistakes of its problem."""
    caught = [mistake for mistake in mistakes if check.name in mistake.caught_by]
    return AuditedCheck(
        name=check.name,
        problem=check.problem,
        tier=check.tier,
        requirement=check.requirement,
        catches=len(caught),
        alone=tuple(
            mistake.id
            for mistake in caught
            if not any(evidence.counts(o) for o in mistake.caught_by if o != check.name)
        ),
    )


def comparison_results(
    evidence: Evidence, mistakes: Sequence[MistakeResult], narrow: Mapping[str, str]
) -> Iterator[ComparisonResult]:
    """Each comparison of a problem with its margins."""
    right = [
        trial
        for known in evidence.of(*RIGHT)
        for trials in evidence.trials[known.id].values()
        for trial in trials
    ]
    return margins.compared(evidence.problem, right, mistakes, narrow)


def shared(partitions: Sequence[Iterable[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    """The groups that are together in all of several partitions."""
    if not partitions:
        return
    homes = [
        {name: number for number, group in enumerate(partition) for name in group}
        for partition in partitions
    ]
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name in homes[0]:
        if all(name in home for home in homes):
            groups[tuple(home[name] for home in homes)].append(name)
    yield from (tuple(group) for group in groups.values() if len(group) > 1)


def wrong_with(evidence: Evidence) -> Iterator[SuiteFault]:
    """What is wrong with right implementations and with stubs."""
    problem = evidence.problem
    for known in evidence.of(*RIGHT):
        told: set[str] = set()
        for seed in evidence.trials[known.id]:
            for check, why in evidence.failed(known.id, seed).items():
                spared = known.kind is Kind.VARIANT and not evidence.counts(check)
                if check not in told and not spared:
                    told.add(check)
                    message = f"is right and fails {check} at seed {seed}: {why}"
                    yield SuiteFault(known.id, problem, message)
    for known in evidence.of(Kind.STUBS):
        for seed, trials in evidence.trials[known.id].items():
            failed, ran = evidence.failed(known.id, seed), {trial.check for trial in trials}
            for check in evidence.checks:
                if check not in ran:
                    yield SuiteFault(check, problem, f"does not run at seed {seed}")
                elif check not in failed:
                    yield SuiteFault(
                        check, problem, f"passes at seed {seed} where nothing is written"
                    )


def survivors(mistakes: Iterable[MistakeResult]) -> Iterator[SuiteFault]:
    """The mistakes that cost no points."""
    for mistake in mistakes:
        if mistake.survives:
            yield SuiteFault(mistake.id, mistake.problem, f"survives: {mistake.sentence}")
