"""The command ``cs336 audit``, on the small assignment: what holds, what does not, how it ends."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from grader_tests.assignments import TINY
from grader_tests.commands import PROGRAM

Audit = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def assignment(tmp_path: Path) -> Path:
    """A copy of the small assignment, to plant something in."""
    shutil.copytree(TINY, tmp_path / "assignment", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "assignment"


@pytest.fixture
def audit(assignment: Path, tmp_path: Path) -> Audit:
    """Audits the copy."""

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        where = [f"--assignment={assignment}", f"--report-dir={tmp_path / 'report'}"]
        return subprocess.run(
            [*PROGRAM, "audit", *where, *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "TMPDIR": str(temporary)},
        )

    temporary = tmp_path / "temporary"
    temporary.mkdir()
    return run


def plant(assignment: Path, catalogue: str, source: str) -> None:
    """Add an entry to a catalogue."""
    with (assignment / f"{catalogue}.py").open("a", encoding="utf-8") as file:
        file.write(source)


def test_a_sound_suite(audit: Audit, tmp_path: Path) -> None:
    """It ends with 0, and what is written is the same whatever the number of processes."""
    first = audit("--jobs", "1")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "Sound" in first.stdout
    assert first.stderr == ""
    assert not list((tmp_path / "temporary").iterdir())
    written = {path.name: path.read_bytes() for path in (tmp_path / "report").iterdir()}
    assert written.keys() == {"audit.json", "audit.html"}
    assert audit("--jobs", "3").returncode == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "report").iterdir()} == written


def test_what_is_planted_is_found(assignment: Path, audit: Audit) -> None:
    """A mistake that costs nothing and right work that fails end it with 1."""
    mistake = """
@MISTAKES.enter("count_words", "run_count_words", wrong="case is ignored", hint="Why?")
def counted_in_full(text):
    return dict(Counter(text.lower().split()))
"""
    variant = """
@VARIANTS.enter("count_words", "run_count_words")
def with_capitals(text):
    "Keeps capitals"
    return {word: text.split().count(word) for word in text.split()}
"""
    plant(assignment, "statistics_mistakes", mistake)
    plant(assignment, "statistics_variants", variant)
    found = audit("--problem", "count_words", "--jobs", "1")
    assert found.returncode == 1, found.stderr
    told = " ".join(found.stdout.split())
    assert "count_words/counted_in_full survives: case is ignored" in told
    assert "count_words/with_capitals is right and fails test_count_words_in_any_case" in told


def test_degenerate_work_that_earns_points(assignment: Path, audit: Audit) -> None:
    """The assignment's own is tried as well as what the audit makes, and told with its share."""
    (assignment / "statistics_degenerate.py").write_text(
        """
from dataclasses import replace
from statistics_variants import VARIANTS, adapters_with
DEGENERATE = [replace(VARIANTS[1], id="count_words/paid_for_nothing")]
""",
        encoding="utf-8",
    )
    rubric = assignment / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    named = text.replace("[limits]", 'degenerate_work = "statistics_degenerate"\n[limits]', 1)
    rubric.write_text(named, encoding="utf-8")
    found = audit("--problem", "count_words", "--jobs", "1")
    assert found.returncode == 1, found.stderr
    told = " ".join(found.stdout.split())
    assert "Degenerate work in 9 ways: it earns at most 100%" in told
    assert "count_words/paid_for_nothing earns 100% of the points without any work" in told


def test_mistakes_that_are_alike_and_one_that_never_ends(
    assignment: Path, audit: Audit, tmp_path: Path
) -> None:
    """Twins are named; a mistake without an end is stopped, and fails."""
    source = """
@MISTAKES.enter("count_words", "run_count_words", wrong="it never ends", hint="Why?")
def never(text):
    while True:
        pass


@MISTAKES.enter("count_words", "run_count_words", wrong="words are found once", hint="Why?")
def counted_once_more(text):
    return {word: 1 for word in text.lower().split()}
"""
    plant(assignment, "statistics_mistakes", source)
    rubric = assignment / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8").replace("check_seconds = 20", "check_seconds = 0.3")
    rubric.write_text(text, encoding="utf-8")
    found = audit("--problem", "count_words", "--jobs", "1")
    assert found.returncode == 0, found.stdout + found.stderr
    written = json.loads((tmp_path / "report" / "audit.json").read_text(encoding="utf-8"))
    assert written["twins"] == [["count_words/counted_once", "count_words/counted_once_more"]]
    never = next(each for each in written["mistakes"] if each["id"] == "count_words/never")
    assert len(never["caught_by"]) == 3


def test_a_problem_that_does_not_exist(audit: Audit) -> None:
    """It is a usage error, and says which one was meant."""
    found = audit("--problem", "count_word")
    assert found.returncode == 2
    assert "Did you mean count_words?" in found.stderr


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('known_mistakes = "statistics_mistakes"\n', "", "names no known_mistakes"),
        ('"statistics_variants"', '"elsewhere"', "elsewhere cannot be imported"),
    ],
)
def test_a_catalogue_that_is_not_there(
    assignment: Path, audit: Audit, before: str, after: str, told: str
) -> None:
    """It cannot be carried out, which has a code of its own."""
    rubric = assignment / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8").replace(before, after)
    rubric.write_text(text, encoding="utf-8")
    found = audit("--jobs", "1")
    assert found.returncode == 3
    assert told in found.stderr


@pytest.mark.skipif(os.name != "posix", reason="interrupts a process group")
def test_an_interruption_leaves_nothing(assignment: Path, tmp_path: Path) -> None:
    """It ends at once with a code of its own, and so do its processes."""
    mark = tmp_path / "begun"
    plant(
        assignment,
        "statistics_mistakes",
        f"""
@MISTAKES.enter("count_words", "run_count_words", wrong="it sleeps", hint="Why?")
def sleepy(text):
    import pathlib, time
    pathlib.Path({str(mark)!r}).touch()
    time.sleep(600)
""",
    )
    where = [f"--assignment={assignment}", f"--report-dir={tmp_path}"]
    command = [*PROGRAM, "audit", *where, "--jobs=2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        deadline = time.monotonic() + 120
        while not mark.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        _, complaints = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Interrupted" in complaints
    assert b"Traceback" not in complaints
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert not (tmp_path / "audit.json").exists()
