"""`cs336 grade` as a user runs it, on an assignment that knows nothing of Transformers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from grader_tests.assignments import TINY
from grader_tests.commands import ENVIRONMENT, PROGRAM, grade, report
from grader_tests.unit.submissions import HALF_RIGHT, HALF_RIGHT_FILES, STUBS, pack, write

DESTRUCTIVE = """
import json, os, sys
from pathlib import Path

full = json.dumps({"score": 9.0, "max_score": 9.0})
for folder in (".", "report", os.environ.get("HOME", "."), Path(__file__).parent):
    try:
        Path(folder, "report.json").write_text(full)
    except OSError:
        pass
print("Total       9.0 / 9 (100.0 %)")

def run_moving_average(values, width):
    os._exit(0)

def run_count_words(text):
    sys.exit(0)

def run_running_totals(numbers):
    print(full)
    raise AssertionError("\\x1b]0;owned\\x07[bold]passed[/bold]")
"""


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    """The verdict of each check by its function."""
    return {check["id"].partition("::")[2]: check["verdict"] for check in found["checks"]}


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    """A report without what differs between two runs."""
    checks = [{**check, "duration_seconds": 0} for check in found["checks"]]
    return {**found, "checks": checks, "duration_seconds": 0, "started_at": 0}


# Right for the first text that it is given, and for the same one later.
RIGHT_ONCE = """
_right, _texts = run_count_words, []


def run_count_words(text):
    _texts.append(text)
    return _right(_texts[0])
"""


def test_the_reference_earns_full_marks(tmp_path: Path) -> None:
    """At a fresh seed, and without leaving a file in the submission."""
    submission = shutil.copytree(TINY, tmp_path / "reference")
    before = sorted(submission.rglob("*"))
    result = grade(submission, "--fail-under", "100")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Total       9.0 / 9 (100.0 %)" in result.stdout
    assert set(verdicts(report(tmp_path)).values()) == {"passed"}
    assert sorted(submission.rglob("*")) == before


def test_a_half_right_submission_repeats_exactly(tmp_path: Path) -> None:
    """Folder and archive, run twice at one seed, give the same report, and say what is wrong."""
    folder = write(tmp_path / "one" / "half", HALF_RIGHT_FILES)
    (tmp_path / "two").mkdir()
    archive = pack(tmp_path / "two" / "half.zip", HALF_RIGHT_FILES)
    result = grade(folder, "--seed", "3")
    assert result.returncode == 0, result.stdout + result.stderr
    assert grade(archive, "--seed", "3").returncode == 0
    found = report(tmp_path / "one")
    assert without_times(found) == without_times(report(tmp_path / "two"))
    assert {problem["id"]: problem["score"] for problem in found["problems"]} == {
        "moving_average": 0.0,
        "count_words": 2.7,
        "running_totals": 2.0,
    }
    assert "Leaves a constant as it is." in result.stdout
    assert "uv run pytest tests/test_averages.py::test_moving_average" in result.stdout


def test_what_an_earlier_check_left_costs_no_other_check(tmp_path: Path) -> None:
    """A check that fails in a worker which others have used is judged in a new one."""
    submission = shutil.copytree(TINY, tmp_path / "reference")
    with (submission / "tests" / "adapters.py").open("a", encoding="utf-8") as adapters:
        adapters.write(RIGHT_ONCE)
    assert grade(submission, "--only", "count_words").returncode == 0
    assert report(tmp_path)["score"] == 3


def test_a_problem_that_hangs_costs_no_other(tmp_path: Path) -> None:
    """Where it alone could take all the time there is."""
    assignment = shutil.copytree(TINY, tmp_path / "assignment")
    rubric = assignment / "tests" / "rubric.toml"
    limits = "check_seconds = 4\nsubmission_seconds = 12"
    text = rubric.read_text(encoding="utf-8")
    rubric.write_text(text.replace("check_seconds = 20", limits), encoding="utf-8")
    submission = shutil.copytree(TINY, tmp_path / "reference")
    with (submission / "tests" / "adapters.py").open("a", encoding="utf-8") as adapters:
        adapters.write("\nimport time\nrun_moving_average = lambda *_: time.sleep(600)\n")
    assert grade(submission, "--assignment", str(assignment)).returncode == 0
    found = report(tmp_path)
    assert {problem["id"]: problem["score"] for problem in found["problems"]} == {
        "moving_average": 0.0,
        "count_words": 3.0,
        "running_totals": 2.0,
    }
    assert "within 4 seconds" in found["checks"][0]["message"]
    assert "12 seconds for all problems" in found["checks"][3]["message"]


ASKED = """[project]
name = "mine"
requires-python = ">=99"
dependencies = ["numpy>=999", "loguru"]
"""
NOT_TO_BE_HAD = {
    "an attribute": ("import numpy\nnumpy.surely_not_there", "numpy>=999 (pyproject.toml), but "),
    "a package": ("import loguru", "loguru (pyproject.toml), which is not installed."),
    "an annotation": ("def f(x: 1 | 'Later'): ...", "Python >=99 (pyproject.toml), but "),
}


@pytest.mark.parametrize("kind", NOT_TO_BE_HAD)
def test_what_a_submission_asks_for_and_does_not_get_is_no_fault_of_it(
    tmp_path: Path, kind: str
) -> None:
    """It is not judged, and the report says what is asked for, where, and what helps."""
    line, told = NOT_TO_BE_HAD[kind]
    files = {"tests/adapters.py": f"{line}\n{STUBS}", "pyproject.toml": ASKED}
    assert grade(write(tmp_path / "mine", files)).returncode == 3
    for check in report(tmp_path)["checks"]:
        assert check["verdict"] == "not judged"
        assert told in check["message"]
        assert "(tests/adapters.py:" in check["message"]
        assert check["message"].endswith("is graded by a Python that has what it needs.")


def test_addresses_in_memory_are_in_no_report(tmp_path: Path) -> None:
    """They differ from run to run: in what an exception says, and in what was returned."""
    text = """
