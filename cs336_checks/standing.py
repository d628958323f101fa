"""How far each problem is as a run has found it, what it earns, and what is to be done next."""

from collections.abc import Mapping, Sequence

from .rubric import Problem, Rubric
from .suite_folder import SuiteFolder

UNWRITTEN = "not written yet"
ADVICE = "advice"
# Of the advice, this many lines are shown.
MOST_ADVICE = 3
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Row:
    """One problem as a run has found it.

    Args:
        name: the problem's id.
        problem: the problem.
        outcomes: what became of the checks that were run.
        whole: whether all were.
        edge_share: the share of the points that edge checks earn.
    """

    def __init__(
        self,
        name: str,
        problem: Problem,
        outcomes: dict[str, str],
        *,
        whole: bool,
        edge_share: float,
    ) -> None:
        self.name = name
        self.problem = problem
        self.edge_share = edge_share
        self.outcomes = outcomes
        self.passed = {name for name, outcome in outcomes.items() if outcome == PASSED}
        self.was_run = any(outcome != SKIPPED for outcome in outcomes.values())
        # What is skipped at another seed would earn its points at seed 0.
        self.has_points = whole and SKIPPED not in outcomes.values()
        self.unwritten = UNWRITTEN in outcomes.values()
        self.track = problem.track
        self.failed = any(outcomes.get(name) == FAILED for name in problem.scored())
        self.is_done = self.has_points and self.passed.issuperset(problem.scored())

    @property
    def score(self) -> float:
        """The points that were earned."""
        return round(self.problem.earned(self.passed, self.edge_share), 2)

    def line(self) -> str:
        """The problem, its points, and what keeps it from more."""
        points = f"{self.score:>6g} / {self.problem.points:<3g}" if self.has_points else " " * 12
        return f"{self.name:<32}{points}  {self.remark()}".rstrip()

    def remark(self) -> str:
        """Return the outcome of the checks, in few words."""
        total = len(self.outcomes)
        failed = sum(outcome == FAILED for outcome in self.outcomes.values())
        if failed:
            return f"{failed} of {counted(total)} {'fails' if failed == 1 else 'fail'}"
        if self.unwritten and self.problem.extra:
            return f"{UNWRITTEN}, extra"
        if self.unwritten:
            return UNWRITTEN if not self.passed else f"{len(self.passed)} of {counted(total)} pass"
        if self.is_done:
            return "done"
        return f"{len(self.passed)} of {counted(total)} passed"


def next_step(
    rows: Sequence[Row], rubric: Rubric, messages: Mapping[str, str], suite: SuiteFolder
) -> list[str]:
    """Return what to do next: fix what fails, else write what is first in a track that was begun.

    Args:
        rows: the problems that were run.
        rubric: names the tracks.
        messages: what the stubs of each problem say.
        suite: has the command that runs the checks, and the chapters to read.
    """
    pytest = suite.command
    failing = [row.name for row in rows if row.failed]
    if failing:
        return ["", f"Next: fix {failing[0]}.", command(failing[0], pytest)]
    begun = {row.track for row in rows if row.passed}
    waiting: dict[str, Row] = {}
    for row in rows:
        if row.unwritten and not row.problem.extra:
            waiting.setdefault(row.track, row)
    first = next((waiting[track] for track in waiting if track in begun), None)
    if first is not None:
        return to_write(first, "Next", messages, suite)
    if waiting:
        start, *others = waiting.values()
        lines = to_write(start, "Next" if begun else "Begin here", messages, suite)
        for other in others if total(rows, rubric) else ():
            title = rubric.tracks[other.track]
            lines += [f"Or begin with the {title.lower()}: {other.name} ({other.problem.title})."]
            lines += [
                command(other.name, pytest),
                f"    Run that track alone: {pytest} --track {other.track}",
            ]
        return lines
    if not total(rows, rubric) and all(row.is_done for row in rows):
        return ["", f"Done here. What is next: {pytest}"]
    return []


def advice_lines(requirements: Sequence[str], pytest: str) -> list[str]:
    """Return good practice that was not followed: the first of it, and how to see the rest.

    Args:
        requirements: what was asked, each with its problem, in the rubric's order.
        pytest: the command that runs the checks.
    """
    if not requirements:
        return []
    more = len(requirements) - MOST_ADVICE
    rest = f", and {more} more" if more > 0 else ""
    return [
        "",
        "Advice (no points):",
        *(f"    {requirement}" for requirement in requirements[:MOST_ADVICE]),
        f"    What was found{rest}: {pytest} -k {ADVICE}",
    ]


def to_write(row: Row, word: str, messages: Mapping[str, str], suite: SuiteFolder) -> list[str]:
    """Return what is to be written for a problem."""
    said = messages[row.name].partition(": ")[2] or "write it"
    return [
        "",
        f"{word}: {row.name} ({row.problem.title}).",
        *([f"    Read {suite.chapters[row.name]}."] if row.name in suite.chapters else []),
        f"    {said[:1].upper()}{said[1:]}.",
        command(row.name, suite.command),
    ]


def counted(number: int) -> str:
    """A number of checks."""
    return f"{number} check{'' if number == 1 else 's'}"


def command(problem: str, pytest: str) -> str:
    """How to run a problem's checks."""
    return f"    Run its checks: {pytest} -k {problem}"


def total(rows: Sequence[Row], rubric: Rubric) -> list[str]:
    """The points of all problems together, if all were run."""
    tracks = {row.problem.track for row in rows}
    expected = {
        name for name, one in rubric.problems.items() if one.track in tracks and not one.extra
    }
    if not expected <= {row.name for row in rows if row.has_points}:
        return []
    score = round(sum(row.score for row in rows if row.has_points), 2)
    maximum = sum(row.problem.points for row in rows if not row.problem.extra)
    extra = round(sum(row.score for row in rows if row.has_points and row.problem.extra), 2)
    told = f"  {extra:g} of them extra" if extra else ""
    return [f"{'Total':<32}{score:>6g} / {maximum:<3g}{told}".rstrip()]
