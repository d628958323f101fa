"""Grades of a class: students, lateness, adjustments, and what platforms import."""

import csv
import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs336_checks.rubric import load_assignment
from cs336_grader.grades import exports, feedback
from cs336_grader.grades.course import Course, read_course
from cs336_grader.grades.deadlines import LatePolicy, point_in_time
from cs336_grader.grades.grading import ClassGrades, Grade, Standing, Work, grades_of
from cs336_grader.grades.roster import Form, read_roster
from cs336_grader.grades.tables import GradesError
from cs336_grader.records import Report
from grader_tests.assignments import TINY
from grader_tests.unit.sample_reports import CASES
from grader_tests.unit.submissions import write

RUBRIC = load_assignment(TINY).rubric
CLASS = """
roster = "roster.csv"
adjustments = "adjustments.csv"
column = "Assignment 1 (77)"

[deadline]
time = 2026-10-01T23:59:00
zone = "Europe/Berlin"
grace_minutes = 10
percent_per_day = 10
most_percent = 40
slip_days = 1

[points]
maximum = 100

[written]
positions = 1

[extensions]
Edsger = 2026-10-05T12:00:00

[groups]
Pioneers = ["1005", "1006"]
"""
PEOPLE = (
    ("Lovelace, Ada", "1001"),
    ("Turing, Alan", "1002"),
    ("Müller, José", "1003"),
    ("Müller, José", "1004"),
    ("Hopper, Grace", "1005"),
    ("Hamilton, Margaret", "1006"),
    ("Edsger", "1007"),
    ("Liskov, Barbara", "1008"),
    ("Knuth, Donald", "1009"),
    ("Wing, Jeannette", "1010"),
)
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,Assignment 1 (77),Current Score\n" + "".join(
    f'"{name}",{sid},u{sid},login{sid},A,,\n' for name, sid in PEOPLE
).replace('"Lovelace', '"    Points Possible",,,,,100,(read only)\n"Lovelace', 1)
ADJUSTMENTS = """student,problem,points,change,reason,comment
1001,positions,1,,written question,
1002,positions,0.5,,written question,
1003,positions,1,,written question,
1004,positions,0,,written question,
1005,positions,1,,written question,
1006,positions,1,,written question,
login1007,positions,1,,written question,
1008,positions,1,,written question,
1009,positions,1,,written question,
Alan Turing,count_words,,1,the check was too strict,Well found.
1009,,50,,agreed in person,
"""


def scored(*scores: float) -> Report:
    """A report with these points in the three problems of the tiny assignment."""
    report = CASES["all_passed"]
    problems = [
        replace(one, score=score) for one, score in zip(report.problems, scores, strict=True)
    ]
    return replace(report, problems=tuple(problems), score=sum(scores))


def work(sid: str, time: str, *scores: float, **changed: object) -> Work:
    """A submission of a student."""
    file = f"name_{sid}_90{sid}_work.zip"
    made = Work(f"name_{sid}", file, "name", sid, "", time, report=scored(*scores))
    return replace(made, **changed)  # type: ignore[arg-type]


WORKS = (
    work("1001", "2026-10-01 23:59:00 +02:00", 4, 3, 2),
    work("1002", "2026-10-02T00:09:00+02:00", 4, 1, 2),
    work("1003", "2026-10-02 00:10:00.123456789 +0200", 4, 3, 2),
    work("1004", "2026-10-04 10:00:00", 4, 3, 2),
    work("1005", "2026-10-01 12:00:00 UTC", 2, 3, 1),
    work("1007", "2026-10-05 11:59:00", 0, 3, 2),
    work("1008", "Tuesday, 20 October 2026, 11:59 PM", 4, 3, 2),
    work("1009", "2026-10-01 10:00:00", 1, 1, 1),
    work("4711", "2026-10-01 10:00:00", 4, 3, 2),
)
# Ten students worked out by hand: (checks and written question) / 10 * 100, less 10 % a day.
BY_HAND = {
    "1001": 100.0,  # 9 + 1, in time
    "1002": 85.0,  # 4 + (1 + 1) + 2 + 0.5, in the time of grace
    "1003": 100.0,  # one day late, which the slip day covers
    "1004": 72.0,  # 9 + 0; three days late less the slip day: 20 % of 90
    "1005": 70.0,  # 6 + 1
    "1006": 70.0,  # the group of 1005
    "1007": 60.0,  # 5 + 1, in the time of the extension
    "1008": 60.0,  # 10, and nineteen days late: at most 40 %
    "1009": 50.0,  # decided by a person
    "1010": None,  # nothing was handed in
}


def course(folder: Path, **files: str) -> Course:
    """The class that these files describe; some have a text of their own."""
    texts = {"class": CLASS, "roster": CANVAS, "adjustments": ADJUSTMENTS, **files}
    suffixes = {"class": "class.toml", "roster": "roster.csv", "adjustments": "adjustments.csv"}
    write(folder, {suffixes[name]: text for name, text in texts.items()})
    return read_course(folder / "class.toml", RUBRIC)


