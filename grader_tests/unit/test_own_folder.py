"""A worker empties its own folder between checks, and no other."""

from pathlib import Path

import pytest

from cs336_grader.worker.sandbox.layers import Sandbox
from cs336_grader.worker.sandbox.limits import Limits
from cs336_grader.worker.sandbox.root_filesystem import RootFilesystem
from grader_tests.limits import limits_with


def sandbox_with(own: Path) -> Sandbox:
    """A sandbox of a process that has this folder."""
    limits: Limits = limits_with()
    sandbox = Sandbox(
        RootFilesystem(str(own.parent), str(own.parent), (), 1, 1), limits, wanted=False
    )
    sandbox.own = str(own)
    return sandbox


def test_what_was_left_in_the_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders within it as well; the process works there again."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own"
    (own / "folder").mkdir(parents=True)
    (own / "folder" / "file").touch()
    sandbox_with(own).empty_own_folder()
    assert list(own.iterdir()) == []
    assert Path.cwd() == own


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leads to stays as it is."""
    monkeypatch.chdir(tmp_path)
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    own = tmp_path / "own"
    own.symlink_to(victim)
    with pytest.raises(NotADirectoryError):
        sandbox_with(own).empty_own_folder()
    assert (victim / "file").exists()
