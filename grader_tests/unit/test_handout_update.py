"""Bringing a student's repository up to date."""

import dataclasses
from pathlib import Path

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader.handout import (
    Action,
    Change,
    Handout,
    build,
    carry_out,
    hand_out,
    missing_adapters,
    plan,
    read_manifest,
)
from cs336_grader.handout.manifest import MANIFEST, ManifestError, manifest
from grader_tests.assignments import TINY

CHECKS, ADAPTERS, SOLUTION = (
    "tests/test_totals.py",
    "tests/adapters.py",
    "statistics_basics/totals.py",
)


@pytest.fixture
def first() -> Handout:
    """What was handed out."""
    return build(load_assignment(TINY))


@pytest.fixture
def student(first: Handout, tmp_path: Path) -> Path:
    """A student's repository, with work in it."""
    folder = tmp_path / "student"
    hand_out(first, folder)
    (folder / SOLUTION).write_text("# my work\n", encoding="utf-8")
    (folder / "notes.txt").write_text("mine\n", encoding="utf-8")
    return folder


def changed(handout: Handout, **files: bytes | None) -> Handout:
    """What is handed out later; None is for a file that is not any more."""
    texts = {name: text for name, text in {**handout.files, **files}.items() if text is not None}
    own = handout.own & texts.keys()
    del texts[MANIFEST]
    texts[MANIFEST] = manifest(handout.assignment.rubric.title, (), texts, own)
    return dataclasses.replace(handout, files=dict(sorted(texts.items())), own=own)


def update(handout: Handout, folder: Path) -> list[Change]:
    """Bring a repository up to date."""
    changes = plan(handout, read_manifest(folder), folder)
    carry_out(changes, handout, folder)
    return changes


def state(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_nothing_changes_where_nothing_has(first: Handout, student: Path) -> None:
    """Not even a time."""
    before = state(student)
    assert update(first, student) == []
    assert state(student) == before


def test_only_what_is_the_authors_changes(first: Handout, student: Path) -> None:
    """Replaced, added and deleted; the student's files are as they were."""
    fixed = {CHECKS: b"# mended\n", "tests/new.py": b"# new\n", "tests/test_counting.py": None}
    solution = {SOLUTION: b"# another stub\n", ADAPTERS: b"# other stubs\n"}
    before = state(student)
    changes = update(changed(first, **fixed, **solution), student)
    assert [(change.file, change.action) for change in changes] == [
        ("tests/new.py", Action.ADD),
        ("tests/test_counting.py", Action.DELETE),
        (CHECKS, Action.REPLACE),
        (MANIFEST, Action.REPLACE),
    ]
    after = state(student)
    assert after.pop(CHECKS) == b"# mended\n"
    assert after.pop("tests/new.py") == b"# new\n"
    assert {**before, **after}.keys() - after.keys() == {CHECKS, "tests/test_counting.py"}
    del after[MANIFEST]
    assert all(before[name] == text for name, text in after.items())


def test_what_a_student_changed_is_left_and_told(first: Handout, student: Path) -> None:
    """Until it is deleted there: then the author's comes."""
    (student / CHECKS).write_bytes(b"# my own check\n")
    later = changed(first, **{CHECKS: b"# mended\n"})
    [left, _] = update(later, student)
    assert (left.file, left.action) == (CHECKS, Action.LEAVE)
    assert "changed here" in left.why
    assert (student / CHECKS).read_bytes() == b"# my own check\n"
    (student / CHECKS).unlink()
    assert [change.action for change in update(later, student)] == [Action.ADD]
    assert (student / CHECKS).read_bytes() == b"# mended\n"


def test_a_file_in_the_way_is_left(first: Handout, student: Path) -> None:
    """It was never the author's."""
    [left, _] = update(changed(first, **{"notes.txt": b"the author's\n"}), student)
    assert (left.action, left.why.partition(";")[0]) == (Action.LEAVE, "it was here before")
    assert (student / "notes.txt").read_bytes() == b"mine\n"


def test_changed_ends_of_lines_are_no_change(first: Handout, student: Path) -> None:
    """Git may write them in another way on Windows."""
    path = student / CHECKS
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert update(first, student) == []
    update(changed(first, **{CHECKS: b"# mended\n"}), student)
    assert path.read_bytes() == b"# mended\n"


def test_a_stub_that_was_deleted_does_not_come_back(first: Handout, student: Path) -> None:
    """A student may write the solution elsewhere; only a stub that is new comes."""
    (student / SOLUTION).unlink()
    later = changed(first, **{"statistics_basics/medians.py": b"# new\n"})
    later = dataclasses.replace(later, own=later.own | {"statistics_basics/medians.py"})
    changes = update(later, student)
    assert Change("statistics_basics/medians.py", Action.ADD) in changes
    assert not (student / SOLUTION).exists()


def test_a_link_is_not_followed(first: Handout, student: Path, tmp_path: Path) -> None:
    """Nothing is written where it leads."""
    elsewhere = tmp_path / "elsewhere"
    (student / "tests").rename(elsewhere)
    (student / "tests").symlink_to(elsewhere, target_is_directory=True)
    before = state(elsewhere)
    with pytest.raises(ManifestError, match="is a link"):
        update(changed(first, **{CHECKS: b"# mended\n"}), student)
    assert state(elsewhere) == before


@pytest.mark.parametrize("path", ["../notes.txt", "/etc/hostname", ".git/config", ""])
def test_a_manifest_names_nothing_outside(student: Path, path: str) -> None:
    """A student may have written it."""
    text = (student / MANIFEST).read_text(encoding="utf-8")
    (student / MANIFEST).write_text(text.replace(CHECKS, path), encoding="utf-8")
    with pytest.raises(ManifestError, match="cannot be read"):
        read_manifest(student)


def test_a_folder_that_was_not_handed_out(tmp_path: Path) -> None:
    """Is told so."""
    with pytest.raises(ManifestError, match="was not handed out"):
        read_manifest(tmp_path)


def test_adapters_that_came_later_are_told(first: Handout, student: Path) -> None:
    """Their stubs are shown, because the file is the student's."""
    text = (student / ADAPTERS).read_text(encoding="utf-8")
    (student / ADAPTERS).write_text(text.partition("def run_count_words")[0], encoding="utf-8")
    stubs = list(missing_adapters(first, student))
    assert [stub.partition("(")[0] for stub in stubs] == [
        "def run_count_words",
        "def run_running_totals",
    ]
    assert "raise NotImplementedError" in stubs[0]
