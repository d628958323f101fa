"""Tells at the end of a run how far the work is, problem by problem, and what to do next.

What is not written yet is no failure to read about: it is counted, and the first one named.
"""

import textwrap
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path, PurePath

import pytest

from .problems import Problem, problem_of_checks, problems

HERE = Path(__file__).parent
UNWRITTEN = "not written yet"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# Of a check's cases, the first of these decides.
WORST_FIRST = (FAILED, UNWRITTEN, SKIPPED, PASSED)


class Progress:
    """A plugin that watches a run and sums it up.

    Attributes:
        cases: what became of the cases of each check.
        messages: what the stubs of each problem say.
    """

    def __init__(self) -> None:
        self.problem_of = problem_of_checks()
        self.cases: dict[str, set[str]] = defaultdict(set)
        self.messages: dict[str, str] = {}
        self.left_out: set[str] = set()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let ``-k`` take the names of problems."""
        name = getattr(item, "originalname", "")
        if name in self.problem_of and item.path.parent == HERE:
            item.extra_keyword_matches.add(self.problem_of[name].id)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note checks of which not all cases are run."""
        self.left_out.update(getattr(item, "originalname", "") for item in items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note what a stub says, where one was reached."""
        error = None if call.excinfo is None else call.excinfo.value
        if not isinstance(error, NotImplementedError) or not is_of_a_stub(str(error)):
            return (yield)
        # Nobody reads the traceback, and pytest's own takes most of the time on stubs.
        shown, item.config.option.tbstyle = item.config.option.tbstyle, "native"
        try:
            report = yield
        finally:
            item.config.option.tbstyle = shown
        # An attribute travels with the report also from another process.
        vars(report)["unwritten"] = str(error)
        return report

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Count what is not written apart from what failed."""
        if not hasattr(report, "unwritten"):
            return None
        return UNWRITTEN, "-", ("NOT WRITTEN", {"yellow": True})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what became of a case."""
        file, _, case = report.location
        check = self.problem_of.get(case.partition("[")[0])
        if check is None or PurePath(file).parent.name != HERE.name:
            return
        if hasattr(report, "unwritten"):
            self.cases[case.partition("[")[0]].add(UNWRITTEN)
            self.messages.setdefault(check.id, report.unwritten)
        elif report.when == "call" or not report.passed:
            self.cases[case.partition("[")[0]].add(report.outcome)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """After all else, show how far the work is."""
        yield
        self.show(terminalreporter)

    def show(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show each problem that was run, the total if all were, and what to do next."""
        rows = [
            Row(problem, self.outcomes(problem), whole=self.is_whole(problem))
            for problem in problems().values()
        ]
        rows = [row for row in rows if row.was_run]
        if not rows:
            return
        terminalreporter.write_sep("=", "progress")
        for row in rows:
            colour = {"green": True} if row.is_done else {"red": True} if row.failed else {}
            terminalreporter.write_line(row.line(), **colour)
        width = terminalreporter.config.get_terminal_writer().fullwidth
        for line in (*total(rows), *self.next_step(rows)):
            indent = "    " if line.startswith(" ") else ""
            terminalreporter.write_line(textwrap.fill(line, width, subsequent_indent=indent))

    def outcomes(self, problem: Problem) -> dict[str, str]:
        """What became of each check of a problem that was run."""
        return {
            name: next(one for one in WORST_FIRST if one in self.cases[name])
            for name in problem.checks
            if self.cases.get(name)
        }

    def is_whole(self, problem: Problem) -> bool:
        """Whether every case of every check was run."""
        return all(name in self.cases and name not in self.left_out for name in problem.checks)

    def next_step(self, rows: Sequence["Row"]) -> list[str]:
        """What to do next: mend what fails, else write what is first."""
        failing = [row.problem for row in rows if row.failed]
        waiting = [row.problem for row in rows if row.unwritten and not row.problem.extra]
        if failing:
            return ["", f"Next: mend {failing[0].id}.", command(failing[0])]
        if waiting:
            first = waiting[0]
            begun = any(row.is_done for row in rows)
            said = self.messages[first.id].partition(": ")[2] or "write it"
            lines = ["", f"{'Next' if begun else 'Begin here'}: {first.id} ({first.title})."]
            return [*lines, f"    {said[:1].upper()}{said[1:]}.", command(first)]
        if not total(rows) and all(row.is_done for row in rows):
            return ["", "Done here. What is next: uv run pytest"]
        return []


class Row:
    """One problem as a run has found it.

    Args:
        problem: the problem.
        outcomes: what became of the checks that were run.
        whole: whether all were.
    """

    def __init__(self, problem: Problem, outcomes: dict[str, str], *, whole: bool) -> None:
        self.problem = problem
        self.outcomes = outcomes
        self.passed = {name for name, outcome in outcomes.items() if outcome == PASSED}
        self.was_run = any(outcome != SKIPPED for outcome in outcomes.values())
        # What is skipped at another seed would earn its points at seed 0.
        self.has_points = whole and SKIPPED not in outcomes.values()
        self.unwritten = UNWRITTEN in outcomes.values()
        self.failed = any(outcomes.get(name) == FAILED for name in problem.scored)
        self.is_done = self.has_points and self.passed.issuperset(problem.scored)

    @property
    def score(self) -> float:
        """The points that were earned."""
        return self.problem.earned(self.passed)

    def line(self) -> str:
        """The problem, its points, and what keeps it from more."""
        points = f"{self.score:>6g} / {self.problem.points:<3g}" if self.has_points else " " * 12
        return f"{self.problem.id:<32}{points}  {self.remark()}".rstrip()

    def remark(self) -> str:
        """What became of the checks, in few words."""
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


def is_of_a_stub(text: str) -> bool:
    """Whether an exception says that a problem is not written; a package may raise others."""
    return not text or text.partition(":")[0] in problems()


def counted(number: int) -> str:
    """A number of checks."""
    return f"{number} check{'' if number == 1 else 's'}"


def command(problem: Problem) -> str:
    """How to run a problem's checks."""
    return f"    Run its checks: uv run pytest -k {problem.id}"


def total(rows: Sequence[Row]) -> list[str]:
    """The points of all problems together, if all were run."""
    tracks = {row.problem.track for row in rows}
    expected = {one.id for one in problems().values() if one.track in tracks and not one.extra}
    if not expected <= {row.problem.id for row in rows if row.has_points}:
        return []
    score = round(sum(row.score for row in rows if row.has_points), 2)
    maximum = sum(row.problem.points for row in rows if not row.problem.extra)
    return [f"{'Total':<32}{score:>6g} / {maximum:<3g}"]