def run_moving_average(values, width):
    return [object()]

def run_count_words(text):
    raise ValueError(f"{object()} of {run_count_words}")

def run_running_totals(numbers):
    return lambda: 1
"""
    for name in ("one", "two"):
        folder = write(tmp_path / name / "same", {"tests/adapters.py": text})
        result = grade(folder, "--seed", "3")
        assert result.returncode == 0, result.stdout + result.stderr
    one, two = (without_times(report(tmp_path / name)) for name in ("one", "two"))
    assert json.dumps(one) == json.dumps(two)
    said = "".join(check["message"] for check in one["checks"])
    assert "<object object at 0x…> of <function run_count_words at 0x…>" in said


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing limits it")
def test_a_check_that_takes_all_memory_is_one_check(tmp_path: Path) -> None:
    """What it does with what came back is told in words, and the process that judges goes on."""
    assignment = shutil.copytree(TINY, tmp_path / "assignment")
    averages = assignment / "tests" / "test_averages.py"
    check = "assert adapters.run_moving_average([1.0, 2.0], 3) == []"
    text = averages.read_text(encoding="utf-8")
    assert check in text
    product = "torch.ones(40_000, 1) @ torch.ones(1, 40_000)"
    averages.write_text(f"import torch\n{text.replace(check, f'assert {product} is None')}")
    submission = shutil.copytree(TINY, tmp_path / "reference")
    result = grade(submission, "--assignment", str(assignment))
    assert result.returncode == 0, result.stdout + result.stderr
    found = {c["id"].partition("::")[2]: c for c in report(tmp_path)["checks"]}
    spoilt = found.pop("test_moving_average_of_too_few")
    assert (
        "cannot use what came back. Are its type and shape right? RuntimeError" in spoilt["message"]
    )
    assert {check["verdict"] for check in found.values()} == {"passed"}


def test_stubs_earn_nothing(tmp_path: Path) -> None:
    """No check passes on functions that raise NotImplementedError, advice included."""
    stubs = STUBS.replace("    pass", "    raise NotImplementedError")
    result = grade(write(tmp_path / "stubs", {"tests/adapters.py": stubs}))
    assert result.returncode == 0, result.stdout + result.stderr
    assert report(tmp_path)["score"] == 0
    assert set(verdicts(report(tmp_path)).values()) == {"failed"}


def test_an_import_that_ends_the_process_is_told_at_every_check(tmp_path: Path) -> None:
    """None of them is left with less than the reason."""
    source = "import os\nos._exit(0)\n" + DESTRUCTIVE
    submission = write(tmp_path / "ending", {"tests/adapters.py": source})
    grade(submission)
    said = {check["message"] for check in report(tmp_path)["checks"]}
    assert all("importing your adapters ended the process" in message for message in said), said


def test_a_missing_package_is_not_found_elsewhere(tmp_path: Path) -> None:
    """A submission that left its package out does not get the reference's."""
    adapters = (TINY / "tests" / "adapters.py").read_text(encoding="utf-8")
    grade(write(tmp_path / "forgetful", {"tests/adapters.py": adapters}))
    assert report(tmp_path)["score"] == 0
    assert "passed" not in verdicts(report(tmp_path)).values()


