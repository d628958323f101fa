"""What of a folder is a submission of a class, and what it is called."""

import os
from pathlib import Path

import pytest

from cs336_grader.batch.submissions import digest, find
from grader_tests.unit.submissions import write


def names(folder: Path) -> dict[str, str]:
    """Each submission's name, with the path it stands for."""
    found = find(folder, but=folder / "class")
    return {one.name: one.path.relative_to(folder).as_posix() for one in found.submissions}


def test_folders_and_archives(tmp_path: Path) -> None:
    """Whatever else lies there is left out, and said so; hidden files and reports are not."""
    files = {"ada/x.py": "", "grace.zip": "", "alan.tar.gz": "", "roster.csv": "", ".git/x": ""}
    write(tmp_path, {**files, "class/index.html": "", "__MACOSX/x": ""})
    assert names(tmp_path) == {"ada": "ada", "alan": "alan.tar.gz", "grace": "grace.zip"}
    left_out = find(tmp_path, but=tmp_path / "class").left_out
    assert left_out == ("roster.csv: no folder and no archive",)


def test_names_are_unique_file_names(tmp_path: Path) -> None:
    """Also on a disk that does not tell capitals, and whatever characters somebody thought of."""
    write(tmp_path, {"ada.zip": "", "ada.tar": "", "Ada/x": "", "a b; rm/x": "", "é=1.zip": ""})
    write(tmp_path, {"index.html/x": ""})
    wanted = ["Ada", "a_b_rm", "ada-2", "ada-3", "index.html-2", "é_1"]
    assert sorted(names(tmp_path)) == wanted


def test_an_export_of_gradescope(tmp_path: Path) -> None:
    """Each folder has the names of those who handed it in; what names nobody keeps its own."""
    metadata = """
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: "017"
    :email: ada@example.org
  - :name: Grace Hopper
    :sid: 18
  :created_at: 2026-10-01 10:00:00.000000000 Z
  :score: 3.5
submission_2:
  :submitters: []
"""
    write(tmp_path, {"submission_1/x.py": "", "submission_2/x.py": "", "submission_3/x.py": ""})
    write(tmp_path, {"submission_metadata.yml": metadata})
    assert names(tmp_path) == {
        "Ada_Lovelace+Grace_Hopper": "submission_1",
        "submission_2": "submission_2",
        "submission_3": "submission_3",
    }
    found = find(tmp_path, but=tmp_path)
    assert found.left_out == ()
    first, *others = [(one.sid, one.email) for one in found.submissions]
    assert first == ("017; 18", "ada@example.org")
    assert others == [("", ""), ("", "")]


@pytest.mark.parametrize(
    "text",
    [
        *("- a\n", "a: b: c\n", "submission_1: 5\n", "!!python/name:os.x"),
        "submission_1:\n  :submitters: 5\n",
    ],
)
def test_metadata_that_say_nothing(tmp_path: Path, text: str) -> None:
    """Are as good as none, and nothing in them is run."""
    write(tmp_path, {"submission_1/x.py": "", "submission_metadata.yml": text})
    assert names(tmp_path) == {"submission_1": "submission_1"}


def test_an_export_of_canvas(tmp_path: Path) -> None:
    """Of what a student handed in, the last counts; the others are named."""
    last = "lovelaceada_LATE_11_903_work-2.zip"
    write(tmp_path, {"lovelaceada_11_97_work.zip": "", last: "", "hoppergrace_12_55_a_b.zip": ""})
    assert names(tmp_path) == {"hoppergrace": "hoppergrace_12_55_a_b.zip", "lovelaceada": last}
    (told,) = find(tmp_path, but=tmp_path).left_out
    assert told == f"lovelaceada_11_97_work.zip: {last} was handed in later"


def test_an_export_of_moodle(tmp_path: Path) -> None:
    """A folder with a single archive stands for that archive."""
    write(tmp_path, {"Ada Lovelace_97_assignsubmission_file/work.zip": ""})
    path = "Ada Lovelace_97_assignsubmission_file/work.zip"
    assert names(tmp_path) == {"Ada_Lovelace": path}


def test_a_digest_is_of_names_and_content(tmp_path: Path) -> None:
    """Another byte, name or file is another digest. When it was written is no matter."""
    folder = write(tmp_path / "one", {"a.py": "1", "b/c.py": "2"})
    first = digest(folder)
    os.utime(folder / "a.py", (0, 0))
    assert digest(folder) == first
    changes = [{"a.py": "2"}, {"d.py": ""}]
    found = {first, *(digest(write(folder, change)) for change in changes)}
    (folder / "a.py").rename(folder / "e.py")
    assert len({*found, digest(folder)}) == 4


def test_a_digest_follows_no_link_and_waits_for_no_pipe(tmp_path: Path) -> None:
    """What lies elsewhere is not read."""
    secret = tmp_path / "secret"
    secret.write_text("a", encoding="utf-8")
    folder = write(tmp_path / "one", {"a.py": "1"})
    (folder / "link").symlink_to(secret)
    os.mkfifo(folder / "pipe")
    before = digest(folder)
    secret.write_text("b", encoding="utf-8")
    assert digest(folder) == before
