"""What the rules find in a submission, and which problem that touches."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from cs336_grader.records import Consequence, Finding, ForbiddenCall, Staged
from cs336_grader.reports.plain_text import plain_line
from cs336_grader.rubric import Assignment

from . import dynamic
from .program import Definition, How, Program
from .reach import Reach
from .reading import read
from .rulebook import RuleBook
from .wording import SEARCHED, UNREAD, Entry, message

WHOLE_SUBMISSION = ""
MAX_NAME = 200
MAX_MESSAGE = 500
METHOD_CALL = re.compile(r"\.(\w+)\(")


@dataclass(frozen=True, slots=True)
class Use:
    """Something from outside that a definition uses and that the rules are about.

    Attributes:
        reason: what is the matter with it, where that is not a rule of the assignment.
        decided: whether running the definition surely uses it.
    """

    definition: Definition
    name: str
    line: int
    reason: str
    decided: bool


Entries = dict[tuple[str, str, str], Entry]


class Examination:
    """A submission's source, read once, and held against the rules as often as its run tells more.

    A use costs the problem whose adapters are nearest to it: what is built on that problem's answer
    is not charged for it again.
    """

    def __init__(self, staged: Staged, assignment: Assignment) -> None:
        self.assignment = assignment
        self.book = RuleBook(assignment.rubric)
        tops = {name.partition(".")[0] for rules in self.book.of_problem.values() for name in rules}
        self.program = Program(staged.root, staged.search_paths, tops, staged.trees)
        read(self.program)
        methods = called_methods(assignment)
        self.reaches = {
            name: Reach(self.program, [f"{staged.module}.{a}" for a in problem.adapters], methods)
            for name, problem in assignment.rubric.problems.items()
        }
        self.uses = [use for d in self.program.definitions.values() for use in self.uses_of(d)]

    def uses_of(self, definition: Definition) -> Iterable[Use]:
        """All uses in a definition that the rules are about."""
        for mention in definition.mentions:
            for resolved in self.program.resolve(mention.name):
                name = resolved.name
                if resolved.own:
                    continue
                if reason := self.reason(name.removesuffix(".__dict__"), mention.how, name):
                    yield Use(definition, name, mention.line, reason, decided=False)
                elif self.book.rules_on(name):
                    decided = mention.how in (How.CALLED, How.INHERITED) and not mention.conditional
                    yield Use(definition, name, mention.line, "", decided=decided)

    def reason(self, held: str, how: How, name: str) -> str:
        """What is the matter with a mention that no rule of the assignment need be about."""
        searched = how is How.COMPUTED or name != held
        if searched and (self.book.rules_within(held) or self.book.rules_on(held)):
            return SEARCHED
        return dynamic.reason(name)

    def findings(
        self, problems: Iterable[str], forbidden_calls: Iterable[ForbiddenCall]
    ) -> tuple[Finding, ...]:
        """What the rules have to say.

        Args:
            problems: the problems that are graded.
            forbidden_calls: what the run entered. It can accuse; it never excuses.
        """
        entries: Entries = {}
        for file in self.program.unread:
            key = (WHOLE_SUBMISSION, file, PurePosixPath(file).name)
            entries[key] = Entry({0}, reason=UNREAD)
        for use in self.uses:
            self.judge_use(use, entries)
        for (file, line, name), checks in sorted(self.admitted(forbidden_calls).items()):
            self.judge_sighting(file, line, name, checks, entries)
        without_doubles(entries)
        chosen = {*problems, WHOLE_SUBMISSION}
        order = [WHOLE_SUBMISSION, *self.assignment.rubric.problems]
        return tuple(
            Finding(
                problem,
                plain_line(file, MAX_NAME),
                min(e.lines),
                plain_line(name, MAX_NAME),
                e.consequence,
                plain_line(message(problem, name, e), MAX_MESSAGE),
            )
            for (problem, file, name), e in sorted(
                entries.items(), key=lambda item: (order.index(item[0][0]), item[0])
            )
            if problem in chosen
        )

    def judge_use(self, use: Use, entries: Entries) -> None:
        """Enter a use for the problems it touches."""
        definition = use.definition
        rulings = {
            problem: Consequence.HUMAN_LOOK if use.reason else self.book.ruling(use.name, problem)
            for problem, reach in self.reaches.items()
            if definition.name in reach.steps
        }
        touched = {problem: found for problem, found in rulings.items() if found is not None}
        if not touched:
            return
        if definition.name in self.program.modules:
            self.enter(entries, [WHOLE_SUBMISSION], use, Consequence.HUMAN_LOOK)
            return
        charged = {
            problem: self.reaches[problem].distance(definition.name)
            for problem, found in touched.items()
            if use.decided
            and found is Consequence.COSTS_POINTS
            and definition.name in self.reaches[problem].certain
        }
        if charged:
            self.enter(entries, nearest(charged), use, Consequence.COSTS_POINTS)
        else:
            away = {problem: self.reaches[problem].distance(definition.name) for problem in touched}
            self.enter(entries, nearest(away)[:1], use, Consequence.HUMAN_LOOK)

    def enter(
        self, entries: Entries, problems: Iterable[str], use: Use, consequence: Consequence
    ) -> None:
        """Enter a use for some problems."""
        for problem in problems:
            entry = entries.setdefault((problem, use.definition.file, use.name), Entry())
            entry.lines.add(use.line)
            entry.reason = use.reason
            entry.ruling = self.book.ruling(use.name, problem) if problem else None
            if consequence is Consequence.COSTS_POINTS:
                entry.consequence = consequence

    def admitted(
        self, forbidden_calls: Iterable[ForbiddenCall]
    ) -> dict[tuple[str, int, str], list[str]]:
        """What was seen, with the checks that saw it; what cannot be true is passed over."""
        found: dict[tuple[str, int, str], list[str]] = {}
        order = {check: number for number, check in enumerate(self.assignment.checks)}
        for forbidden_call in sorted(forbidden_calls, key=lambda one: order.get(one.check, -1)):
            check = self.assignment.checks.get(forbidden_call.check)
            if check is None or self.book.ruling(forbidden_call.name, check.problem) is None:
                continue
            definition = self.program.enclosing(forbidden_call.file, forbidden_call.line)
            if definition is not None:
                place = self.as_written(definition, forbidden_call)
            elif forbidden_call.file in self.program.unread:
                place = forbidden_call.line, forbidden_call.name
            else:
                continue
            found.setdefault((forbidden_call.file, *place), []).append(check.name)
        return found

    def as_written(self, definition: Definition, forbidden_call: ForbiddenCall) -> tuple[int, str]:
        """Line and name of the use that a forbidden_call is most likely of."""
        last = forbidden_call.name.rpartition(".")[2]
        alike = [
            use
            for use in self.uses
            if use.definition.file == definition.file and use.name.rpartition(".")[2] == last
        ]
        here = [use for use in alike if use.definition is definition]
        if not alike:
            return forbidden_call.line, forbidden_call.name
        closest = min(here or alike, key=lambda use: abs(use.line - forbidden_call.line))
        return (closest.line if here else forbidden_call.line), closest.name

    def judge_sighting(
        self, file: str, line: int, name: str, checks: list[str], entries: Entries
    ) -> None:
        """Enter what was seen for the problems it touches."""
        definition = self.program.enclosing(file, line)
        within = definition.name if definition else ""
        seen = {self.assignment.checks[check].problem: check for check in reversed(checks)}
        reaching = {p for p, reach in self.reaches.items() if within in reach.steps}
        touched = {
            problem: self.reaches[problem].distance(within)
            for problem in seen
            if not reaching or problem in reaching
        }
        sure = bool(touched)
        for problem in nearest(touched) or seen:
            entry = entries.setdefault((problem, file, name), Entry())
            entry.lines.add(line)
            entry.seen = seen[problem]
            entry.ruling = self.book.ruling(name, problem)
            if sure and entry.ruling is Consequence.COSTS_POINTS:
                entry.consequence = Consequence.COSTS_POINTS


def nearest(distances: Mapping[str, tuple[int, bool]]) -> list[str]:
    """The problems that are least far away."""
    least = min(distances.values(), default=None)
    return [problem for problem, distance in distances.items() if distance == least]


def without_doubles(entries: Entries) -> None:
    """Ask for no human look at what costs points already."""
    for problem, file, name in list(entries):
        entry = entries[problem, file, name]
        others = [e for key, e in entries.items() if key[1:] == (file, name) and e is not entry]
        if entry.consequence is Consequence.HUMAN_LOOK and any(
            other.consequence is Consequence.COSTS_POINTS and entry.lines <= other.lines
            for other in others
        ):
            del entries[problem, file, name]


def called_methods(assignment: Assignment) -> set[str]:
    """The names of all methods that an assignment's checks call of anything."""
    files = {assignment.folder / check.file for check in assignment.checks.values()}
    return {name for file in files for name in METHOD_CALL.findall(file.read_text("utf-8"))}
