"""`cs336 grade --isolation` and `cs336 doctor`, on this machine and on a poorer one."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader_tests.assignments import TINY
from grader_tests.commands import ENVIRONMENT, PROGRAM

from .test_conformance import PLACES

POORER = [sys.executable, "-m", "grader_tests.isolation.poorer", "--refuse", "namespaces", "--"]


def run(*command: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """The command, to its end."""
    return subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )


def grade(
    tmp_path: Path, *options: str, before: tuple[str, ...] = ()
) -> tuple[int, dict[str, object]]:
    """The exit code and the report of the reference's grade."""
    folder = tmp_path / "report"
    command = [*before, *PROGRAM, "grade", str(TINY), "--assignment", str(TINY), "--seed", "3"]
    result = run(*command, "--report-dir", str(folder), *options, cwd=tmp_path)
    return result.returncode, json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_none_closes_nothing_and_says_so(tmp_path: Path) -> None:
    """For code of one's own; the verdicts are the same."""
    code, report = grade(tmp_path, "--isolation", "none")
    assert (code, report["score"]) == (0, 9)
    assert report["isolation"]["level"] == "none"  # type: ignore[index]


@pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")
def test_strict_refuses_where_it_must(tmp_path: Path) -> None:
    """Nothing of the submission runs, nobody gets zero, and what would help is said."""
    code, report = grade(tmp_path, "--isolation", "strict", before=tuple(POORER))
    assert code == 3
    checks = report["checks"]
    assert isinstance(checks, list)
    assert {check["verdict"] for check in checks} == {"not judged"}
    assert "strict isolation was asked for and cannot be had" in checks[0]["message"]


@pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")
@pytest.mark.parametrize("place", [place for place, (options, _) in PLACES.items() if options])
def test_right_work_has_full_marks_everywhere(place: str) -> None:
    """Correct work passes in every place, and the report says what is open."""
    options, _ = PLACES[place]
    # Another user cannot enter pytest's own folder.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)  # noqa: S103 (as meant)
        code, report = grade(Path(folder), before=(*POORER[:3], *options, "--"))
    assert (code, report["score"]) == (0, 9)
    if place == "without namespaces":
        isolation = report["isolation"]
        assert isinstance(isolation, dict)
        closed = {barrier["resource"]: barrier["closed"] for barrier in isolation["barriers"]}
        assert (isolation["level"], closed["network"]) == ("partial", False)


@pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")
def test_the_doctor_agrees_with_strict(tmp_path: Path) -> None:
    """It says by its exit code whether strict isolation is to be had."""
    result = run(*POORER, *PROGRAM, "doctor", cwd=tmp_path)
    assert result.returncode == 3
    assert "This would close more: " in result.stdout


def test_the_submission_runs_in_the_interpreter_that_is_named(tmp_path: Path) -> None:
    """Its packages are those of that one."""
    code, report = grade(tmp_path, "--worker-python", sys.executable)
    assert (code, report["score"]) == (0, 9)


def test_an_interpreter_that_lacks_packages_is_told(tmp_path: Path) -> None:
    """In plain words, and nothing is judged."""
    empty = tmp_path / "empty"
    run(sys.executable, "-m", "venv", "--without-pip", str(empty), cwd=tmp_path)
    code, report = grade(tmp_path, "--worker-python", str(empty / "bin" / "python"))
    assert code == 3
    checks = report["checks"]
    assert isinstance(checks, list)
    assert "cannot run a worker: it says ModuleNotFoundError" in checks[0]["message"]
