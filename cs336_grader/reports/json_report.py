"""The report as JSON, and its file."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from cs336_grader.records import Report

FILE_NAME = "report.json"


def render(report: Report) -> str:
    """The report as JSON text.

    Raises:
        ValueError: a number in it is not finite.
    """
    return json.dumps(asdict(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
