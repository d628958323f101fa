"""A class of nine as each platform exports it: names, ids and marks of lateness are kept."""

import csv
import os
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader.batch import grading
from cs336_grader.batch.grading import request_for
from cs336_grader.batch.records import Graded, Record, Status
from cs336_grader.batch.settings import Settings
from cs336_grader.batch.submissions import Found, find
from cs336_grader.batch.whole_class import write_class
from cs336_grader.grading import plan, plan_before
from cs336_grader.records import Staged
from grader_tests.assignments import TINY
from grader_tests.unit.sample_reports import CASES
from grader_tests.unit.submissions import STUBS, pack, write

SETTINGS = Settings("submissions", str(TINY), "0" * 64, 7)
TINY_ASSIGNMENT = load_assignment(TINY)
WORK = {"tests/adapters.py": STUBS}


@dataclass(frozen=True)
class Student:
    """One of the class."""

    name: str
    sid: str
    late: bool = False


# Namesakes, accents as Windows and as macOS write them, capitals alone apart, no Latin letter.
STUDENTS = (
    Student("Ada Lovelace", "0011"),
    Student("Ada Lovelace", "0012", late=True),
    Student("Jos\xe9 N\xfa\xf1ez", "13", late=True),
    Student("Jose\u0301 Nu\u0301n\u0303ez", "14"),
    Student("O'Neil-Smith, Anne Marie", "15"),
    Student("\u738b\u5c0f\u660e", "16", late=True),
    Student("\u0905\u0926\u093f\u0924\u093f", "17"),
    Student("ada lovelace", "18"),
    Student("=SUM(A1)", "19"),
)


def canvas(folder: Path) -> None:
    """An archive a student, with a mark of those that are late."""
    for number, one in enumerate(STUDENTS):
        late = "LATE_" if one.late else ""
        name = one.name.replace(" ", "").replace(",", "").lower()
        pack(folder / f"{name}_{late}{one.sid}_{90 + number}_my_work-1.zip", WORK)
    write(folder, {"adalovelace_0011_text.html": "", "adalovelace_0011_70_essay.pdf": ""})


def moodle(folder: Path) -> None:
    """A folder a student."""
    for one in STUDENTS:
        inner = write(folder / f"{one.name}_{one.sid}_assignsubmission_file", {})
        inner.mkdir()
        pack(inner / "work.zip", WORK)


def moodle_with_typed_text(folder: Path) -> None:
    """The same, with a folder for what was typed, also by somebody who handed in no file."""
    moodle(folder)
    typed = [f"{one.name}_{one.sid}" for one in STUDENTS[::2]] + ["Somebody Else_99"]
    write(folder, {f"{name}_assignsubmission_onlinetext/onlinetext.html": "" for name in typed})


def moodle_without_folders(folder: Path) -> None:
    """All files beside each other, typed text as well; older versions end a name with a dash."""
    for one in STUDENTS:
        start = f"{one.name}_{one.sid}_assignsubmission"
        pack(folder / f"{start}_file_my_work.zip", WORK)
        write(folder, {f"{start}_onlinetext_onlinetext.html": "", f"{start}_file_essay.pdf": ""})


def gradescope(folder: Path) -> None:
    """A folder a submission, and a list of who handed in which."""
    lines = ["---"]
    for number, one in enumerate(STUDENTS):
        write(folder / f"submission_{700 + number}", dict(WORK))
        lines += [
            f"submission_{700 + number}:",
            "  :submitters:",
            f'  - :name: "{one.name}"',
            f"    :sid: {one.sid}",
            f"    :email: {one.sid}@example.org",
            f"  :created_at: 2026-10-0{number + 1} 10:00:00.000000000 Z",
            "  :score: 3.5",
        ]
    write(folder, {"submission_metadata.yml": "\n".join(lines)})


def nbgrader(folder: Path) -> None:
    """A folder a student, in it one of the assignment."""
    for number, one in enumerate(STUDENTS):
        inner = write(folder / one.sid / "a1", dict(WORK))
        write(inner, {"timestamp.txt": f"2026-10-0{number + 1} 10:00:00.000000 UTC\n"})


EXPORTS: Mapping[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (
        *(canvas, moodle, moodle_with_typed_text, moodle_without_folders, gradescope, nbgrader),
    )
}


