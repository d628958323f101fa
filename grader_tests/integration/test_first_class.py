"""From zero to the first graded class, as docs/grading.md tells it: every command is run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from grader_tests.assignments import ROOT, TINY
from grader_tests.commands import ENVIRONMENT, PROGRAM

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are a shell's")

SECTION = re.compile(
    r"^## From zero to the first graded class\n(.*?)^## ", re.MULTILINE | re.DOTALL
)
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
UV = f"""#!/bin/sh
shift 2
exec {shlex.join(PROGRAM)} "$@"
"""
GH = """#!/bin/sh
echo "$@" >> "$0.calls"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an instructor has run the commands, in the repository of a small assignment."""
    folder = tmp_path_factory.mktemp("zero")
    shutil.copytree(TINY, folder / "author", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in {"uv": UV, "gh": GH}.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    section = SECTION.search((ROOT / "docs" / "grading.md").read_text(encoding="utf-8"))
    assert section
    ran = subprocess.run(
        ["sh", "-ex", "-c", "".join(BLOCK.findall(section[1]))],
        cwd=folder / "author",
        env={**ENVIRONMENT, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def test_students_get_their_repository_and_a_page(place: Path) -> None:
    """Of the small assignment."""
    stub = (place / "students" / "statistics_basics" / "totals.py").read_text(encoding="utf-8")
    assert "raise NotImplementedError" in stub
    page = (place / "author" / "report" / "report.html").read_text(encoding="utf-8")
    assert "Running totals" in page


def test_a_folder_of_submissions_is_graded(place: Path) -> None:
    """With a page that leads to the report of each."""
    page = place / "author" / "class" / "index.html"
    assert "first/report.html" in page.read_text(encoding="utf-8")


def test_the_platform_gets_its_archive(place: Path) -> None:
    """With the reference."""
    with zipfile.ZipFile(place / "autograder.zip") as archive:
        names = set(archive.namelist())
    assert {"setup.sh", "run_autograder", "statistics_basics/totals.py"} <= names


def test_the_workflow_that_is_started_is_there(place: Path) -> None:
    """With what it is given, and with the secret."""
    secret, start = (place / "gh.calls").read_text(encoding="utf-8").splitlines()
    name = re.fullmatch(r"workflow run (\S+) --field repository=OWNER/NAME", start)
    assert name
    text = (ROOT / ".github" / "workflows" / name[1]).read_text(encoding="utf-8")
    # A key named "on" is a truth value to YAML.
    triggers = yaml.safe_load(text)[True]
    assert "repository" in triggers["workflow_dispatch"]["inputs"]
    assert secret.removeprefix("secret set ") in triggers["workflow_call"]["secrets"]
