"""The workflow that grades a student's repository, step by step."""

import base64
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from cs336_grader.handout import build
from grader_tests.assignments import ASSIGNMENT, ROOT, TINY
from grader_tests.commands import PROGRAM
from grader_tests.unit.readers import read_classroom_output
from grader_tests.unit.submissions import write
from grader_tests.workflow import Runner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the workflow runs on Linux")

WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = WORKFLOWS / "grade.yml"
ZIZMOR = Path(sys.executable).with_name("zizmor")
# Two of the three problems are right; the rest says that all is.
STUDENTS = {
    "tests/adapters.py": """
from statistics_basics.averages import moving_average
from statistics_basics.totals import running_totals

def run_moving_average(values, width):
    return moving_average(values, width)

def run_count_words(text):
    return {}

def run_running_totals(numbers):
    return running_totals(numbers)
""",
    "tests/rubric.toml": "title = 'All is right'\n",
    "tests/conftest.py": "raise SystemExit(0)\n",
    "tests/test_counting.py": "def test_count_words():\n    pass\n",
    "conftest.py": "raise SystemExit(0)\n",
    "report/report.json": '{"score": 9, "max_score": 9}',
    ".github/workflows/grade.yml": "on: push\n",
}
# What is installed is this environment; what is called is noted.
PROGRAMS = {
    "pip": "",
    "sudo": "",
    "uv": """[ "$1" != run ] || { shift 3; exec %s "$@"; }""",
    "gh": """[ -z "$GH_TOKEN" ] || cp comment.md "$0.comment" """,
}


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The programs of a runner, which note what they were called with."""
    folder = tmp_path / "programs"
    folder.mkdir()
    grade = shlex.join(PROGRAM)
    for name, script in PROGRAMS.items():
        body = script.replace("%s", grade)
        text = f'#!/bin/sh\necho "$@" >> "$0.calls"\n{body}\n'
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def checkout(place: Path, given: Mapping[str, str]) -> None:
    """The author's repository with the small assignment, or a student's."""
    assert given["persist-credentials"] == "False"
    folder = place / given["path"]
    if "repository" not in given:
        shutil.copytree(TINY, folder)
        return
    assert (given["repository"], given["token"]) == ("class/ada", "the secret")
    shutil.copytree(TINY / "statistics_basics", folder / "statistics_basics")
    write(folder, STUDENTS)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "Done")):
        subprocess.run(["git", *command], cwd=folder, check=True)


def test_a_students_repository_is_graded_by_what_is_here(tmp_path: Path, programs: Path) -> None:
    """Whatever its own checks, rubric, workflows and reports say; and the student is told."""
    values = {
        "inputs.repository": "class/ada",
        "inputs.revision": "",
        "secrets.SUBMISSIONS_TOKEN || github.token": "the secret",
        "steps.commit.outputs.name": "class.ada",
        "needs.fetch.outputs.commit": "0123abc",
        "needs.fetch.outputs.name": "class.ada",
        "secrets.SUBMISSIONS_TOKEN": "the secret",
        "needs.grade.result == 'success' && secrets.SUBMISSIONS_TOKEN != ''": "true",
    }
    runner = Runner(WORKFLOW, tmp_path / "jobs", programs, values, checkout)
    runner.folder.mkdir()
    for job in ("fetch", "grade", "publish"):
        runner.run(job)
    assert runner.told["fetch", "GITHUB_OUTPUT"].startswith("sha=")
    # One run may grade a class, and no two of its artifacts can have the same name.
    assert "name=class.ada\n" in runner.told["fetch", "GITHUB_OUTPUT"]
    kept = {path.name for path in (runner.folder / "artifacts").iterdir()}
    assert kept == {"materials-class.ada", "report-class.ada"}
    assert "6.0 / 9" in runner.told["publish", "GITHUB_STEP_SUMMARY"]
    output = runner.told["publish", "GITHUB_OUTPUT"]
    read_classroom_output(output)
    result = json.loads(base64.b64decode(output.removeprefix("result=")))
    assert (result["max_score"], sum(one["score"] for one in result["tests"])) == (9, 6)
    told = (programs / "gh.calls").read_text(encoding="utf-8")
    assert "repos/class/ada/commits/0123abc/comments" in told
    assert "repos/class/ada/statuses/0123abc" in told
    assert "description=6 / 9" in told
    assert "Word counts" in (programs / "gh.comment").read_text(encoding="utf-8")


def test_where_the_students_code_runs_there_is_nothing_to_steal() -> None:
    """No permission, no secret, no checkout; what has a token takes nothing from there but data."""
    jobs = Runner(WORKFLOW, Path(), Path(), {}, checkout).jobs
    grade = json.dumps(jobs["grade"])
    assert jobs["grade"]["permissions"] == jobs["publish"]["permissions"] == {}
    for word in ("secrets", "token", "checkout"):
        assert word not in grade.lower()
    for job in ("fetch", "publish"):
        scripts = [step["run"] for step in jobs[job]["steps"] if "run" in step]
        assert not [one for one in scripts if "uv" in one or "pip" in one or "pytest" in one]


def test_workflows_are_secure(tmp_path: Path) -> None:
    """Those of this repository, and the one that students get, in the eyes of a linter."""
    name = ".github/workflows/grade.yml"
    handed_out = tmp_path / name
    handed_out.parent.mkdir(parents=True)
    handed_out.write_bytes(build(ASSIGNMENT).files[name])
    looked = subprocess.run(
        [ZIZMOR, "--offline", "--persona=auditor", "--no-progress", WORKFLOWS, handed_out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert looked.returncode == 0, looked.stdout + looked.stderr