def gradebook(folder: Path, out: Path) -> tuple[list[dict[str, str]], Found]:
    """The gradebook of a class in which everyone has all points."""
    found = find(folder, but=out)
    done = [
        Graded(Record(one.name, "", SETTINGS, Status.GRADED), CASES["all_passed"])
        for one in found.submissions
    ]
    write_class(done, found, SETTINGS, out)
    with (out / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file)), found


@pytest.mark.parametrize("platform", EXPORTS)
def test_a_class_of_nine(tmp_path: Path, platform: str) -> None:
    """Nine rows with the ids; names as one reads them, and marks where the platform has them."""
    folder = tmp_path / "submitted"
    folder.mkdir()
    EXPORTS[platform](folder)
    rows, found = gradebook(folder, tmp_path / "class")
    rows = [row for row in rows if row["score"]]
    by_id = {row["sid"]: row for row in rows}
    assert sorted(by_id) == [one.sid for one in STUDENTS]
    assert len({row["submission"].casefold() for row in rows}) == len(rows) == 9
    page = (tmp_path / "class" / "index.html").read_text(encoding="utf-8")
    there = {unicodedata.normalize("NFC", path.name) for path in folder.iterdir()}
    for one in STUDENTS:
        row = {column: cell.removeprefix("'") for column, cell in by_id[one.sid].items()}
        assert row["file"].partition("/")[0] in there
        assert f'<span class="names">id {one.sid}' in page
        name = unicodedata.normalize("NFC", one.name)
        if platform == "canvas":
            assert row["student"] == name.replace(" ", "").replace(",", "").lower()
            assert row["late"] == ("late" if one.late else "")
        elif platform != "nbgrader":
            assert row["student"] == name
        if platform in {"gradescope", "nbgrader"}:
            assert row["time"].startswith("2026-10-0")
    assert page.count('<span class="badge partly">late</span>') == (
        3 if platform == "canvas" else 0
    )
    assert all(one.path.exists() for one in found.submissions)


@pytest.mark.parametrize("platform", EXPORTS)
def test_a_report_has_the_name_and_id_of_its_student(tmp_path: Path, platform: str) -> None:
    """Whatever the archive is called, before and after it was read."""
    folder = tmp_path / "submitted"
    folder.mkdir()
    EXPORTS[platform](folder)
    for one in find(folder, but=tmp_path / "class").submissions:
        told = one.told.sid if platform == "nbgrader" else f"{one.told.student} ({one.told.sid})"
        told = unicodedata.normalize("NFC", told)
        request = request_for(one, SETTINGS, tmp_path / "class")
        staged = Staged("work", "0", folder, "tests.adapters", (), (), frozenset())
        before, after = (
            plan_before(request, TINY_ASSIGNMENT),
            plan(request, TINY_ASSIGNMENT, staged),
        )
        for planned in (before, after):
            assert unicodedata.normalize("NFC", planned.submission.name) == told


def test_without_a_platform_a_report_has_the_name_of_the_folder(tmp_path: Path) -> None:
    """Not that of the archive in it, which may be the same for all."""
    pack(write(tmp_path / "ada", {"essay.pdf": ""}) / "work.zip", WORK)
    (one,) = find(tmp_path, but=tmp_path / "class").submissions
    report = grading.set_aside(one, SETTINGS, tmp_path / "class", 1, "It ended early.").report
    assert (one.path.name, report.submission.name) == ("work.zip", "ada")
    page = (tmp_path / "class" / "ada" / "report.html").read_text(encoding="utf-8")
    assert "<title>ada: " in page


def test_namesakes_have_their_ids_in_their_names(tmp_path: Path) -> None:
    """So that one who is new changes nobody else's."""
    moodle(tmp_path)
    found = {one.name for one in find(tmp_path, but=tmp_path / "class").submissions}
    assert found >= {
        "Ada_Lovelace_0011",
        "Ada_Lovelace_0012",
        "ada_lovelace_18",
        "Jos\xe9_N\xfa\xf1ez_13",
    }