def test_a_destructive_submission_gains_nothing(tmp_path: Path) -> None:
    """Exiting with 0, printing a report and writing one are no verdicts."""
    result = grade(write(tmp_path / "evil", {"tests/adapters.py": DESTRUCTIVE}))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Total       0.0 / 9 (0.0 %)" in result.stdout
    assert "Total       9.0" not in result.stdout
    assert "\x1b" not in result.stdout
    assert report(tmp_path)["score"] == 0
    assert set(verdicts(report(tmp_path)).values()) == {"failed"}


def test_an_unreadable_archive_is_not_judged(tmp_path: Path) -> None:
    """Nobody is given zero for a broken download."""
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04 broken")
    result = grade(tmp_path / "half.zip", "--fail-under", "50")
    assert result.returncode == 3
    assert "Traceback" not in result.stdout + result.stderr
    assert set(verdicts(report(tmp_path)).values()) == {"not judged"}


@contextmanager
def hanging(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that has judged some checks and hangs in one."""
    adapters = HALF_RIGHT + "\nimport time\nrun_count_words = lambda text: time.sleep(600)\n"
    files = {**HALF_RIGHT_FILES, "assignment/tests/adapters.py": adapters}
    submission = write(tmp_path / "slow", files)
    command = [*PROGRAM, "grade", str(submission), "--assignment", str(TINY)]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            deadline = time.monotonic() + 60
            path = tmp_path / "report" / "report.json"
            while not path.exists() or "failed" not in path.read_text(encoding="utf-8"):
                assert time.monotonic() < deadline, "no check was judged within a minute"
                time.sleep(0.1)
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
def test_an_interrupted_run_leaves_a_report_and_no_process(tmp_path: Path) -> None:
    """Ctrl-C ends the run with its own code; what was known stays and nothing goes on running."""
    with hanging(tmp_path) as process:
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Interrupted" in errors
    assert b"Traceback" not in errors
    found = verdicts(report(tmp_path))
    assert found["test_moving_average"] == "failed"
    assert found["test_running_totals"] == "not judged"
    _, alive = psutil.wait_procs(started, timeout=60)
    assert not alive


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_in_a_terminal_there_is_progress_and_colour(tmp_path: Path) -> None:
    """A person who looks on sees which check is running, and marks in colour."""
    import pty  # noqa: PLC0415  # not on Windows

    submission = write(tmp_path / "half", HALF_RIGHT_FILES)
    command = [*PROGRAM, "grade", str(submission), "--assignment", str(TINY), "--seed", "3"]
    outer, inner = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=inner, stderr=inner):
        os.close(inner)
        shown = b""
        try:
            while part := os.read(outer, 65536):
                shown += part
        except OSError:
            pass  # Linux ends a pseudo-terminal with an error
    os.close(outer)
    text = shown.decode()
    assert "test_running_totals" in text
    assert "\x1b[32m✓\x1b[0m" in text
    assert "Total       4.7 / 9" in text
