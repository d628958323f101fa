"""What of a folder is a submission of a class, and what it is called."""

import os
from pathlib import Path

import pytest

from cs336_grader.batch.submissions import digest, find
from grader_tests.unit.submissions import pack, write


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


def test_names_keep_their_letters(tmp_path: Path) -> None:
    """Accents are composed as one reads them, marks stay with their letters, and all is short."""
    long = "\u8bfe" * 80
    write(tmp_path, {"Jose\u0301 Nu\u0301n\u0303ez/x": "", "\u0905\u0926\u093f\u0924\u093f/x": ""})
    write(tmp_path, {f"{long}/x": ""})
    found = names(tmp_path)
    assert set(found) >= {"Jos\xe9_N\xfa\xf1ez", "\u0905\u0926\u093f\u0924\u093f"}
    assert max(len(name.encode()) for name in found) <= 200


def test_of_several_archives_the_latest_that_may_hold_work_counts(tmp_path: Path) -> None:
    """An essay beside it is no later attempt; an archive that cannot be read may be one."""
    work = {"tests/adapters.py": "def run_count_words(text): pass"}
    for student, later in {"ada_11": {"essay.tex": ""}, "grace_12": work}.items():
        pack(tmp_path / f"{student}_97_work.zip", work)
        pack(tmp_path / f"{student}_98_more.zip", dict(later))
    write(tmp_path, {"kurt_13_97_work.zip": "", "kurt_13_98_work-1.zip": "broken"})
    assert names(tmp_path) == {
        "ada": "ada_11_97_work.zip",
        "grace": "grace_12_98_more.zip",
        "kurt": "kurt_13_98_work-1.zip",
    }
    assert find(tmp_path, but=tmp_path).left_out == (
        "ada_11_98_more.zip: ada_11_97_work.zip counts",
        "grace_12_97_work.zip: grace_12_98_more.zip was handed in later",
        "kurt_13_97_work.zip: kurt_13_98_work-1.zip was handed in later",
    )


def test_a_folder_with_one_archive_stands_for_it(tmp_path: Path) -> None:
    """Also beside an essay, but not beside code."""
    write(tmp_path, {"a/work.zip": "", "b/work.zip": "", "b/essay.pdf": ""})
    write(tmp_path, {"c/work.zip": "", "c/adapters.py": "", "d/a1/work.zip": "", "d/a1/.x": ""})
    write(tmp_path, {"e/a1/work.zip": "", "e/a2/x.py": "", "f/x.py": ""})
    (tmp_path / "f" / "f").symlink_to(tmp_path / "f")
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "g").symlink_to(tmp_path / "g")
    stood_for = {"a": "a/work.zip", "b": "b/work.zip", "d": "d/a1/work.zip"}
    assert names(tmp_path) == {**{name: name for name in "cefg"}, **stood_for}


@pytest.mark.parametrize("inner", ["", "a1/"])
def test_of_several_archives_in_a_folder_the_newest_that_may_hold_work_counts(
    tmp_path: Path, inner: str
) -> None:
    """By the times of the files; the last by name where these are the same."""
    work = {"tests/adapters.py": "def run_count_words(text): pass"}
    moodle = "{}_assignsubmission_file"
    for student, times in {"Ada_1": (7, 5, 9), "Kurt_2": (7, 7, 7)}.items():
        folder = write(tmp_path / moodle.format(student) / inner, {"essay.pdf": ""})
        for name, content, time in zip("abc", (work, work, {"x.tex": ""}), times, strict=True):
            os.utime(pack(folder / f"{name}.zip", dict(content)), (time, time))
    ada, kurt = (f"{moodle.format(one)}/{inner}" for one in ("Ada_1", "Kurt_2"))
    assert names(tmp_path) == {"Ada": f"{ada}a.zip", "Kurt": f"{kurt}b.zip"}
    assert find(tmp_path, but=tmp_path).left_out == (
        f"{ada}b.zip: a.zip is newer",
        f"{ada}c.zip: a.zip counts",
        f"{kurt}a.zip: b.zip counts",
        f"{kurt}c.zip: b.zip counts",
    )


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