def test_typed_text_is_no_submission(tmp_path: Path) -> None:
    """It is named, and so is it that somebody has handed in nothing else."""
    moodle_with_typed_text(tmp_path)
    left_out = find(tmp_path, but=tmp_path / "class").left_out
    assert len(left_out) == 6
    name = "Somebody Else_99_assignsubmission_onlinetext"
    assert left_out[0] == f"{name}: typed text, and nothing else of this student is graded"
    assert "Ada Lovelace_0011_assignsubmission_onlinetext: typed text" in left_out


@pytest.mark.parametrize(
    "files",
    [
        ("Bo Re_9_assignsubmission_onlinetext/onlinetext.html",),
        ("Bo Re_9_assignsubmission_onlinetext_onlinetext.html",),
        ("Bo Re_9_assignsubmission_file_essay.pdf", "Bo Re_9_assignsubmission_onlinetext_x.html"),
        ("bore_9_text.html",),
        ("bore_LATE_9_text.html", "bore_LATE_9_link.html"),
        ("bore_9_70_essay.pdf",),
        ("anon_aB3x9_text.html",),
    ],
)
def test_a_student_without_work_has_a_row_without_a_grade(
    tmp_path: Path, files: tuple[str, ...]
) -> None:
    """One, with the reason; it is neither graded nor among the grades."""
    folder = write(tmp_path / "submitted", dict.fromkeys(files, ""))
    pack(folder / "Ada_1_assignsubmission_file_work.zip", WORK)
    rows, found = gradebook(folder, tmp_path / "class")
    assert [one.file for one in found.submissions] == ["Ada_1_assignsubmission_file_work.zip"]
    _, row = sorted(rows, key=lambda cells: cells["score"], reverse=True)
    filled = {column for column, cell in row.items() if cell}
    assert filled - {"late"} == {"submission", "file", "student", "sid", "status", "reason"}
    assert bool(row.get("late")) == ("LATE" in files[0])
    assert row["status"] == "not judged"
    told = "no folder and no archive" if files[0].endswith("pdf") else "typed text, no work"
    assert row["reason"] == told


def test_groups_and_blind_marking(tmp_path: Path) -> None:
    """Names that stand for no single student."""
    for name in (
        *("Default group_assignsubmission_file", "Participant_97_assignsubmission_file_"),
        *("Team 7_45_assignsubmission_file", "anon_LATE_aB3x9_903_work", "teamblue_LATE_77_904_w"),
    ):
        write(tmp_path / name, {"x.py": ""})
    found = find(tmp_path, but=tmp_path / "class").submissions
    assert [(one.told.student, one.told.sid, one.told.late) for one in found] == [
        ("Default group", "", False),
        ("Participant", "97", False),
        ("Team 7", "45", False),
        ("anon", "aB3x9", True),
        ("teamblue", "77", True),
    ]


def test_a_time_is_read_from_a_regular_file_alone(tmp_path: Path) -> None:
    """A pipe in its place is not waited for, and of a long text the beginning is enough."""
    write(tmp_path / "submitted" / "ada" / "a1", {"timestamp.txt": "9" * 10_000})
    inner = write(tmp_path / "submitted" / "kurt" / "a1", {"x.py": ""})
    os.mkfifo(inner / "timestamp.txt")
    ada, kurt = find(tmp_path / "submitted", but=tmp_path / "class").submissions
    assert (ada.told.time, kurt.told.time) == ("9" * 60, "")
    assert (ada.told.sid, kurt.told.sid) == ("ada", "kurt")


def test_a_group_of_gradescope(tmp_path: Path) -> None:
    """All of them are named; what the list does not name keeps its own name."""
    metadata = """
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: "017"
    :email: ada@example.org
  - :name: Grace Hopper
    :sid: 18
    :email:
submission_2:
  :submitters: []
"""
    write(tmp_path, {"submission_1/x.py": "", "submission_2/x.py": "", "submission_3/x.py": ""})
    write(tmp_path, {"submission_metadata.yml": metadata})
    found = find(tmp_path, but=tmp_path).submissions
    assert {one.name: one.file for one in found} == {
        "Ada_Lovelace+Grace_Hopper": "submission_1",
        "submission_2": "submission_2",
        "submission_3": "submission_3",
    }
    assert (found[0].told.sid, found[0].told.email) == ("017; 18", "ada@example.org")
