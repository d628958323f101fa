"""Holds a submission against the rules, and says which problem a finding touches."""

from collections.abc import Iterable, Iterator, Mapping

from cs336_checks.rubric import Assignment
from cs336_grader.records import NO_CHECK, Consequence, Finding, ForbiddenCall, Staged
from cs336_grader.reports.plain_text import plain_line

from .rulebook import RuleBook
from .source import Source

WHOLE_SUBMISSION = ""
MAX_NAME = 200
MAX_MESSAGE = 500
MAX_LINES = 6
MAX_NAMES = 5
# What the worker's recorder tells instead of an operator, each with what a person has to see.
STOPPED, EMPTY = "recording.stopped", "recording.empty"
# What it tells where operators computed something.
COMPUTED = "recording.computed"
FAULTS = {
    STOPPED: "the record of torch's operators was stopped: find the code that stops it",
    EMPTY: "results came back and no operator of torch ran: find the code that computes them",
}
Uses = dict[str, list[ForbiddenCall]]


class Examination:
    """A submission's source, read once, and what its run showed, held against the rules.

    What a problem is built on is charged once: where two problems show the same call, or operators
    of the same kind, and one is built on the other, only the one below is charged.
    """

    def __init__(self, staged: Staged, assignment: Assignment) -> None:
        self.assignment = assignment
        self.book = RuleBook(assignment.rubric)
        self.source = Source(staged)
        self.of_source = tuple(self.in_source())

    def findings(
        self, problems: Iterable[str], forbidden_calls: Iterable[ForbiddenCall]
    ) -> tuple[Finding, ...]:
        """Return what the rules have to say.

        Args:
            problems: the problems that are graded.
            forbidden_calls: what the run showed. It can accuse; it never excuses.
        """
        chosen = set(problems)
        uses = {name: found for name, found in self.uses(forbidden_calls).items() if name in chosen}
        of_run = (self.of_problem(name, uses) for name in self.assignment.rubric.problems)
        of_import = self.of_import(forbidden_calls, chosen)
        return (*self.of_source, *filter(None, (of_import, *of_run)))

    def of_import(
        self, forbidden_calls: Iterable[ForbiddenCall], problems: Iterable[str]
    ) -> Finding | None:
        """Return what ran as the submission was imported and is ready-made for some problem.

        No problem pays for it: a person sees whether its results answer one. Nothing came of the
        packages that a worker is without.
        """
        absent = tuple(f"{package}." for package in self.assignment.rubric.packages())
        calls = [
            call
            for call in sorted(forbidden_calls, key=str)
            if call.check == NO_CHECK
            and not call.name.startswith(absent)
            and (not call.file or call.file in self.source.every)
            and any(self.book.ruling(call.name, problem) for problem in problems)
        ]
        if not calls:
            return None
        listed = ", ".join(dict.fromkeys(call.name for call in calls[:MAX_NAMES]))
        said = f"{listed} ran while the submission was imported: see whether it answers a problem."
        return Finding(
            WHOLE_SUBMISSION,
            plain_line(calls[0].file, MAX_NAME),
            calls[0].line,
            plain_line(calls[0].name, MAX_NAME),
            Consequence.HUMAN_LOOK,
            plain_line(said, MAX_MESSAGE),
        )

    def uses(self, forbidden_calls: Iterable[ForbiddenCall]) -> dict[str, Uses]:
        """Return what each problem used that is ruled on; what cannot be true is passed over."""
        found: dict[str, Uses] = {}
        order = {check: number for number, check in enumerate(self.assignment.checks)}
        for call in sorted(forbidden_calls, key=lambda one: (order.get(one.check, -1), str(one))):
            check = self.assignment.checks.get(call.check)
            if check is None or (call.file and call.file not in self.source.every):
                continue
            if call.name == COMPUTED or self.ruling(call.name, check.problem) is not None:
                found.setdefault(check.problem, {}).setdefault(call.name, []).append(call)
        for uses in found.values():
            if COMPUTED in uses:
                uses.pop(EMPTY, None)
        return found

    def ruling(self, name: str, problem: str) -> Consequence | None:
        """Return what the use of a name in a problem leads to."""
        return Consequence.HUMAN_LOOK if name in FAULTS else self.book.ruling(name, problem)

    def shared(self, call: ForbiddenCall, problem: str) -> tuple[str, str, int]:
        """Return what is charged once where two problems show it: a line, or alike operators."""
        return self.book.family(call.name, problem), call.file, call.line

    def of_problem(self, problem: str, uses: Mapping[str, Uses]) -> Finding | None:
        """Return what is found in a problem, if anything, without what was charged below it."""
        others = self.assignment.rubric.below(problem)
        below = {
            self.shared(call, other)
            for other in others
            for calls in uses.get(other, {}).values()
            for call in calls
        }
        own: Uses = {}
        for name, calls in uses.get(problem, {}).items():
            if kept := [call for call in calls if self.shared(call, problem) not in below]:
                own[name] = kept
        by_ruling = {
            one: [name for name in own if self.ruling(name, problem) is one] for one in Consequence
        }
        consequence = next((one for one in Consequence if by_ruling[one]), None)
        if consequence is None:
            return None
        # A call that has a place comes first: it tells more than the operators that it led to.
        named = sorted(by_ruling[consequence], key=lambda name: not own[name][0].file)
        name, call = named[0], own[named[0]][0]
        place = (call.file, call.line) if call.file else self.place_of(name, problem)
        return Finding(
            problem,
            plain_line(place[0], MAX_NAME),
            place[1],
            plain_line(name, MAX_NAME),
            consequence,
            plain_line(message(problem, named, own, consequence), MAX_MESSAGE),
        )

    def place_of(self, name: str, problem: str) -> tuple[str, int]:
        """Return where in the source something comes from that ran in a problem."""
        adapters = self.assignment.rubric.problems[problem].adapters
        if name in FAULTS:
            return self.source.place_of_adapter(adapters)
        return self.source.place_of(name, adapters)

    def in_source(self) -> Iterator[Finding]:
        """Yield what has to be read by a person because it hides what it calls, once a file."""
        look = Consequence.HUMAN_LOOK
        for file in self.source.unread:
            said = f"{file} is too large, nested too deep or no valid Python: read what it does."
            yield Finding(WHOLE_SUBMISSION, file, 0, file, look, plain_line(said, MAX_MESSAGE))
        for file, reasons in self.source.hiding():
            told = "; ".join(f"{reason} (line {shown(lines)})" for reason, lines in reasons.items())
            said = f"This file hides what it calls: it {told}. See what it is used for."
            line = min(min(lines) for lines in reasons.values())
            yield Finding(
                WHOLE_SUBMISSION,
                plain_line(file, MAX_NAME),
                line,
                next(iter(reasons)),
                look,
                plain_line(said, MAX_MESSAGE),
            )


def message(problem: str, names: list[str], uses: Uses, consequence: Consequence) -> str:
    """Return what ran, in which check, what follows and how to contest that."""
    check = uses[names[0]][0].check
    listed = ", ".join(names[:MAX_NAMES])
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    fault = next((FAULTS[name] for name in names if name in FAULTS), "")
    if fault:
        return f"In {problem}, {fault} (first in {check})."
    if consequence is Consequence.HUMAN_LOOK:
        return f"{listed}{more} ran in {problem} (first in {check}): see what it is used for."
    return (
        f"{listed}{more} ran in {problem} (first in {check}). That is ready-made: {problem} "
        "earns no points. To contest it, show the line that computes the result without it."
    )


def shown(lines: set[int]) -> str:
    """Return some of these lines."""
    more = " and more" if len(lines) > MAX_LINES else ""
    return ", ".join(map(str, sorted(lines)[:MAX_LINES])) + more
