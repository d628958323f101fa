"""An autograder for Gradescope, set up and run as the platform does it."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cs336_grader.platforms import archive
from grader_tests.assignments import ASSIGNMENT, ROOT
from grader_tests.commands import PROGRAM
from grader_tests.containers import container, environment_of_a_container
from grader_tests.unit.readers import read_gradescope
from grader_tests.unit.submissions import write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the platform runs Linux")

GIBIBYTE = 2**30
# What the platform grants, but for the memory, of which it gives more when it is told to.
PROCESSORS, MEMORY, SECONDS = 0.5, 2 * GIBIBYTE, 600
# Makes an environment as uv does, with the packages that are installed here.
UV = """#!/bin/sh
case "$1" in
    venv) exec {python} -m venv --without-pip environment ;;
    pip) echo {packages} > environment/lib/python{version}/site-packages/installed.pth ;;
esac
"""
METADATA = {
    "id": 123456,
    "created_at": "2026-08-01T14:22:32.365935-07:00",
    "assignment": {
        "due_date": "2026-07-31T23:00:00.000000-07:00",
        "group_size": 4,
        "group_submission": True,
        "id": 25828,
        "course_id": 1234,
        "late_due_date": None,
        "release_date": "2026-07-02T00:00:00.000000-07:00",
        "title": "Programming Assignment 1",
        "total_points": "20.0",
    },
    "submission_method": "upload",
    "users": [{"email": "student@example.com", "id": 1234, "name": "Student User"}],
    "previous_submissions": [],
}
PROBLEMS = tuple(ASSIGNMENT.rubric.problems.values())
POINTS = sum(problem.points for problem in PROBLEMS if not problem.extra)
# For full marks, where a submission chooses its tracks.
WORTH = 100
HANGING = (
    "import time\n\ndef run_linear(d_in, d_out, weights, in_features):\n    time.sleep(1000)\n"
)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The platform's folder once it has built its image."""
    folder = tmp_path_factory.mktemp("image") / "autograder"
    packed = folder.parent / "autograder.zip"
    ran = subprocess.run(
        [*PROGRAM, "package", "gradescope", str(packed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert f"{WORTH} autograder points" in ran.stdout
    for name in ("source", "results", "submission"):
        (folder / name).mkdir(parents=True)
    subprocess.run(["unzip", "-q", packed, "-d", folder / "source"], check=True)
    shutil.copy(folder / "source" / "run_autograder", folder)
    set_up(folder)
    return folder


def set_up(folder: Path) -> None:
    """Run the set-up script where uv makes an environment without the network."""
    uv = folder.parent / "programs" / "uv"
    uv.parent.mkdir()
    uv.write_text(
        UV.format(
            python=sys.executable,
            packages=sysconfig.get_path("purelib"),
            version=".".join(map(str, sys.version_info[:2])),
        ),
        encoding="utf-8",
    )
    uv.chmod(0o755)
    environment = environment_of_a_container()
    environment["PATH"] = f"{uv.parent}:{environment['PATH']}"
    ran = subprocess.run(
        [folder / "source" / "setup.sh"], env=environment, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def start(folder: Path, prefix: list[str] | None = None) -> subprocess.Popen[bytes]:
    """Run the entry point; what it prints is kept as the platform does."""
    with (folder / "results" / "stdout").open("wb") as printed:
        return subprocess.Popen(
            [*(prefix or []), str(folder / "run_autograder")],
            cwd="/",
            env=environment_of_a_container(),
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def results(folder: Path) -> dict[str, Any]:
    """What the platform would read, which is valid."""
    text = (folder / "results" / "results.json").read_text(encoding="utf-8")
    read_gradescope(text)
    return dict(json.loads(text))


def submit(folder: Path, work: Path) -> None:
    """Hand something in."""
    shutil.rmtree(folder / "submission")
    caches = shutil.ignore_patterns("__pycache__")
    for name in ("cs336_basics", "tests"):
        if (work / name).is_dir():
            shutil.copytree(work / name, folder / "submission" / name, ignore=caches)


def test_the_reference_earns_full_marks_in_the_platforms_container(image: Path) -> None:
    """With half of a processor and 2 GB, within the time; nothing is open to other users."""
    submit(image, ROOT)
    (image / "submission_metadata.json").write_text(json.dumps(METADATA), encoding="utf-8")
    with container(PROCESSORS, MEMORY) as limits:
        assert start(image, limits.command()).wait(SECONDS) == 0
    found = results(image)
    printed = (image / "results" / "stdout").read_text(encoding="utf-8")
    extra = sum(problem.points for problem in PROBLEMS if problem.extra)
    assert found["score"] == round((POINTS + extra) / POINTS * WORTH, 2), printed
    assert found["execution_time"] < SECONDS
    assert "15:23 hours after the assignment's due date" in found["output"]
    assert "worth 20 points on the platform" in printed
    for name in ("source", "results"):
        assert stat.S_IMODE((image / name).stat().st_mode) == stat.S_IRWXU


def test_a_killed_run_leaves_what_it_knew(image: Path) -> None:
    """At any moment; without a score, which would be somebody's grade."""
    submit(image, ROOT)
    (image / "submission_metadata.json").unlink(missing_ok=True)
    run = start(image)
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            time.sleep(0.2)
            if (image / "results" / "results.json").exists():
                passed = [one for one in results(image)["tests"] if one.get("status") == "passed"]
                if len(passed) > 1:
                    break
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    found = results(image)
    assert "No score yet" in found["output"]
    assert "score" not in found
    assert [one for one in found["tests"] if one.get("status") == "passed"]
    assert [one for one in found["tests"] if "status" not in one]


def test_a_run_ends_itself_before_the_platform_does(image: Path) -> None:
    """What is known by then is valid."""
    submit(image, write(image.parent / "hanging", {"tests/adapters.py": HANGING}))
    script = image / "run_autograder"
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("--minutes 10", "--minutes 0.6"), encoding="utf-8")
    try:
        assert start(image).wait(SECONDS) == 1
    finally:
        script.write_text(text, encoding="utf-8")
    assert "score" not in results(image)
    assert "The time was up." in (image / "results" / "stdout").read_text(encoding="utf-8")


def test_what_cannot_even_begin_leaves_a_valid_result(image: Path) -> None:
    """As where the environment was not built."""
    (image / "environment").rename(image / "elsewhere")
    try:
        assert start(image).wait(SECONDS) != 0
    finally:
        (image / "elsewhere").rename(image / "environment")
    found = results(image)
    assert found["tests"] == []
    assert "not your fault" in found["output"]


def test_the_archive_is_the_same_when_it_is_packed_twice(image: Path) -> None:
    """And its scripts can be run where they are unpacked."""
    packed, again = image.parent / "autograder.zip", image.parent / "again.zip"
    archive.write(archive.gradescope(ASSIGNMENT, minutes=10), again)
    assert again.read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(again) as members:
        modes = {one.filename: one.external_attr >> 16 for one in members.infolist()}
    executable = {name for name, mode in modes.items() if mode & stat.S_IXUSR}
    assert executable == {"setup.sh", "run_autograder"}
