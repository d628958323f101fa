"""Shows at the end of a run how far the work is, problem by problem, and what to do next.

What is not written yet is no failure to read about: it is counted, and the first one named. Advice
that was not followed is a line at the end, unless advice is all that is run.
"""

import difflib
import re
import textwrap
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from pathlib import PurePath

import pytest

from .failures import Failure, finding_of
from .findings import ALONE, Finding, paragraphs
from .reconsidering import reconsidered
from .rubric import Problem, Rubric
from .standing import (
    ADVICE,
    FAILED,
    PASSED,
    SKIPPED,
    UNWRITTEN,
    Row,
    advice_lines,
    next_step,
    total,
)
from .suite_folder import SuiteFolder

# A line of the student's code.
PLACE = re.compile(r" *(?:called )?at \S+:\d+")
# Of a check's cases, the first of these decides.
WORST_FIRST = (FAILED, UNWRITTEN, ADVICE, SKIPPED, PASSED)


class Progress:
    """A plugin that watches a run and sums it up.

    Attributes:
        cases: what became of the cases of each check.
        messages: what the stubs of each problem say.
        advice: the requirement of each check of good practice that was not followed.
        brief: whether such a check is told in one line, as others are run beside it.
        passed: the cases that passed, as snapshots name them.
        left_out: checks of which not all cases are run.
        misspelt: what was asked for, where there is nothing of the name.
    """

    def __init__(self, suite: SuiteFolder) -> None:
        self.suite = suite
        self.rubric = suite.rubric
        self.problem_of = suite.problem_of
        self.cases: dict[str, set[str]] = defaultdict(set)
        self.messages: dict[str, str] = {}
        self.advice: dict[str, str] = {}
        self.brief = False
        self.left_out: set[str] = set()
        self.passed: set[str] = set()
        self.misspelt = ""

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let ``-k`` take the names of problems, and "advice"."""
        name = getattr(item, "originalname", "")
        if name in self.problem_of and item.path.parent == self.suite.path:
            item.extra_keyword_matches.add(self.problem_of[name])
            if self.is_advice(item):
                item.extra_keyword_matches.add(ADVICE)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note checks of which not all cases are run."""
        self.left_out.update(getattr(item, "originalname", "") for item in items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note that nothing has the name that was asked for, or that not all is advice."""
        self.brief = not all(map(self.is_advice, session.items))
        if self.left_out and not session.items:
            self.misspelt = session.config.option.keyword

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note what a stub says, where one was reached; tell in words what else failed."""
        error = None if call.excinfo is None else call.excinfo.value
        unwritten = isinstance(error, NotImplementedError) and self.is_of_a_stub(str(error))
        told = None if unwritten else finding_of(item, call)
        if not unwritten and told is None:
            return (yield)
        # Nobody reads the traceback, and pytest's own takes most of the time on stubs.
        shown, item.config.option.tbstyle = item.config.option.tbstyle, "native"
        try:
            report = yield
        finally:
            item.config.option.tbstyle = shown
        # An attribute travels with the report also from another process.
        if told is None:
            # As pytest notes what is skipped, so that -x goes on and --lf leaves it out.
            reason = (str(item.path), None, str(error))
            vars(report).update(unwritten=str(error), outcome="skipped", longrepr=reason)
        elif self.brief and self.is_advice(item):
            reason = (str(item.path), None, told.requirement)
            vars(report).update(advice=told.requirement, outcome="skipped", longrepr=reason)
        else:
            vars(report).update(longrepr=Failure(told), finding=told.plain())
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run where something is not written yet."""
        if any(UNWRITTEN in found for found in self.cases.values()):
            session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    def is_of_a_stub(self, text: str) -> bool:
        """Return True for an exception that says that a problem is not written."""
        return not text or text.partition(":")[0] in self.rubric.problems

    def is_advice(self, item: pytest.Item) -> bool:
        """Return True for a case of a check that earns no points."""
        name = getattr(item, "originalname", "")
        problem = self.rubric.problems.get(self.problem_of.get(name, ""))
        return problem is not None and name in problem.advice

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Count what is not written, and advice, apart from what failed."""
        if hasattr(report, "unwritten"):
            return UNWRITTEN, "-", ("NOT WRITTEN", {"yellow": True})
        return (ADVICE, "a", ("ADVICE", {"yellow": True})) if hasattr(report, "advice") else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what became of a case."""
        file, _, case = report.location
        problem = self.problem_of.get(case.partition("[")[0])
        if problem is None or PurePath(file).parent.name != self.suite.path.name:
            return
        if hasattr(report, "unwritten"):
            self.cases[case.partition("[")[0]].add(UNWRITTEN)
            self.messages.setdefault(problem, report.unwritten)
        elif hasattr(report, "advice"):
            self.cases[case.partition("[")[0]].add(ADVICE)
            self.advice[case.partition("[")[0]] = f"{problem}: {report.advice}"
        elif report.when == "call" or not report.passed:
            self.cases[case.partition("[")[0]].add(report.outcome)
            if report.passed:
                self.passed.add(f"{PurePath(file).stem}.{case}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Tell what failed, each cause once; after all else, show how far the work is."""
        failed = terminalreporter.stats.get("failed", [])
        own = [report for report in failed if hasattr(report, "finding")]
        if own:
            terminalreporter.stats["failed"] = [one for one in failed if one not in own]
        verbose = terminalreporter.config.option.verbose > 0
        findings = [Finding.of(report.finding) for report in own]
        findings = reconsidered(findings, self.passed, self.suite)
        self.tell(findings, terminalreporter, verbose=verbose)
        yield
        if own:
            terminalreporter.stats["failed"] = failed
        self.show(terminalreporter)

    def tell(
        self,
        findings: Sequence[Finding],
        terminalreporter: pytest.TerminalReporter,
        *,
        verbose: bool,
    ) -> None:
        """Show what failed, problem by problem."""
        if not findings:
            return
        terminalreporter.write_sep("=", "what failed")
        for lines in paragraphs(findings, self.rubric.below, self.suite.chapters, verbose=verbose):
            write(terminalreporter, lines)
            terminalreporter.write_line("")

    def show(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show each problem that was run, the total if all were, and what to do next."""
        rows = [
            Row(
                name,
                problem,
                self.outcomes(problem),
                whole=self.is_whole(problem),
                edge_share=self.rubric.scoring.edge_share,
            )
            for name, problem in self.rubric.problems.items()
        ]
        rows = [row for row in rows if row.was_run]
        if self.misspelt:
            write(terminalreporter, near_names(self.misspelt, self.rubric))
        if not rows:
            return
        terminalreporter.write_sep("=", "progress, in checks (below, pytest counts their cases)")
        for row in rows:
            colour = {"green": True} if row.is_done else {"red": True} if row.failed else {}
            terminalreporter.write_line(row.line(), **colour)
        ordered = [self.advice[name] for name in self.problem_of if name in self.advice]
        told = [
            *total(rows, self.rubric),
            *advice_lines(ordered, self.suite.command),
            *next_step(rows, self.rubric, self.messages, self.suite),
        ]
        write(terminalreporter, told)

    def outcomes(self, problem: Problem) -> dict[str, str]:
        """Return the outcome of each check of a problem that was run."""
        return {
            name: next(one for one in WORST_FIRST if one in self.cases[name])
            for _, name in problem.checks()
            if self.cases.get(name)
        }

    def is_whole(self, problem: Problem) -> bool:
        """Return True if every case of every check was run."""
        return all(name in self.cases and name not in self.left_out for _, name in problem.checks())


def near_names(asked: str, rubric: Rubric) -> list[str]:
    """Return the names that there are, for one that nothing has."""
    known = [*rubric.problems, *rubric.problem_of_checks()]
    words = [word for word in re.findall(r"\w+", asked) if not any(word in one for one in known)]
    near = [one for word in words for one in difflib.get_close_matches(word, known, n=2)]
    meant = f" Did you mean {' or '.join(dict.fromkeys(near))}?" if near else ""
    return [
        f"No problem or check is called {asked!r}.{meant}",
        f"The problems are {', '.join(rubric.problems)}.",
    ]


def write(terminalreporter: pytest.TerminalReporter, lines: Iterable[str]) -> None:
    """Write lines, wrapped where no path or command is cut."""
    width = terminalreporter.config.get_terminal_writer().fullwidth
    for line in lines:
        if len(line) > width and PLACE.match(line):
            # The code that stands there is left out where it does not fit.
            terminalreporter.write_line(line.partition(": ")[0])
            continue
        indent = "    " if line.startswith(" ") else ""
        text = textwrap.fill(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        terminalreporter.write_line(line if line.strip().startswith(ALONE) else text)