def refused(folder: Path, **files: str) -> Sequence[str]:
    """What is said about wrong files of a class."""
    with pytest.raises(GradesError) as caught:
        course(folder, **files)
    return caught.value.lines


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture
def grades(tmp_path: Path) -> tuple[Course, ClassGrades]:
    """A class of ten, and its grades."""
    made = course(tmp_path)
    return made, grades_of(made, WORKS)


def test_the_grades_are_those_worked_out_by_hand(grades: tuple[Course, ClassGrades]) -> None:
    """Late days, grace, slip days, an extension, a group, changes and written questions."""
    _, found = grades
    assert {one.student.sid: one.points for one in found.grades} == BY_HAND
    assert [one.sids for one in found.strangers] == ["4711"]
    assert found.grades[-1].standing is Standing.MISSING


def test_canvas_gets_its_own_columns(grades: tuple[Course, ClassGrades]) -> None:
    """One assignment, the points possible, and no row for a student without a grade."""
    head, *students = rows(exports.canvas(*grades))
    assert list(head) == [*exports.CANVAS_COLUMNS, "Assignment 1 (77)"]
    assert (head["Student"].strip(), head["Assignment 1 (77)"]) == ("Points Possible", "100")
    given = {one["ID"]: float(one["Assignment 1 (77)"]) for one in students}
    assert given == {sid: points for sid, points in BY_HAND.items() if points is not None}
    assert students[2]["Student"] == "Müller, José"
    assert students[0]["SIS Login ID"] == "login1001"


MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
) + "".join(
    f"Participant {sid},{name.replace(', ', ' ')},a{sid}@b.edu,Submitted,,100.00,Yes,"
    f'"Thursday, 1 October 2026, 1:00 PM",-,\n'
    for name, sid in PEOPLE
)


def test_moodle_gets_its_worksheet_back(tmp_path: Path) -> None:
    """All rows and columns, with grade and feedback; the times come from the worksheet."""
    made = course(
        tmp_path,
        roster=MOODLE,
        adjustments=ADJUSTMENTS.replace("login1007", "1007").replace("Alan Turing", "1002"),
    )
    assert made.roster.form is Form.MOODLE
    found = grades_of(made, [replace(one, time="") for one in WORKS])
    written = rows(exports.moodle(made, found))
    assert [one["Identifier"] for one in written] == [f"Participant {sid}" for _, sid in PEOPLE]
    given = {one["Identifier"][12:]: one["Grade"] for one in written}
    # Nobody is late by the worksheet.
    assert given == {
        **{sid: f"{points:g}" for sid, points in BY_HAND.items() if points is not None},
        "1004": "90",
        "1008": "100",
        "1010": "",
    }
    assert "the check was too strict" in written[1]["Feedback comments"]


def test_moodles_maximum_has_to_be_the_same(tmp_path: Path) -> None:
    """Each row with another is told."""
    made = course(tmp_path, roster=MOODLE.replace("100.00", "50"), adjustments="student\n")
    made = replace(made, file=made.file.model_copy(update={"written": {}}))
    with pytest.raises(GradesError, match="line 2: Moodle's maximum is 50 and the class's 100"):
        exports.moodle(made, grades_of(made, WORKS))


def test_gradescope_and_a_spreadsheet(tmp_path: Path) -> None:
    """Everybody has a row; a group's submission gives a grade to each member."""
    roster = "First Name,Last Name,SID,Email\nAda,Lovelace,1,a@x.edu\nAlan,Turing,2,t@x.edu\n"
    plain = 'roster = "roster.csv"\n'
    made = course(tmp_path, **{"class": plain, "roster": roster})
    both = work("1; 2", "", 4, 3, 0)
    found = grades_of(made, [both])
    assert [one["Total Score"] for one in rows(exports.gradescope(made, found))] == ["7", "7"]
    assert [one["points"] for one in rows(exports.plain(made, found))] == ["7", "7"]


@pytest.mark.parametrize(
    ("platform", "file", "name"),
    [
        ("canvas", "lovelaceada_LATE_1001_90817_work.zip", "lovelaceada_1001_90817_report.html"),
        (
            "moodle",
            "Ada Lovelace_1001_assignsubmission_file/work.zip",
            "Ada Lovelace_1001_assignsubmission_file_/report.html",
        ),
        ("csv", "work.zip", "Ada Lovelace_1001/report.html"),
    ],
)
def test_feedback_goes_back_by_the_platforms_names(
    tmp_path: Path, platform: str, file: str, name: str
) -> None:
    """One page a student, which begins with how the grade came about."""
    found = grades_of(course(tmp_path), [replace(WORKS[0], file=file)])

    def page(_report: Report, grade: Grade) -> str:
        return " ".join(grade.sentences())

    packed = zipfile.ZipFile(io.BytesIO(feedback.archive(platform, found, page)))
    assert packed.namelist() == [name]
    assert packed.read(name).decode().startswith("Your grade: 100 of 100 points.")


