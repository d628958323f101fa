"""Runs an assignment's suite under pytest in this process, and says what became of each check."""

import contextlib
import inspect
import io
import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Protocol

import pytest
from _pytest.runner import runtestprotocol

from cs336_grader.records import Outcome, Verdict

from .diagnosis import Diagnostician, Explanation, Scope
from .expected import RecordedValues
from .verdict import CaseResult, case_result, outcome

# How the suite's fixtures find the adapters to be judged.
ADAPTERS_SOURCE = "adapters-source"
# How they find what is shown every comparison instead of failing it.
COMPARISON_OBSERVER = "comparison-observer"
# What a check calls to compare with the reference. One that calls nothing of the name needs no
# value of it, and is not run for one.
RECORDED_METHOD = "assert_match"
RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
INTERNAL_ERROR = "INTERNALERROR> "
MAX_ERROR = 1000
# Plugins of pytest that would change the order, write files, or look after each test in vain.
NOT_NEEDED = (
    *("randomly", "cacheprovider", "logging", "threadexception"),
    *("unraisableexception", "faulthandler"),
)


class SuiteError(Exception):
    """The suite itself is broken."""


class AdaptersSource(Protocol):
    """Where the checks get the adapters from."""

    def adapters_for(self, request: pytest.FixtureRequest) -> Any:
        """The adapters for one case of a check."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite and what is to be run of it.

    Attributes:
        folder: the assignment's folder, which holds ``tests``.
        seed: what all inputs derive from.
        checks: the test functions to run, each with its file relative to the folder.
        scope: what failed comparisons are explained with, if there are known mistakes.
    """

    folder: Path
    seed: int
    checks: Mapping[str, str]
    scope: Scope | None = None


