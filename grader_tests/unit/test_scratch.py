"""Files that workers leave are removed, those of the import stay, and no link is followed."""

import os
from pathlib import Path

import pytest

from cs336_grader.worker.sandbox.root_filesystem import RootFilesystem
from cs336_grader.worker.sandbox.scratch import Scratch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that workers write to."""
    made = tmp_path / "scratch"
    made.mkdir()
    return made


@pytest.fixture
def scratch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """The same, after an import that wrote some files."""
    monkeypatch.chdir(folder)
    root = RootFilesystem(str(folder), str(folder), (), 1, 1)
    scratch = Scratch(root, os.geteuid(), mounted=False)
    inner = Path(scratch.imported, "inner")
    (inner / "empty").mkdir(parents=True)
    (inner / "file").touch()
    assert scratch.keep_imported() == 3
    return scratch


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is none of a worker's."""
    made = tmp_path / "outside"
    (made / "empty").mkdir(parents=True)
    (made / "file").touch()
    (made / "empty" / "file").touch()
    return made


def paths(folder: Path) -> set[str]:
    """The paths below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_what_workers_add_is_removed(scratch: Scratch, folder: Path) -> None:
    """At any depth, beside the files of the import, which stay."""
    before = paths(folder)
    for new in ("problem", "imported/new", "imported/inner/empty/new"):
        (folder / new / "within").mkdir(parents=True)
        (folder / new / "file").touch()
    scratch.clean()
    assert paths(folder) == before


def test_deep_folders_are_removed(scratch: Scratch, folder: Path) -> None:
    """Too deep for Python, and for a path."""
    before = paths(folder)
    os.chdir(folder)
    for _ in range(1200):
        os.mkdir("deeper")
        os.chdir("deeper")
    os.chdir(folder)
    scratch.clean()
    assert paths(folder) == before


@pytest.mark.parametrize("replaced", ["imported", "imported/inner", "imported/inner/empty"])
def test_a_link_in_place_of_a_kept_folder_is_not_followed(
    scratch: Scratch, folder: Path, outside: Path, replaced: str
) -> None:
    """A check could make one to have other files removed."""
    before = paths(outside)
    (folder / replaced).rename(folder / "moved")
    (folder / replaced).symlink_to(outside)
    scratch.clean()
    assert paths(outside) == before
    assert not (folder / "moved").exists()


def test_files_of_the_import_may_be_gone(scratch: Scratch, folder: Path) -> None:
    """A worker may remove them."""
    (folder / "imported" / "inner" / "empty").rmdir()
    scratch.clean()
    assert paths(folder) == {"imported", "imported/inner", "imported/inner/file"}


def test_a_worker_empties_its_own_folder(scratch: Scratch, outside: Path) -> None:
    """Links in it are removed, not followed; the process works there again."""
    before = paths(outside)
    scratch.make_own()
    own = Path(scratch.own)
    (own / "folder").mkdir()
    (own / "folder" / "file").touch()
    (own / "link").symlink_to(outside)
    scratch.empty_own()
    assert (paths(own), paths(outside), Path.cwd()) == (set(), before, own)


def test_a_link_in_place_of_the_own_folder_is_an_error(scratch: Scratch, outside: Path) -> None:
    """The worker is replaced then, and nothing is removed."""
    before = paths(outside)
    scratch.make_own()
    Path(scratch.own).rmdir()
    Path(scratch.own).symlink_to(outside)
    with pytest.raises(NotADirectoryError):
        scratch.empty_own()
    assert paths(outside) == before
