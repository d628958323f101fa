"""Runs an assignment's suite under pytest in this process; what is done with each case is open."""

import contextlib
import inspect
import io
import os
import tempfile
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any, Protocol

import pytest

from cs336_checks.rubric import Check

from .expected import RecordedValues

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

    def use_new_worker(self) -> bool:
        """Have the next case run where no other has; whether the last one ran elsewhere."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite and what is to be run of it.

    Attributes:
        folder: the assignment's folder, which holds ``tests``.
        seed: what all inputs derive from.
        checks: the test functions to run, by name, in this order.
    """

    folder: Path
    seed: int
    checks: Mapping[str, Check]


class SuiteRun(ABC):
    """The pytest plugin that selects checks and hands each of their cases to a subclass.

    Args:
        suite: what to run.
        expected: the values recorded so far; those that are missing are recorded on the way, with
            the suite's own adapters, the reference.
    """

    def __init__(self, suite: Suite, expected: RecordedValues) -> None:
        self.suite = suite
        self.expected = expected
        self.error: BaseException | None = None
        self.stopped = False

    @abstractmethod
    def case(self, item: pytest.Item) -> None:
        """Do what is to be done with a case."""

    def end_check(self, name: str) -> None:  # noqa: B027 (few need to know)
        """Know that this was the last case of a check."""

    def run(self) -> None:
        """Run pytest; its own output matters only where it cannot run the suite at all.

        Raises:
            KeyboardInterrupt: the run was told to stop.
            SuiteError: the suite could not be run.
        """
        arguments = [
            *sorted({str(self.suite.folder / check.file) for check in self.suite.checks.values()}),
            f"--rootdir={self.suite.folder}",
            f"--confcutdir={self.suite.folder}",
            f"--config-file={os.devnull}",
            f"--seed={self.suite.seed}",
            "--assert=plain",
            "--capture=no",
            *(f"-pno:{plugin}" for plugin in NOT_NEEDED),
        ]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), temporary_files():
            code = pytest.main(arguments, plugins=[self])
        if self.stopped:
            raise KeyboardInterrupt
        if code not in RAN:
            told = errors_in(output.getvalue())[:MAX_ERROR]
            raise SuiteError(f"the suite cannot be run: {told}")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the run was told to stop; a suite that cannot be collected is no such thing."""
        self.stopped = not isinstance(excinfo.value, pytest.Session.Interrupted)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Put in place what the suite's fixtures look for."""
        config.pluginmanager.register(self.expected, "expected-values")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is to be run, in the order asked for: what is built on others comes later."""
        order = {name: i for i, name in enumerate(self.suite.checks)}
        kept = [item for item in items if check_name(item) in order]
        items[:] = sorted(kept, key=lambda item: order[check_name(item)])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the cases, unless the suite could not be collected, as pytest will say."""
        if session.testsfailed:
            return None
        self.run_items(session.items)
        return True

    @pytest.fixture
    def tmp_path(self) -> Path:
        """A folder of its own for each case, in the temporary folder of this process."""
        return Path(tempfile.mkdtemp())

    def run_items(self, items: Iterable[pytest.Item]) -> None:
        """Hand on each case, and say when it was the last of its check."""
        for item, following in with_following(items):
            self.case(item)
            tear_down(item, following)
            if following is None or check_name(following) != check_name(item):
                self.end_check(check_name(item))

    def record(self, item: pytest.Item) -> None:
        """Run a case with the reference, if it compares with that and its value is not known yet.

        Where that fails, nothing is recorded.
        """
        if compares_with_reference(item) and item.nodeid not in self.expected.recorded:
            self.expected.recording = True
            self.run_with(item, None)
            self.expected.recording = False
            self.expected.recorded.add(item.nodeid)

    def run_with(
        self, item: pytest.Item, source: AdaptersSource | None, observer: object = None
    ) -> BaseException | None:
        """Run a case, and return what was raised first.

        Args:
            item: the case.
            source: where its adapters come from; they are the suite's own if from nowhere.
            observer: is shown its comparisons instead of failing them, if there is one.
        """
        manager = item.config.pluginmanager
        # What is there stays for the next case, which mostly wants the same: pytest looks through
        # all that a plugin has when it is registered.
        for name, plugin in ((ADAPTERS_SOURCE, source), (COMPARISON_OBSERVER, observer)):
            there = manager.get_plugin(name)
            if there is not None and there is not plugin:
                manager.unregister(name=name)
            if plugin is not None and there is not plugin:
                manager.register(plugin, name)
        self.error = None
        # What is the case's own is taken down, as if another one of its file came next. pytest asks
        # for an item, but looks only at what that lies in, which the file has as well.
        item.ihook.pytest_runtest_protocol(item=item, nextitem=item.parent)
        error, self.error = self.error, None
        forget_tracebacks(error)
        return error

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Note the first thing that was raised in a case.

        Nobody reads pytest's own report, which takes long to make: it looks for the source of every
        frame in every module there is, and has torch import all it has not yet. The exception leads
        to the function that holds the call: as long as both know each other, all is kept.
        """
        raised, call.excinfo = call.excinfo, None
        if raised is not None and self.error is None:
            self.error = raised.value
        return pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            "passed" if raised is None else "failed",
            None,
            call.when,  # type: ignore[arg-type]  # of what is no collection
        )


@contextlib.contextmanager
def temporary_files() -> Iterator[None]:
    """Make temporary files in a folder that is removed afterwards."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="cs336-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def with_following(
    items: Iterable[pytest.Item],
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each item with the next one; the last with None."""
    return pairwise([*items, None])  # type: ignore[list-item]  # None is only the last


def tear_down(item: pytest.Item, following: pytest.Item | None) -> None:
    """Take down what the next item has no use for, as pytest does after an item."""
    item.ihook.pytest_runtest_teardown(item=item, nextitem=following)


def forget_tracebacks(error: BaseException | None) -> None:
    """Free the local variables of all functions that an exception and its causes passed through."""
    # An exception can be its own cause; the second time, it has no traceback any more.
    while error is not None and error.__traceback__ is not None:
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def errors_in(output: str) -> str:
    """Return what pytest's output says was wrong with the suite, or at last with pytest itself."""
    lines = output.splitlines()
    errors = [line for line in lines if line.startswith("E ")]
    return " ".join(errors or [line for line in lines if line.startswith(INTERNAL_ERROR)][-1:])


def check_name(item: pytest.Item) -> str:
    """The name of an item's test function."""
    return str(getattr(item, "originalname", item.name))


def compares_with_reference(item: pytest.Item) -> bool:
    """Return True for a check that compares with what the reference returns."""
    function = getattr(item, "function", None)
    return function is not None and names(inspect.unwrap(function).__code__, RECORDED_METHOD)


def names(code: CodeType, name: str) -> bool:
    """Return True for code that names an attribute, itself or in a function within it."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return name in code.co_names or any(names(part, name) for part in inner)
