"""The pytest plugin of a suite of checks: fixtures, and hooks that collect and report.

A check reaches student code through ``adapters`` alone. Here that is the module
``tests/adapters.py`` in this process; a grader puts a proxy to another process in its place by
registering a plugin named ``adapters-source``, keeps expected values of its own by registering one
named ``expected-values``, and is shown all comparisons, which then never fail, by registering one
named ``comparison-observer``.
"""

import importlib
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from . import options
from .comparison import Comparison, Explanation
from .copies import Copies
from .diagnosis import recognise
from .draws import Draws
from .elsewhere import prefer
from .exceptions import remark
from .failures import import_failure
from .fingerprints import FingerprintFolder
from .forensics import examine
from .memory import Memory
from .options import ELSEWHERE, EXPECTED, SNAPSHOTS
from .snapshots import Snapshot
from .suite_folder import suite_folder
from .tracks import Tracks
from .weights import Watched

UNUSED = pytest.StashKey[list[Path]]()
FINGERPRINTS = pytest.StashKey[FingerprintFolder]()
WATCHED = pytest.StashKey[Watched]()


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Bring the options, unless pyproject.toml has done so already."""
    if not pluginmanager.has_plugin(options.__name__):
        pluginmanager.register(options, options.__name__)


@pytest.fixture
def adapters(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The submission's adapters; what they draw from torch's global generator repeats."""
    source = request.config.pluginmanager.get_plugin("adapters-source")
    with torch.random.fork_rng(devices=[]):
        # As in the grader's worker, which has a generator of its own.
        torch.default_generator.manual_seed(zlib.crc32(request.node.name.encode()))
        made = own_adapters(request.config) if source is None else source.adapters_for(request)
        watched = request.node.stash[WATCHED] = Watched(
            Copies(made), suite_folder(request.config).adapters
        )
        yield watched
        # It holds what the check passed, and items are kept to the end of the run.
        del request.node.stash[WATCHED]


def own_adapters(config: pytest.Config) -> Any:
    """The module of the adapters, in this process."""
    elsewhere = config.stash[ELSEWHERE]
    if elsewhere is not None:
        prefer(elsewhere, suite_folder(config).path.name)
    return importlib.import_module(suite_folder(config).adapters)


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draws:
    """The check's random inputs."""
    return Draws(request.config.option.seed, request.node.name)


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Iterator[Snapshot]:
    """The one way to compare values."""
    option = request.config.option
    expected_values = request.config.pluginmanager.get_plugin("expected-values")
    if expected_values is None:
        expected_values = request.config.stash[EXPECTED]
    requirement = (request.function.__doc__ or "").strip()
    made = Snapshot(
        check_name(request.node),
        requirement,
        expected_values,
        request.config.pluginmanager.get_plugin("comparison-observer"),
        explainer(request),
        exact=option.snapshot_exact,
    )
    yield made
    made.finish()


def explainer(request: pytest.FixtureRequest) -> Callable[[Comparison], Explanation]:
    """Return what explains a failed comparison; a grader names known mistakes by itself."""
    config, suite = request.config, suite_folder(request.config)
    graded = config.pluginmanager.has_plugin("expected-values")
    prints = config.stash.setdefault(FINGERPRINTS, FingerprintFolder(suite.fingerprints))

    def explain(comparison: Comparison) -> Explanation:
        known = not graded and config.option.seed == 0
        found = Explanation("")
        if known:
            found = recognise(comparison, prints, suite.title)
        if found.statement:
            return found
        watched = request.node.stash.get(WATCHED, None)
        seen = examine(comparison) or ("" if watched is None else watched.fault())
        return replace(found, statement=seen)

    return explain


@pytest.fixture
def memory(adapters: Any) -> Memory:
    """Watches from outside how much memory the submission's process takes."""
    return Memory(getattr(adapters, "pid", os.getpid()))


@pytest.fixture
def manual_seed(adapters: Any) -> Callable[[int], object]:
    """Seeds torch's global generator where the submission runs, until the case is over."""
    seed: Callable[[int], object] = getattr(adapters, "manual_seed", torch.manual_seed)
    return seed


def check_name(item: pytest.Item) -> str:
    """A check's name with its file and parameters: ``test_model.test_rope[theta=100]``."""
    return f"{item.path.stem}.{item.name}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,  # noqa: ARG001 (pytest tells by name what it gives)
    call: pytest.CallInfo[None],
) -> Generator[None, object, object]:
    """Say beside an exception what it most often means."""
    error = None if call.excinfo is None else call.excinfo.value
    if isinstance(error, Exception) and (sentence := remark(error)):
        error.add_note(sentence)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Note snapshots that no check uses, where all checks were collected; then leave some out."""
    folder = suite_folder(config).path
    whole = all(
        folder.is_relative_to(Path(re.split("::", arg)[0]).absolute()) for arg in config.args
    )
    named = any("::" in arg for arg in config.args)
    if whole and not named and not session.testsfailed:
        users = {
            check_name(item) for item in items if "snapshot" in getattr(item, "fixturenames", ())
        }
        config.stash[UNUSED] = config.stash[SNAPSHOTS].unused(users)
    if not config.pluginmanager.has_plugin("adapters-source"):
        skip_what_is_left_out(config, items)


def skip_what_is_left_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the checks of a track that is not begun, each file's with a single line.

    A problem that is asked for by its name is run.

    Raises:
        UsageError: there are no adapters, and no debugger or traceback was asked for.
    """
    try:
        module = own_adapters(config)
    except Exception as error:  # which every check would raise again
        graded = config.pluginmanager.has_plugin("expected-values")
        if graded or config.option.usepdb or config.option.tbstyle != "auto":
            return
        raise pytest.UsageError(
            import_failure(error, suite_folder(config), config.stash[ELSEWHERE])
        ) from error
    rubric = suite_folder(config).rubric
    tracks = Tracks(rubric, module)
    asked_for = rubric.problems.get(config.option.keyword)
    if asked_for is not None and not tracks.there.isdisjoint(asked_for.adapters):
        return
    for item in items:
        name = getattr(item, "originalname", "")
        if reason := tracks.why_left_out(name, config.option.track):
            item.add_marker(pytest.mark.skip(reason))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run where snapshots are unused, and once where they were written."""
    if session.config.stash.get(UNUSED, []) or session.config.stash[SNAPSHOTS].written:
        session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which snapshots are unused or were written, and what to do next."""
    for path in config.stash.get(UNUSED, []):
        terminalreporter.write_line(f"unused snapshot: {path.name}; delete it", red=True)
    count = len(config.stash[SNAPSHOTS].written)
    if count:
        terminalreporter.write_line(
            f"{count} snapshots written: look at the changes, then run again", yellow=True
        )
