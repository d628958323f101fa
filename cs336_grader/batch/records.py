"""What a batch keeps on disk beside the reports, and reads again."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from cs336_grader.records import Report
from cs336_grader.reports.files import write
from cs336_grader.reports.formats import FORMATS

from .settings import Settings

RECORD = "record.json"
GRADEBOOK, GRADES, PAGE = "gradebook.csv", "grades.csv", "index.html"


class Status(StrEnum):
    """What became of a submission."""

    GRADED = "graded"
    NOT_JUDGED = "not judged"
    SET_ASIDE = "set aside"


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a graded submission beside its report; that it is there says it is done.

    Attributes:
        name: its own among all of the class.
        digest: of what was handed in.
        settings: of what it was graded with.
        status: what became of it.
        reason: why it was not judged, or set aside, or why nothing of it ran; else empty.
        attempts: how often it was tried.
        cpu_seconds: of all processes of the run.
        memory_bytes: the most that a process held.
        tokens: of its source, for a search of what is alike: see ``likeness``.
    """

    name: str
    digest: str
    settings: Settings
    status: Status
    reason: str = ""
    attempts: int = 1
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    tokens: str = ""

    @property
    def ran_nothing(self) -> bool:
        """True if its grade only says that nothing is written or could be run."""
        return self.status is Status.GRADED and bool(self.reason)


@dataclass(frozen=True, slots=True)
class Graded:
    """A submission that is done."""

    record: Record
    report: Report


RECORDS, REPORTS = TypeAdapter(Record), TypeAdapter(Report)


def saved(folder: Path) -> Graded | None:
    """What was graded into a folder, if it was done."""
    try:
        record = RECORDS.validate_json((folder / RECORD).read_bytes())
        report = REPORTS.validate_json((folder / FORMATS["json"].file_name).read_bytes())
    except (OSError, ValidationError):
        return None
    return Graded(record, report)


def save(folder: Path, record: Record) -> None:
    """Say that what lies in a folder is done.

    Raises:
        OSError: it cannot be written.
    """
    write(folder / RECORD, RECORDS.dump_json(record, indent=2).decode())
