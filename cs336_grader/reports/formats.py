"""The formats of a report by name: its file, for whom it is, and when it is written."""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cs336_grader.records import Report

from .files import write


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a report.

    Attributes:
        module: the module of this package that renders it; imported when it is first needed.
        file_name: what it is called in the report folder.
        reader: for whom it is.
        partial: whether its file is written again after every check, so that what is known at any
            moment is on disk; all others are written before the first and after the last.
    """

    module: str
    file_name: str
    reader: str
    partial: bool = False

    def render(self, report: Report) -> str:
        """The report in this format."""
        module = importlib.import_module(f".{self.module}", __package__)
        text: str = module.render(report)
        return text


FORMATS = {
    "json": Format("json_report", "report.json", "programs; always written", partial=True),
    "html": Format("html_report", "report.html", "people: a page to hand back"),
    "gradescope": Format("gradescope", "results.json", "Gradescope", partial=True),
    "github-summary": Format("github_summary", "summary.md", "the page of a GitHub Actions run"),
    "github-annotations": Format(
        "github_annotations", "annotations.txt", "GitHub Actions, which shows them beside the code"
    ),
    "classroom": Format("classroom", "classroom.json", "GitHub Classroom, as plain JSON"),
    "classroom-output": Format(
        "classroom_output",
        "classroom-output.txt",
        "GitHub Classroom's reporter, as a step's output",
    ),
    "junit": Format("junit", "junit.xml", "CI systems: Jenkins, GitLab and others"),
    "ctrf": Format("ctrf", "ctrf.json", "tools that read the Common Test Report Format"),
    "csv": Format("gradebook", "grade.csv", "a spreadsheet: one row of a gradebook"),
}


@dataclass(frozen=True, slots=True)
class Destination:
    """A format and the file it goes to."""

    format: Format
    path: Path


def publish(report: Report, destinations: Iterable[Destination]) -> None:
    """Write the report to each of its destinations.

    Raises:
        OSError: one of them cannot be written.
        ValueError: a number in the report is not finite.
    """
    for destination in destinations:
        write(destination.path, destination.format.render(report))
