"""Runs the suite on a submission's adapters, and says what became of each check."""

import time
from collections.abc import Callable

import pytest

from cs336_grader.records import Outcome, Verdict

from .diagnosis import Diagnostician, Explanation, Scope
from .expected import RecordedValues
from .suite import AdaptersSource, Suite, SuiteRun, check_name
from .verdict import CaseResult, case_result, outcome


class Judge(SuiteRun):
    """Runs each case with the adapters to be judged, and collects outcomes.

    Args:
        suite: what to run.
        source: where the adapters come from.
        expected: the values recorded so far.
        scope: what failed comparisons are explained with, if there are known mistakes.
        started: told the name of each check as it begins.
        finished: told the outcome of each check.
    """

    def __init__(
        self,
        suite: Suite,
        source: AdaptersSource,
        expected: RecordedValues,
        *,
        scope: Scope | None = None,
        started: Callable[[str], None] = lambda _: None,
        finished: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        super().__init__(suite, expected)
        self.source = source
        self.scope = scope
        self.started = started
        self.finished = finished
        self.outcomes: list[Outcome] = []
        self.cases: list[CaseResult] = []
        self.diagnostician: Diagnostician | None = None
        self.begun = 0.0

    def judge(self) -> list[Outcome]:
        """Run the suite; what became of each check.

        Raises:
            KeyboardInterrupt: the run was told to stop.
            SuiteError: the suite could not be run.
        """
        self.run()
        return self.outcomes

    def case(self, item: pytest.Item) -> None:
        """Judge a case, and say why it failed, where that is known."""
        if not self.cases:
            self.begun = time.monotonic()
            self.started(check_name(item))
        self.record(item)
        error = self.run_with(item, self.source)
        if error is not None and self.source.use_new_worker():
            # What earlier checks left in the worker, a cache say, may be the cause.
            error = self.run_with(item, self.source)
        found = CaseResult(item.name, Verdict.PASSED, "")
        if error is not None:
            found = case_result(item.name, error)
        self.cases.append(self.explained(item, found))

    def end_check(self, name: str) -> None:
        """Tell what became of a check."""
        found = outcome(name, self.cases, time.monotonic() - self.begun)
        self.cases = []
        self.outcomes.append(found)
        self.finished(found)

    def explained(self, item: pytest.Item, case: CaseResult) -> CaseResult:
        """A case's result with what explains it."""
        explanation = None
        if self.scope is not None:
            try:
                explanation = self.diagnose(item, self.scope, case)
            except Exception as error:  # the author's code broke, and the verdict stands
                explanation = case.unexplained(f"{type(error).__name__} was raised")
        return case.explained(explanation)

    def diagnose(self, item: pytest.Item, scope: Scope, case: CaseResult) -> Explanation | None:
        """What known mistakes say of a case; what passed is remembered for those that fail."""
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
