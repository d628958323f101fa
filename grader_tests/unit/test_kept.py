"""Tests of finding what checks add to the folder of the import."""

import os
import time
from pathlib import Path

import pytest

from cs336_grader.worker.sandbox import kept
from cs336_grader.worker.sandbox.kept import KeptFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some folders and files, none of which changed just now."""
    made = tmp_path / "imported"
    (made / "inner" / "empty").mkdir(parents=True)
    (made / "inner" / "file").touch()
    time.sleep(2 * kept.STEP_NS / 1e9)
    return made


def test_what_was_there_stays(folder: Path) -> None:
    """And what was added is found, at any depth, as often as it is there."""
    files = KeptFiles(str(folder))
    assert files.added() == []
    new = [folder / "new", folder / "inner" / "empty" / "new"]
    for path in new:
        path.touch()
        os.utime(path.parent, (0, 0))
    assert set(files.added()) == set(files.added()) == set(map(str, new))
    for path in new:
        path.unlink()
    assert files.added() == []
    new[0].touch()
    assert files.added() == [str(new[0])]


def test_a_folder_that_has_not_changed_is_not_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many files it holds."""
    listed: list[str] = []
    below = kept.below

    def noted(path: str) -> list[str]:
        listed.append(path)
        return below(path)

    monkeypatch.setattr(kept, "below", noted)
    files = KeptFiles(str(folder))
    assert files.added() == []
    assert listed == []
    (folder / "inner" / "new").touch()
    files.added()
    assert listed == [str(folder / "inner")]


def test_nothing_is_found_behind_a_link(folder: Path, tmp_path: Path) -> None:
    """A check could put one in the place of a folder, to have something else removed."""
    files = KeptFiles(str(folder))
    outside = tmp_path / "outside"
    (outside / "empty").mkdir(parents=True)
    for precious in (outside / "precious", outside / "empty" / "precious"):
        precious.touch()
    (folder / "inner").rename(folder / "moved")
    (folder / "inner").symlink_to(outside)
    assert files.added() == [str(folder / "moved")]


def test_a_folder_that_is_gone_is_passed_over(folder: Path) -> None:
    """As is one that cannot be listed."""
    files = KeptFiles(str(folder))
    (folder / "inner" / "empty").rmdir()
    assert files.added() == []
