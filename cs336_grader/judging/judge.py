"""Records the expected values of a suite, then runs it on submissions' adapters."""

import importlib
import time
from collections.abc import Callable, Collection, Iterable

import pytest

from cs336_checks.comparison import Explanation
from cs336_checks.rubric import Lead
from cs336_grader.records import CheckResult, Verdict
from cs336_grader.scope import Scope

from .diagnosis import Diagnostician
from .expected import RecordedValues
from .suite import AdaptersSource, Suite, SuiteRun, check_name, tear_down, with_following
from .verdict import CaseResult, case_result, check_result


class Judge(SuiteRun):
    """Collects a suite and records all expected values before any submission is there.

    Args:
        suite: the checks that may be asked for.
        recorded: called when all values are known: calls ``judge``, here or in forks.
        catalogue: the module that holds known mistakes, or none.
        expected: values that are known already.
    """

    def __init__(
        self,
        suite: Suite,
        recorded: Callable[[], None],
        catalogue: str | None = None,
        expected: RecordedValues | None = None,
    ) -> None:
        super().__init__(suite, expected or RecordedValues())
        self.recorded = recorded
        self.catalogue = catalogue
        self.items: list[pytest.Item] = []
        self.source: AdaptersSource | None = None
        self.scope: Scope | None = None
        self.started: Callable[[str], None] = ignore
        self.finished: Callable[[CheckResult], None] = ignore
        self.cases: list[CaseResult] = []
        self.diagnostician: Diagnostician | None = None
        self.begun = 0.0

    def run_items(self, items: Iterable[pytest.Item]) -> None:
        """Record the expected values of all cases, and have submissions judged."""
        self.items = list(items)
        for item, following in with_following(self.items):
            self.record(item)
            tear_down(item, following)
        if self.catalogue is not None:
            importlib.import_module(self.catalogue)
        self.recorded()

    def judge(
        self,
        source: AdaptersSource,
        checks: Collection[str],
        *,
        scope: Scope | None = None,
        started: Callable[[str], None] = lambda _: None,
        finished: Callable[[CheckResult], None] = lambda _: None,
    ) -> None:
        """Run some of the checks on a submission's adapters.

        Args:
            source: where the adapters come from.
            checks: the names of the checks.
            scope: what failed comparisons are explained with, if there are known mistakes.
            started: told the name of each check as it begins.
            finished: told the result of each check.

        Raises:
            KeyboardInterrupt: the run was told to stop.
        """
        self.source, self.scope, self.started, self.finished = source, scope, started, finished
        super().run_items(item for item in self.items if check_name(item) in checks)

    def case(self, item: pytest.Item) -> None:
        """Judge a case, and say why it failed, where that is known."""
        if not self.cases:
            self.begun = time.monotonic()
            self.started(check_name(item))
        error = self.run_with(item, self.source)
        if error is not None and self.source is not None and self.source.use_new_worker():
            # What earlier checks left in the worker, a cache say, may be the cause.
            error = self.run_with(item, self.source)
        found = CaseResult(item.name, Verdict.PASSED, "")
        if error is not None:
            found = case_result(item.name, error)
        self.cases.append(self.explained(item, found))

    def end_check(self, name: str) -> None:
        """Tell what became of a check."""
        seconds = time.monotonic() - self.begun
        cases, self.cases = self.cases, []
        self.finished(check_result(self.suite.checks[name], cases, seconds))

    def explained(self, item: pytest.Item, case: CaseResult) -> CaseResult:
        """A case's result with what explains it."""
        explanation = None
        if self.scope is not None:
            try:
                explanation = self.diagnose(item, self.scope, case)
            except Exception as error:  # the author's code broke, and the verdict stands
                explanation = case.unexplained(f"{type(error).__name__} was raised")
        return case.explained(explanation, Lead.NAME if self.scope is None else self.scope.lead)

    def diagnose(self, item: pytest.Item, scope: Scope, case: CaseResult) -> Explanation | None:
        """Ask known mistakes about a case; remember what passed for those that fail."""
        self.diagnostician = self.diagnostician or Diagnostician(scope, self.observe)
        check = check_name(item)
        problem = scope.problems[check]
        if case.verdict is Verdict.PASSED:
            self.diagnostician.note_passed(item, problem, check)
        if case.comparison is None and not case.asserted:
            return None
        budget = self.diagnostician.budget
        if budget.left(check) <= 0:
            return case.unexplained("the time for this problem is used up")
        with budget.spent_on(check):
            if case.comparison is not None:
                return self.diagnostician.explain(item, problem, case.comparison)
            return self.diagnostician.explain_message(item, problem, case.message)

    def observe(self, item: pytest.Item, source: AdaptersSource, observer: object) -> str:
        """Run a case with other adapters, and say why it did not pass."""
        error = self.run_with(item, source, observer)
        return "" if error is None else case_result(item.name, error).message


def ignore(_: object) -> None:
    """Do nothing with what is told."""
