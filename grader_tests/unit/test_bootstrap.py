"""On a machine with nothing but Python and make, what is missing for the first target is named."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader.handout import build
from grader_tests.assignments import ROOT

pytestmark = [
    pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here"),
    pytest.mark.skipif(sys.platform == "win32", reason="Windows runs no shell scripts"),
]
WITHOUT_VENV = f'''#!/bin/sh
case "$*" in *ensurepip*) exit 1 ;; esac
exec "{sys.executable}" "$@"
'''
TOO_OLD = """#!/bin/sh
[ "$1" = -V ] && echo Python 3.8.1
exit 1
"""


@cache
def handed_out() -> dict[str, bytes]:
    """The files that students get."""
    return build(load_assignment(ROOT)).files


@pytest.fixture(params=["own", "handed out"])
def makefile(request: pytest.FixtureRequest) -> bytes:
    """This repository's, or that of students."""
    whose: str = request.param
    return (ROOT / "Makefile").read_bytes() if whose == "own" else handed_out()["Makefile"]


def made(folder: Path, python: str, makefile: bytes) -> str:
    """What make says in a fresh clone where this is the Python."""
    (folder / "Makefile").write_bytes(makefile)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    ended = subprocess.run(
        ["make", ".uv/bin/uv", f"PYTHON={python}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert not (folder / ".uv").exists()
    return ended.stderr


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (WITHOUT_VENV, "On Debian or Ubuntu install python3-venv."),
        (TOO_OLD, "is Python 3.8.1. Install a newer one, or say where it is: make PYTHON="),
    ],
)
def test_a_python_that_does_not_do_is_told_with_what_would(
    tmp_path: Path, script: str, told: str, makefile: bytes
) -> None:
    """Debian ships Python without the modules that make an environment."""
    python = tmp_path / "python3"
    python.write_text(script)
    python.chmod(0o755)
    assert told in made(tmp_path, str(python), makefile)


def test_no_python_at_all_is_told(tmp_path: Path, makefile: bytes) -> None:
    """And how to name one that lies elsewhere."""
    said = made(tmp_path, "no-such-python", makefile)
    assert "there is no no-such-python here. Install it, or say where it is: make PYTHON=" in said


def test_what_debian_needs_is_in_the_readme() -> None:
    """Before somebody runs into it."""
    assert "python3-venv" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert b"python3-venv" in handed_out()["README.md"]
