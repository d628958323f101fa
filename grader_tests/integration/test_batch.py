"""A class graded by the command: all of it, killed and resumed, and once more after a fix."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from grader_tests.assignments import TINY
from grader_tests.classes import RIGHT, STUBS, write_class, zipped
from grader_tests.commands import ENVIRONMENT, PROGRAM
from grader_tests.unit.submissions import pack, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked as on Linux")
LOSES_TEXT = "\n\ndef run_count_words(text):\n    return {}\n"
# Its import ends whatever process of its user it finds; nothing must come of it.
DEADLY = "import os\nos.kill(os.getppid(), 9)\nos._exit(1)\n"
SEED = "7"
COMMON = ("--assignment", "assignment", "--jobs", "1")


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the grader."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=place,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def batch(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Grade the class of a place."""
    return run(place, "batch", "submissions", *COMMON, *options)


def rows(place: Path) -> dict[str, dict[str, str]]:
    """The gradebook, by names."""
    with (place / "class" / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["submission"]: row for row in csv.DictReader(file)}


def records(place: Path) -> dict[str, int]:
    """When each submission was done."""
    found = (place / "class").glob("*/record.json")
    return {path.parent.name: path.stat().st_mtime_ns for path in found}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class that was killed when its first submission was done, and then graded to the end."""
    place = tmp_path_factory.mktemp("place")
    shutil.copytree(TINY, place / "assignment", ignore=shutil.ignore_patterns("__pycache__"))
    write_class(
        place / "submissions",
        {"ada": RIGHT, "grace": RIGHT + LOSES_TEXT, "alan": STUBS, "kurt": DEADLY + RIGHT},
        {"linus.zip": zipped(RIGHT)[:99], "roster.csv": b""},
    )
    killed = subprocess.Popen(
        [*PROGRAM, "batch", "submissions", *COMMON, "--seed", SEED],
        cwd=place,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 300
    while not records(place) and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    before = records(place)
    assert before
    ended = batch(place)
    assert ended.returncode == 3, ended.stderr
    assert "linus: linus is no readable zip archive" in ended.stdout
    _, told, *lines = ended.stderr.splitlines()
    assert told == f"{len(before)} of 5 are done already."
    assert [line.partition(" ")[0] for line in lines] == [
        f"[{number}/5]" for number in range(len(before) + 1, 6)
    ]
    assert records(place).items() >= before.items()
    return place


def test_everybody_has_a_row_and_a_page(place: Path) -> None:
    """With the same seed, which was kept when it was killed; one bad submission stops no other."""
    found = rows(place)
    scores = {name: row["score"] for name, row in found.items()}
    assert scores == {"ada": "9.0", "alan": "0.0", "grace": "6.0", "kurt": "0.0", "linus": ""}
    assert {row["seed"] for row in found.values()} == {SEED}
    assert found["linus"]["status"] == "not judged"
    assert "no readable zip archive" in found["linus"]["reason"]
    assert found["kurt"]["reason"].startswith("Nothing in it could be run")
    assert found["alan"]["reason"].startswith("No adapter in it is written yet")
    for name in found:
        assert (place / "class" / name / "report.html").is_file()
    page = (place / "class" / "index.html").read_text(encoding="utf-8")
    assert "grace/report.html" in page
    assert "roster.csv" in page


def test_a_verdict_is_the_same_as_alone(place: Path) -> None:
    """Of each check, with what was said of it."""
    alone = run(
        place, "grade", "submissions/grace.zip", "--assignment", "assignment", "--seed", SEED
    )
    assert alone.returncode == 0, alone.stderr
    first, second = (
        json.loads((place / folder / "report.json").read_text(encoding="utf-8"))
        for folder in ("report", "class/grace")
    )
    for report in (first, second):
        for check in report["checks"]:
            check["duration_seconds"] = 0
    for name in ("checks", "problems", "score", "findings", "isolation", "submission", "notes"):
        assert first[name] == second[name]


def test_one_submission_is_no_class(place: Path) -> None:
    """The command says what to name, and grades nothing."""
    refused = run(place, "batch", "submissions/ada", *COMMON, "--report-dir", "other")
    assert refused.returncode == 2
    assert "is one submission: its adapters are tests/adapters.py" in refused.stderr
    assert not (place / "other").exists()


def test_what_is_done_is_not_done_again(place: Path) -> None:
    """Nothing is graded, and the files are as they were."""
    before, gradebook = records(place), (place / "class" / "gradebook.csv").read_bytes()
    again = batch(place)
    assert again.returncode == 3
    assert again.stderr.startswith("Grading 5 submissions of ")
    assert f"with seed {SEED}, 1 at a time.\n5 of 5 are done already.\n" in again.stderr
    assert again.stderr.count("\n") == 2
    assert records(place) == before
    assert (place / "class" / "gradebook.csv").read_bytes() == gradebook


@pytest.mark.parametrize("started", ["spawn_main", "judges.template"])
def test_an_interruption_is_for_one_process(tmp_path: Path, started: str) -> None:
    """Ctrl-C reaches all of them, also those that have only begun: no other says a word of it."""
    write_class(tmp_path / "submissions", {"ada": RIGHT}, {})
    command = ["batch", "submissions", "--assignment", str(TINY), "--jobs", "1"]
    running = subprocess.Popen(
        [*PROGRAM, *command],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 100
    while not runs(running.pid, started) and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)  # until Python has begun in it
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=100)
    assert running.returncode == 130
    _, *lines = said.splitlines()
    assert lines == ["", "Interrupted. The same command goes on from there."]


def runs(pid: int, words: str) -> bool:
    """Whether a process has started another whose command has these words in it."""
    try:
        children = psutil.Process(pid).children(recursive=True)
        return any(words in " ".join(child.cmdline()) for child in children)
    except psutil.Error:
        return False


def test_another_seed_is_another_class(place: Path) -> None:
    """The command says what differs, and touches nothing."""
    refused = batch(place, "--seed", "8")
    assert refused.returncode == 2
    assert "class holds a class that was graded differently:" in refused.stderr
    assert f"\n  seed: was {SEED}, now 8\n" in refused.stderr
    assert "leave the settings as they were" in refused.stderr
    assert "regrade" not in refused.stderr


def test_a_fix_shows_who_changes_before_anything_is_replaced(place: Path) -> None:
    """Then replaces it, once that is asked for, without grading again."""
    path = place / "assignment" / "tests" / "test_counting.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("snapshot.assert_match(", "str("), encoding="utf-8")
    old = (place / "class" / "gradebook.csv").read_bytes()
    refused = batch(place).stderr
    assert "\n  the grader or the assignment has changed since\n" in refused
    assert "cs336 regrade class\n" in refused
    shown = run(place, "regrade", "class", "--jobs", "1")
    assert shown.returncode == 3, shown.stderr
    assert "1 of 5 grades change" in shown.stdout
    assert "grace: 6 / 9 -> 8.7 / 9" in shown.stdout.replace("→", "->")
    assert "test_count_words: failed" in shown.stdout
    assert "Nothing was replaced. To replace the reports: " in shown.stdout
    assert shown.stdout.endswith("cs336 regrade class --write\n")
    assert (place / "class" / "gradebook.csv").read_bytes() == old
    graded = (place / "class" / ".regraded" / "grace" / "record.json").stat().st_mtime_ns
    replaced = run(place, "regrade", "class", "--jobs", "1", "--write")
    assert replaced.returncode == 3, replaced.stderr
    assert rows(place)["grace"]["score"] == "8.7"
    assert records(place)["grace"] == graded
    assert not (place / "class" / ".regraded").exists()


def test_other_points_run_nothing(place: Path) -> None:
    """What was judged gets its new points; only what was not judged is tried again."""
    path = place / "assignment" / "tests" / "rubric.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("points = 3", "points = 6"), encoding="utf-8")
    assert "\n  the points of the assignment have changed since\n" in batch(place).stderr
    shown = run(place, "regrade", "class", "--jobs", "1", "--write")
    assert "4 of 5 are done already." in shown.stderr
    assert {name: row["score"] for name, row in rows(place).items()} == {
        "ada": "12.0",
        "alan": "0.0",
        "grace": "11.4",
        "kurt": "0.0",
        "linus": "",
    }


def test_an_export_of_odd_names(tmp_path: Path) -> None:
    """Work in folders of any name has its points, or is not judged; ids and letters are kept."""
    folders = {
        "Jose\u0301 Nu\u0301n\u0303ez_97": "2026-01-02 10:30:00",
        "Ada Lovelace_98": "C:\\Users\\ada",
        "Ada Lovelace_99": "/var/a. ",
        "Kurt_100": "..",
    }
    for student, inner in folders.items():
        place = tmp_path / "submissions" / f"{student}_assignsubmission_file"
        pack(write(place, {"essay.pdf": ""}) / "work.zip", {f"{inner}/tests/adapters.py": RIGHT})
        write(tmp_path / "submissions" / f"{student}_assignsubmission_onlinetext", {"x.html": ""})
    ended = run(tmp_path, "batch", "submissions", "--assignment", str(TINY), "--jobs", "1")
    assert ended.returncode == 3, ended.stderr
    found = {name: (row["sid"], row["score"]) for name, row in rows(tmp_path).items()}
    assert found == {
        "Jos\xe9_N\xfa\xf1ez": ("97", "9.0"),
        "Ada_Lovelace_98": ("98", "9.0"),
        "Ada_Lovelace_99": ("99", "9.0"),
        "Kurt": ("100", ""),
    }
