"""From the export of a platform to its import: classes of the tiny assignment."""

import csv
import io
import zipfile
from pathlib import Path

import pytest

from grader_tests.assignments import TINY
from grader_tests.classes import RIGHT, STUBS, zipped
from grader_tests.integration.test_batch import run

LOSES_TEXT = RIGHT + "\n\ndef run_count_words(text):\n    return {}\n"
# By turns: all 9 points, 6, none.
SOURCES, POINTS = (RIGHT, LOSES_TEXT, STUBS), (9.0, 6.0, 0.0)
MISSING = {7, 21}
NAMES = ("Ada Müller", "José Núñez", "Zoë Smith", "Ada Müller")
PLATFORMS = ("canvas", "moodle", "gradescope", "csv")
SETTINGS = """
roster = "roster.csv"
adjustments = "adjustments.csv"
column = "Statistics (5)"
"""
DEADLINE = """
[deadline]
time = 2026-10-01T12:00:00
percent_per_day = 10

[submitted]
"104" = 2026-10-03T11:00:00Z
"""
ADJUSTMENTS = """student,problem,points,change,reason,comment
100,,,-0.5,no name in the file,
102,count_words,2,,right but for one letter,
"""


def handed_in(platform: str, number: int) -> str:
    """The name of a file as a platform writes it."""
    name, sid = NAMES[number % 4], 100 + number
    late = "LATE_" if number == 4 else ""
    return {
        "canvas": f"{name.replace(' ', '').lower()}_{late}{sid}_{9000 + number}_work.zip",
        "moodle": f"{name}_{sid}_assignsubmission_file_work.zip",
        "gradescope": f"submission_{number}",
        "csv": f"{sid}.zip",
    }[platform]


def roster(platform: str, count: int) -> str:
    """The list of students as a platform exports it."""
    people = [(NAMES[number % 4], 100 + number) for number in range(count)]
    heads = {
        "canvas": "Student,ID,SIS User ID,SIS Login ID,Section,Statistics (5)\n",
        "moodle": "Identifier,Full name,Email address,Status,Grade,Maximum Grade,"
        "Grade can be changed,Last modified (submission),Feedback comments\n",
        "gradescope": "First Name,Last Name,SID,Email,Section\n",
        "csv": "student,id,email\n",
    }
    lines = {
        "canvas": lambda name, sid: f'"{name.split()[1]}, {name.split()[0]}",{sid},u{sid},,A,\n',
        "moodle": lambda name, sid: f"Participant {sid},{name},,Submitted,,9.00,Yes,-,\n",
        "gradescope": lambda name, sid: f"{name.replace(' ', ',')},{sid},{sid}@b.edu,A\n",
        "csv": lambda name, sid: f"{name},{sid},\n",
    }
    return heads[platform] + "".join(lines[platform](*one) for one in people)


def write_class(place: Path, platform: str, count: int) -> None:
    """Write a class as a platform exports it, with what an instructor adds."""
    folder = place / "submissions"
    folder.mkdir()
    listed = []
    for number in range(count):
        if number in MISSING:
            continue
        content, name = zipped(SOURCES[number % 3]), handed_in(platform, number)
        if platform == "gradescope":
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                packed.extractall(folder / name)
            listed.append(
                f"{name}:\n  :submitters:\n  - :name: {NAMES[number % 4]}\n    :sid: "
                f"'{100 + number}'\n  :created_at: 2026-10-01 10:00:00 Z\n"
            )
        else:
            (folder / name).write_bytes(content)
    if listed:
        (folder / "submission_metadata.yml").write_text("".join(listed), encoding="utf-8")
    (folder / "roster.csv").write_text(roster(platform, count), encoding="utf-8")
    (folder / "adjustments.csv").write_text(ADJUSTMENTS, encoding="utf-8")
    (folder / "class.toml").write_text(SETTINGS + DEADLINE, encoding="utf-8")


def expected(number: int) -> float | None:
    """The grade of a student, worked out by hand."""
    if number in MISSING:
        return None
    # Fifteen minutes less than two days late, by class.toml; half a point less by hand; the third
    # student has two of three points for words.
    return {0: 8.5, 2: 2.0, 4: 4.8}.get(number, POINTS[number % 3])


@pytest.mark.parametrize(
    ("platform", "count"),
    [
        *((platform, 8) for platform in PLATFORMS),
        *(pytest.param(platform, 40, marks=pytest.mark.slow) for platform in PLATFORMS),
    ],
)
def test_a_class_goes_back(tmp_path: Path, platform: str, count: int) -> None:
    """Every number in the import file is that of the student with the id, and feedback is there."""
    missing = sum(number < count for number in MISSING)
    write_class(tmp_path, platform, count)
    options = ("--assignment", str(TINY), "--jobs", "2", "--seed", "7")
    done = run(tmp_path, "batch", "submissions", *options)
    assert done.returncode == 0, done.stderr
    exported = run(tmp_path, "export", platform)
    assert exported.returncode == 0, exported.stderr
    assert exported.stdout.startswith(f"{count - missing} of {count} students have a grade")
    assert exported.stdout.count("Nothing was handed in.") == missing
    text = (tmp_path / "class" / platform / "grades.csv").read_text(encoding="utf-8-sig")
    key, points = {
        "canvas": ("ID", "Statistics (5)"),
        "moodle": ("Identifier", "Grade"),
        "gradescope": ("SID", "Total Score"),
        "csv": ("id", "points"),
    }[platform]
    given = {
        row[key].removeprefix("Participant "): row[points]
        for row in csv.DictReader(io.StringIO(text))
        if row[key] and row[points]
    }
    wanted = {str(100 + n): expected(n) for n in range(count) if expected(n) is not None}
    assert {sid: float(one) for sid, one in given.items()} == wanted
    with zipfile.ZipFile(tmp_path / "class" / platform / "feedback.zip") as pages:
        assert len(pages.namelist()) == count - missing
        first = next(name for name in pages.namelist() if "100" in name)
        assert "no name in the file" in pages.read(first).decode()
    page = (tmp_path / "class" / "index.html").read_text(encoding="utf-8")
    assert page.index("Who needs a person?") < page.index("How did they do?")