def test_weights_and_the_best_of_several(tmp_path: Path) -> None:
    """A problem counts double; the better of two submissions counts."""
    text = 'roster = "roster.csv"\ncounts = "best"\n[points.problems]\nmoving_average = 2\n'
    made = course(tmp_path, **{"class": text})
    two = [work("1001", "", 4, 0, 0), work("1001", "", 0, 3, 2)]
    (best, *_) = grades_of(made, two).grades
    assert (best.points, best.maximum) == (8, 13)
    last = replace(made, file=made.file.model_copy(update={"counts": "last"}))
    assert grades_of(last, two).grades[0].points == 5


def test_what_is_not_known_is_no_grade(tmp_path: Path) -> None:
    """A late mark without a time, and a written question without points."""
    made = course(tmp_path, adjustments="student\n")
    (first, *_) = grades_of(made, [replace(WORKS[0], time="", late=True)]).grades
    assert first.points is None
    assert first.standing is Standing.INCOMPLETE
    assert len(first.missing) == 2


def test_a_time_that_nobody_understands_is_told(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(GradesError, match="'yesterday' is in no known form; write it in class"):
        grades_of(course(tmp_path), [replace(WORKS[0], time="yesterday")])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("Zuse,positions,1,,a,", "no student of roster.csv is 'Zuse'"),
        ("José Müller,positions,1,,a,", "2 students are called 'José Müller': write the id (1003"),
        ("1001,count_wrds,1,,a,", "no problem and no written question 'count_wrds'"),
        ("1001,positions,2,,a,", "points is 2, and 0 to 1 are possible"),
        ("1001,positions,nan,,a,", "points is 'nan', and a number is expected"),
        ("1001,positions,,,a,", "there are no points, no change and no comment"),
        ("1001,positions,1,1,a,", "points and change exclude each other"),
        ("1001,positions,1,,,", "the reason is missing"),
        ("1001,positions,1,,a,b,c", "has more cells than there are columns"),
    ],
)
def test_a_wrong_adjustment_is_told_with_its_line(tmp_path: Path, row: str, said: str) -> None:
    """One line of text for each wrong row, and none is applied."""
    head = "student,problem,points,change,reason,comment\n"
    (line,) = refused(tmp_path, adjustments=f"{head}{row}\n")
    assert line.startswith("adjustments.csv, line 2: ")
    assert said in line


def test_a_double_row_is_told(tmp_path: Path) -> None:
    """The second one, of adjustments and of students."""
    row = "1001,positions,1,,a,\n"
    (line,) = refused(
        tmp_path, adjustments=f"student,problem,points,change,reason,comment\n{row}{row}"
    )
    assert line.startswith("adjustments.csv, line 3: there is a row")
    (line,) = refused(tmp_path, roster="student,id\nAda,1\nAlan,1\n")
    assert line == "roster.csv, line 3: '1' is already in line 2; each student has one row"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('rooster = "a"\n', "class.toml, line 1: rooster: there is no such key"),
        ('roster = "roster.csv"\n[deadline]\ntime = 3\n', "class.toml, line 3: deadline.time: "),
        (
            'roster = "roster.csv"\n[deadline]\ntime = 2026-10-01T10:00:00\nzone = "Mars"\n',
            "class.toml, line 4: deadline.zone: 'Mars' is no time zone",
        ),
        (
            'roster = "roster.csv"\n[deadline]\ntime = 2026-10-01T10:00:00\npercent_per_day = 101',
            "class.toml, line 4: deadline.percent_per_day: input should be less than or equal to",
        ),
        (
            'roster = "roster.csv"\n[extensions]\nZuse = 2026-10-01T10:00:00\n',
            "no student of roster.csv",
        ),
        ('roster = "roster.csv"\n[points.tracks]\nmodern = 1\n', "there is no track 'modern'"),
        ('roster = "none.csv"\n', "No such file"),
        ("roster = \n", "class.toml: is no valid TOML"),
    ],
)
def test_a_wrong_class_file_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    """The key, the line and what to do."""
    assert said in "\n".join(refused(tmp_path, **{"class": text}))


def test_another_encoding_is_told(tmp_path: Path) -> None:
    """With the line of the first letter that is none in UTF-8."""
    course(tmp_path)
    (tmp_path / "roster.csv").write_bytes("student,id\nAda,1\nJosé,2\n".encode("latin-1"))
    with pytest.raises(GradesError, match=r"roster.csv, line 3: is not UTF-8; save the file as"):
        read_roster(tmp_path / "roster.csv")


@given(late=st.integers(0, 60 * 24 * 30), grace=st.integers(0, 600), slip=st.integers(0, 9))
def test_lateness_is_a_law(late: int, grace: int, slip: int) -> None:
    """A day more never costs less, nothing exceeds the cap, and grace and slip days are free."""
    due = point_in_time("2026-10-01T00:00:00", ZoneInfo("UTC"))
    policy = LatePolicy(timedelta(minutes=grace), 7, 50, slip)
    days = policy.days_late(due + timedelta(minutes=late), due)
    assert days == max(0, -(-(late - grace) // (24 * 60)))
    assert policy.percent_lost(days) <= policy.percent_lost(days + 1) <= 50
    assert policy.percent_lost(days) == 0 or days > slip
