"""Fixtures and options of the suite.

A check reaches student code through ``adapters`` alone. Here that is the module
``tests/adapters.py`` in this process; a grader puts a proxy to another process in its place by
registering a plugin named ``adapters-source``, and keeps expected values of its own by registering
one named ``expected-values``.
"""

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .draws import Draws
from .elsewhere import prefer, pretend_installed
from .memory import Memory
from .snapshots import Snapshot, SnapshotFolder

HERE = Path(__file__).parent
SAVED = HERE / "_snapshots"
SNAPSHOTS = pytest.StashKey[SnapshotFolder]()
UNUSED = pytest.StashKey[list[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The suite's own options."""
    group = parser.getgroup("assignment")
    group.addoption(
        "--seed",
        type=seed_number,
        default=0,
        help="what all inputs derive from (default 0, the seed with saved snapshots)",
    )
    group.addoption(
        "--update-snapshots",
        action="store_true",
        help="write the snapshots from these adapters; the run fails once if any changed",
    )
    group.addoption(
        "--snapshot-exact", action="store_true", help="compare with no tolerance at all"
    )
    group.addoption(
        "--snapshots",
        type=Path,
        default=SAVED,
        metavar="FOLDER",
        help="where snapshots are kept (default: those saved beside the suite)",
    )
    group.addoption(
        "--adapters-from",
        type=Path,
        metavar="PATH",
        help="check the submission in another folder, in this process; expected values for another"
        " seed than 0 come from the adapters beside the suite",
    )


def seed_number(text: str) -> int:
    """A seed is a non-negative integer."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a non-negative integer, not {text!r}")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that cannot be followed, and know where expected values are."""
    option = config.option
    folder = option.adapters_from
    if folder is not None and not (folder / "tests" / "adapters.py").is_file():
        raise pytest.UsageError(f"--adapters-from: {folder} holds no tests/adapters.py")
    if option.update_snapshots and option.seed != 0 and option.snapshots == SAVED:
        raise pytest.UsageError("snapshots are saved for seed 0 only: leave out --seed")
    if option.seed != 0 and folder is not None and option.snapshots == SAVED:
        option.snapshots = recorded(config)
    config.stash[SNAPSHOTS] = SnapshotFolder(option.snapshots, recording=option.update_snapshots)
    if folder is not None:
        pretend_installed(folder.resolve(), temporary_folder(config))


def recorded(config: pytest.Config) -> Path:
    """A folder of what the adapters beside this file return at the run's seed."""
    folder = temporary_folder(config)
    arguments = [f"--seed={config.option.seed}", "--update-snapshots", f"--snapshots={folder}"]
    # In a process of its own, where nothing of the other folder is ever imported.
    recording = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(HERE), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if recording.returncode > pytest.ExitCode.TESTS_FAILED:
        raise pytest.UsageError(
            f"the adapters beside the suite could not be run at this seed:\n{recording.stdout}"
        )
    return folder


def temporary_folder(config: pytest.Config) -> Path:
    """A folder that is there until the run ends."""
    folder = tempfile.TemporaryDirectory()
    config.add_cleanup(folder.cleanup)
    return Path(folder.name)


@pytest.fixture
def adapters(request: pytest.FixtureRequest) -> Any:
    """The submission's adapters."""
    source = request.config.pluginmanager.get_plugin("adapters-source")
    if source is not None:
        return source.adapters_for(request)
    if request.config.option.adapters_from is not None:
        prefer(request.config.option.adapters_from.resolve())
    return importlib.import_module("tests.adapters")


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draws:
    """The check's random inputs."""
    return Draws(request.config.option.seed, request.node.name)


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Iterator[Snapshot]:
    """The one way to compare values."""
    option = request.config.option
    expected_values = request.config.pluginmanager.get_plugin("expected-values")
    if expected_values is None and (option.seed == 0 or option.snapshots != SAVED):
        expected_values = request.config.stash[SNAPSHOTS]
    requirement = (request.function.__doc__ or "").strip()
    made = Snapshot(
        check_name(request.node), requirement, expected_values, exact=option.snapshot_exact
    )
    yield made
    made.finish()


@pytest.fixture
def memory(adapters: Any) -> Memory:
    """Watches from outside how much memory the submission's process takes."""
    return Memory(getattr(adapters, "pid", os.getpid()))


def check_name(item: pytest.Item) -> str:
    """A check's name with its file and parameters: ``test_model.test_rope[theta=100]``."""
    return f"{item.path.stem}.{item.name}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Note snapshots that no check uses, where all checks were collected."""
    whole = all(HERE.is_relative_to(Path(re.split("::", arg)[0]).absolute()) for arg in config.args)
    named = any("::" in arg for arg in config.args)
    if whole and not named and not session.testsfailed:
        users = {
            check_name(item) for item in items if "snapshot" in getattr(item, "fixturenames", ())
        }
        config.stash[UNUSED] = config.stash[SNAPSHOTS].unused(users)


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
