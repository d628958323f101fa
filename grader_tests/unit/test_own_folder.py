"""A worker empties its own folder between checks, and no other."""

from pathlib import Path

import pytest

from cs336_grader.worker.isolation.door import Door
from cs336_grader.worker.isolation.limits import Limits
from cs336_grader.worker.isolation.view import View
from grader_tests.limits import limits_with


def door_with(own: Path) -> Door:
    """A door of a process that has this folder."""
    limits: Limits = limits_with()
    door = Door(View(str(own.parent), str(own.parent), (), 1, 1), limits, wanted=False)
    door.own = str(own)
    return door


def test_what_was_left_in_the_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders within it as well; the process works there again."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own"
    (own / "folder").mkdir(parents=True)
    (own / "folder" / "file").touch()
    door_with(own).empty()
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
        door_with(own).empty()
    assert (victim / "file").exists()
