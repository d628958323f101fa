"""The grader's commands as a user runs them, and what they leave."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from grader_tests.assignments import ROOT, TINY

PROGRAM = [sys.executable, "-m", "cs336_grader"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def grade(submission: Path, *options: str, timeout: int = 120) -> subprocess.CompletedProcess[str]:
    """Grade a submission of the tiny assignment in its parent folder."""
    return subprocess.run(
        [*PROGRAM, "grade", str(submission), "--assignment", str(TINY), *options],
        cwd=submission.parent,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def report(folder: Path) -> dict[str, Any]:
    """The report in a folder."""
    text = (folder / "report" / "report.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
