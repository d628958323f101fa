"""The files of a run are whole at every moment of it, whatever ends the run."""

import json
import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from cs336_grader.reports.formats import FORMATS
from grader_tests.assignments import TINY
from grader_tests.commands import ENVIRONMENT, PROGRAM
from grader_tests.unit.readers import READERS
from grader_tests.unit.submissions import HALF_RIGHT, HALF_RIGHT_FILES, write

EVERY_FORMAT = [word for name in FORMATS for word in ("--format", name)]
UNHURRIED = HALF_RIGHT.replace(
    "    total = 0\n", "    import time\n    time.sleep(1)\n    total = 0\n"
)


def command(submission: Path) -> list[str]:
    """The command that grades a submission of the tiny assignment in every format."""
    return [*PROGRAM, "grade", str(submission), "--assignment", str(TINY), *EVERY_FORMAT]


def read_all(folder: Path) -> None:
    """Read every file of the report folder with the reader of its format."""
    for name, found in FORMATS.items():
        READERS[name]((folder / found.file_name).read_text(encoding="utf-8"))


def test_every_format_of_a_real_run(tmp_path: Path) -> None:
    """What the command writes is what each format allows, and a page shows where numbers differ."""
    submission = write(tmp_path / "half", HALF_RIGHT_FILES)
    run = subprocess.run(
        command(submission), cwd=tmp_path, env=ENVIRONMENT, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr
    read_all(tmp_path / "report")
    assert json.loads((tmp_path / "report" / "results.json").read_text())["score"] == 4.7


@pytest.mark.skipif(os.name != "posix", reason="Windows cannot kill without asking")
@pytest.mark.parametrize("judged", [1, 3, 7])
def test_a_killed_run_leaves_whole_files_and_no_process(tmp_path: Path, judged: int) -> None:
    """Nothing of what was known is lost, nothing is taken for a grade, nothing goes on running."""
    files = {**HALF_RIGHT_FILES, "assignment/tests/adapters.py": UNHURRIED}
    submission = write(tmp_path / "slow", files)
    path = tmp_path / "report" / "report.json"
    with subprocess.Popen(
        command(submission),
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        deadline = time.monotonic() + 60
        while not path.exists() or known(path) < judged:
            assert time.monotonic() < deadline, "no check was judged within a minute"
            time.sleep(0.05)
        started = psutil.Process(run.pid).children(recursive=True)
        run.kill()
    read_all(tmp_path / "report")
    assert known(path) >= judged
    assert "score" not in json.loads((tmp_path / "report" / "results.json").read_text())
    _, alive = psutil.wait_procs(started, timeout=10)
    assert not alive


def known(path: Path) -> int:
    """How many checks of a report have a verdict."""
    checks = json.loads(path.read_text(encoding="utf-8"))["checks"]
    return sum(check["verdict"] != "not judged" for check in checks)
