"""What is asked of the grader."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .reports.formats import FORMATS, Destination


@dataclass(frozen=True, slots=True)
class Request:
    """What to grade.

    Attributes:
        submission: a folder or an archive.
        assignment: the assignment's folder.
        seed: what all inputs derive from.
        only: the problems to grade, whatever track they are of.
        tracks: the tracks to grade; those that the submission attempts if empty.
        report_folder: where report.json goes.
        formats: in what other formats the report is written, and where to.
        revision: what to read from a git repository; its files as they lie there if None.
        adapters: the file of the submission that holds the adapters; looked for if None.
        isolation: "auto", "strict" or "none".
        worker_python: the interpreter that the submission runs in; this one if empty.
        most_seconds: how long all checks together may take, where that is less than the rubric's.
        notes: what is known of the submission from elsewhere.
        title: what the report calls the submission; by the name of its file or folder if empty.
    """

    submission: Path
    assignment: Path
    seed: int
    only: tuple[str, ...]
    report_folder: Path
    tracks: tuple[str, ...] = ()
    formats: tuple[Destination, ...] = ()
    revision: str | None = None
    adapters: PurePosixPath | None = None
    isolation: str = "auto"
    worker_python: str = ""
    most_seconds: float | None = None
    notes: tuple[str, ...] = ()
    title: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The options that chose what is graded, each followed by its value."""
        chosen = (
            ("--revision", [] if self.revision is None else [self.revision]),
            ("--adapters", [] if self.adapters is None else [str(self.adapters)]),
            ("--track", self.tracks),
            ("--only", self.only),
        )
        return tuple(
            word for option, values in chosen for value in values for word in (option, value)
        )

    @property
    def report_file(self) -> Path:
        """Where report.json is."""
        return self.report_folder / FORMATS["json"].file_name

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """All that the report is written to."""
        return Destination(FORMATS["json"], self.report_file), *self.formats

    @property
    def partial(self) -> tuple[Destination, ...]:
        """Where it is written while the run goes on."""
        return tuple(each for each in self.destinations if each.format.partial)
