"""The report as JSON, and its file."""

import math
import os
from pathlib import Path

from pydantic import TypeAdapter

from cs336_grader.records import Report

FILE_NAME = "report.json"
REPORT = TypeAdapter(Report)


def render(report: Report) -> str:
    """The report as JSON text.

    Raises:
        ValueError: a number in it is not finite.
    """
    numbers = [report.score, report.max_score, report.duration_seconds]
    numbers += [
        number for problem in report.problems for number in (problem.score, problem.max_score)
    ]
    numbers += [check.duration_seconds for check in report.checks]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a number in the report is not finite")
    return REPORT.dump_json(report, indent=2).decode() + "\n"


def write(report: Report, folder: Path) -> None:
    """Put the report in a folder, in one step: a reader finds the old one or the new one.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{FILE_NAME}.{os.getpid()}"
    try:
        unfinished.write_text(render(report), encoding="utf-8", newline="\n")
        unfinished.replace(folder / FILE_NAME)
    finally:
        unfinished.unlink(missing_ok=True)
