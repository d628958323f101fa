"""What checks add to the folder of the import is found, and nothing behind a link."""

from pathlib import Path

import pytest

from cs336_grader.worker.sandbox.scratch import added, everything_below


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some folders and files."""
    made = tmp_path / "imported"
    (made / "inner" / "empty").mkdir(parents=True)
    (made / "inner" / "file").touch()
    return made


def test_what_was_there_stays(folder: Path) -> None:
    """And what was added is found, at any depth, each folder without what it holds."""
    kept = frozenset(everything_below(str(folder)))
    assert added(str(folder), kept) == []
    new = [folder / "new", folder / "inner" / "empty" / "new"]
    for path in new:
        path.mkdir()
        (path / "within").touch()
    assert set(added(str(folder), kept)) == set(map(str, new))


def test_nothing_is_found_behind_a_link(folder: Path, tmp_path: Path) -> None:
    """A check could put one in the place of a folder, to have something else removed."""
    kept = frozenset(everything_below(str(folder)))
    outside = tmp_path / "outside"
    (outside / "empty").mkdir(parents=True)
    for precious in (outside / "precious", outside / "empty" / "precious"):
        precious.touch()
    (folder / "inner").rename(folder / "moved")
    (folder / "inner").symlink_to(outside)
    assert added(str(folder), kept) == [str(folder / "moved")]
    folder.rename(tmp_path / "gone")
    folder.symlink_to(outside)
    assert added(str(folder), kept) == []


def test_a_folder_that_is_gone_is_passed_over(folder: Path) -> None:
    """As is one that cannot be listed."""
    kept = frozenset(everything_below(str(folder)))
    (folder / "inner" / "empty").rmdir()
    assert added(str(folder), kept) == []
