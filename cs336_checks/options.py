"""The suite's own options, and what they decide before anything runs.

A plugin that pyproject.toml names, because pytest takes a folder after an option that it does not
know for what to test, and then reads no tests/conftest.py.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .elsewhere import pretend_installed
from .progress import Progress
from .snapshots import SnapshotFolder
from .suite_folder import suite_folder

# How pytest ends where what there was to record has been recorded.
RECORDED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
SNAPSHOTS = pytest.StashKey[SnapshotFolder]()
EXPECTED = pytest.StashKey[SnapshotFolder | None]()
ELSEWHERE = pytest.StashKey[Path | None]()


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
    group.addoption(
        "--track",
        action="append",
        default=[],
        metavar="TRACK",
        help="run the checks of this track of the assignment alone, may be repeated (default: each"
        " track of which an adapter is filled in)",
    )


def seed_number(text: str) -> int:
    """A seed is a non-negative integer."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a non-negative integer, not {text!r}")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that cannot be followed, and know where expected values are."""
    config.addinivalue_line(
        "markers", "fresh_worker: the check needs a process in which no other has run"
    )
    option, suite = config.option, suite_folder(config)
    tracks = suite.rubric.tracks
    folder: Path | None = option.adapters_from
    place: Path | None = option.snapshots
    if folder is not None and not (folder / "tests" / "adapters.py").is_file():
        raise pytest.UsageError(f"--adapters-from: {folder} holds no tests/adapters.py")
    if not set(option.track) <= tracks.keys():
        raise pytest.UsageError(f"--track: there are these alone: {', '.join(tracks)}")
    if option.update_snapshots and option.seed != 0 and place is None:
        raise pytest.UsageError("snapshots are saved for seed 0 only: leave out --seed")
    if option.seed != 0 and folder is not None and place is None:
        place = recorded(config)
    saved = SnapshotFolder(place or suite.snapshots, recording=option.update_snapshots)
    config.stash[SNAPSHOTS] = saved
    config.stash[EXPECTED] = saved if option.seed == 0 or place is not None else None
    config.stash[ELSEWHERE] = folder and folder.resolve()
    if folder is not None:
        pretend_installed(folder.resolve(), temporary_folder(config))
    config.pluginmanager.register(Progress(suite), "progress")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the checks of the tracks that were asked for, or of the problem, in their order."""
    suite, problem = suite_folder(config), config.option.keyword
    problems, problem_of = suite.rubric.problems, suite.problem_of
    order = {check: i for i, check in enumerate(problem_of)}
    # Who asks for a random order gets one.
    if not config.pluginmanager.has_plugin("randomly"):
        items.sort(key=lambda item: order.get(getattr(item, "originalname", ""), len(order)))
    if chosen := config.option.track:
        keep(
            config,
            items,
            lambda check: check in problem_of and problems[problem_of[check]].track in chosen,
        )
    if problem in problems:
        # pytest itself would take all that holds the name, such as those of scaled_embedding.
        keep(config, items, lambda check: problem_of.get(check) == problem)


def keep(config: pytest.Config, items: list[pytest.Item], wanted: Callable[[str], bool]) -> None:
    """Leave out the checks that are not wanted, by the names of their functions."""
    kept = {item for item in items if wanted(getattr(item, "originalname", ""))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def recorded(config: pytest.Config) -> Path:
    """A folder of what the adapters beside this file return at the run's seed in its checks."""
    option = config.option
    folder = temporary_folder(config)
    chosen = [*config.args, "-k", option.keyword, *map("--track={}".format, option.track)]
    arguments = [f"--seed={option.seed}", "--update-snapshots", f"--snapshots={folder}"]
    # In a process of its own, where nothing of the other folder is ever imported.
    recording = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *chosen, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if recording.returncode not in RECORDED:
        raise pytest.UsageError(
            f"the adapters beside the suite could not be run at this seed:\n{recording.stdout}"
        )
    return folder


def temporary_folder(config: pytest.Config) -> Path:
    """A folder that is there until the run ends."""
    folder = tempfile.TemporaryDirectory()
    config.add_cleanup(folder.cleanup)
    return Path(folder.name)