def run_suite(
    suite: Suite,
    source: AdaptersSource,
    expected: RecordedValues,
    started: Callable[[str], None] = lambda _: None,
    finished: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Run the suite against the adapters of a source.

    Args:
        suite: what to run.
        source: where the adapters come from.
        expected: the values recorded so far; those that are missing are recorded on the way, with
            the suite's own adapters, the reference.
        started: told the name of each check as it begins.
        finished: told the outcome of each check.
    """
    runner = Runner(suite, source, expected, started, finished)
    run(suite, runner)
    return runner.outcomes


def run(suite: Suite, runner: "Runner") -> None:
    """Run pytest; its own output matters only where it cannot run the suite at all.

    Raises:
        KeyboardInterrupt: the run was told to stop.
        SuiteError: the suite could not be run.
    """
    arguments = [
        *sorted({str(suite.folder / file) for file in suite.checks.values()}),
        f"--rootdir={suite.folder}",
        f"--confcutdir={suite.folder}",
        f"--config-file={os.devnull}",
        f"--seed={suite.seed}",
        "--assert=plain",
        "--capture=no",
        *(f"-pno:{plugin}" for plugin in NOT_NEEDED),
    ]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(arguments, plugins=[runner])
    if runner.stopped:
        raise KeyboardInterrupt
    if code not in RAN:
        raise SuiteError(f"the suite cannot be run: {errors_in(output.getvalue())[:MAX_ERROR]}")


def errors_in(output: str) -> str:
    """What pytest's output says was the matter with the suite, or at last with pytest itself."""
    lines = output.splitlines()
    errors = [line for line in lines if line.startswith("E ")]
    return " ".join(errors or [line for line in lines if line.startswith(INTERNAL_ERROR)][-1:])


class Runner:
    """The pytest plugin that selects checks, provides adapters and collects outcomes.

    A case whose expected value is not known yet runs twice: with the reference, then with the
    adapters to be judged.
    """

    def __init__(
        self,
        suite: Suite,
        source: AdaptersSource,
        expected: RecordedValues,
        started: Callable[[str], None],
        finished: Callable[[Outcome], None],
    ) -> None:
        self.suite = suite
        self.source = source
        self.expected = expected
        self.started = started
        self.finished = finished
        self.outcomes: list[Outcome] = []
        self.cases: list[CaseResult] = []
        self.diagnostician: Diagnostician | None = None
        self.begun = 0.0
        self.judging = True
        self.wrong_aside = ""
        self.stopped = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the run was told to stop; a suite that cannot be collected is no such thing."""
        self.stopped = not isinstance(excinfo.value, pytest.Session.Interrupted)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Put in place what the suite's fixtures look for."""
        config.pluginmanager.register(self.expected, "expected-values")
        config.pluginmanager.register(self.source, ADAPTERS_SOURCE)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is to be run, in the order asked for: what is built on others comes later."""
        order = {name: i for i, name in enumerate(self.suite.checks)}
        kept = [item for item in items if check_name(item) in order]
        items[:] = sorted(kept, key=lambda item: order[check_name(item)])

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a case, and tell of its check before the first case and after the last."""
        name = check_name(item)
        if not self.cases:
            self.begun = time.monotonic()
            self.started(name)
        if compares_with_reference(item) and item.nodeid not in self.expected.recorded:
            self.record(item)
        self.cases.append(CaseResult(item.name, Verdict.PASSED, ""))
        run_alone(item)
        self.explain(item)
        # As pytest does after a case: what the next one has no use for is taken down.
        item.session._setupstate.teardown_exact(nextitem)
        if nextitem is None or check_name(nextitem) != name:
            found = outcome(name, self.cases, time.monotonic() - self.begun)
            self.cases = []
            self.outcomes.append(found)
            self.finished(found)
        return True

    def record(self, item: pytest.Item) -> None:
        """Run a case with the reference; where that fails, nothing is recorded."""
        self.expected.recording = True
        self.run_aside(item, {ADAPTERS_SOURCE: None})
        self.expected.recording = False
        self.expected.recorded.add(item.nodeid)

    def explain(self, item: pytest.Item) -> None:
        """Say why the case failed, where that is known."""
        case, scope, explanation = self.cases[-1], self.suite.scope, None
        if scope is not None:
            try:
                explanation = self.diagnose(item, scope, case)
            except Exception as error:  # the author's code broke, and the verdict stands
                explanation = case.unexplained(error)
        self.cases[-1] = case.explained(explanation)

    def diagnose(self, item: pytest.Item, scope: Scope, case: CaseResult) -> Explanation | None:
        """What known mistakes say of a case; what passed is remembered for those that fail."""
        self.diagnostician = self.diagnostician or Diagnostician(scope, self.observe)
        check = check_name(item)
        problem = scope.problems[check]
        if case.comparison is not None:
            return self.diagnostician.explain(item, problem, case.comparison)
        if case.asserted:
            return self.diagnostician.explain_message(item, problem, case.message)
        if case.verdict is Verdict.PASSED:
            self.diagnostician.note_passed(item, problem, check)
        return None

    def observe(self, item: pytest.Item, source: AdaptersSource, observer: object) -> str:
        """Run a case with other adapters, and show its comparisons to an observer of the suite."""
        return self.run_aside(item, {ADAPTERS_SOURCE: source, COMPARISON_OBSERVER: observer})

    def run_aside(self, item: pytest.Item, plugins: Mapping[str, object | None]) -> str:
        """Run a case with these plugins in the place of others, and say why it did not pass."""
        manager = item.config.pluginmanager
        before = {name: manager.get_plugin(name) for name in plugins}
        self.judging, self.wrong_aside = False, ""
        put_in_place(manager, plugins)
        run_alone(item)
        put_in_place(manager, before)
        self.judging = True
        return self.wrong_aside

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, object, object]:
        """Note the first thing that went wrong in a case."""
        if call.excinfo is not None:
            result = case_result(item.name, call.excinfo.value)
            if not self.judging:
                self.wrong_aside = self.wrong_aside or result.message
            elif self.cases[-1].verdict is Verdict.PASSED:
                self.cases[-1] = result
        return (yield)


def run_alone(item: pytest.Item) -> None:
    """Run a case and take down what is its own, as if another one of its file came next."""
    runtestprotocol(item, log=False, nextitem=item.parent)  # type: ignore[arg-type]


def put_in_place(manager: pytest.PytestPluginManager, plugins: Mapping[str, object | None]) -> None:
    """Register plugins by name instead of what was there; None stands for nothing."""
    for name, plugin in plugins.items():
        if manager.has_plugin(name):
            manager.unregister(name=name)
        if plugin is not None:
            manager.register(plugin, name)


def check_name(item: pytest.Item) -> str:
    """The name of an item's test function."""
    return str(getattr(item, "originalname", item.name))


def compares_with_reference(item: pytest.Item) -> bool:
    """Whether a check's function compares with what the reference returns."""
    function = getattr(item, "function", None)
    return function is not None and names(inspect.unwrap(function).__code__, RECORDED_METHOD)


def names(code: CodeType, name: str) -> bool:
    """Whether code, or a function within it, names an attribute."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return name in code.co_names or any(names(part, name) for part in inner)
