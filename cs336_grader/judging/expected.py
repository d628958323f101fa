"""The values that the reference returns in each check, kept in memory and nowhere else."""

from typing import Any


class NoExpectedValueError(Exception):
    """The reference did not get as far as the submission did."""


class RecordedValues:
    """Expected values of one run; a plugin that the suite's ``snapshot`` fixture looks for.

    Attributes:
        recording: whether the reference is running.
        recorded: the pytest ids of the cases it has run in.
        reveal: whether a failure may show them; never, as they are fresh in every run.
    """

    reveal = False

    def __init__(self) -> None:
        self.recording = False
        self.recorded: set[str] = set()
        self.values: dict[str, dict[str, Any]] = {}

    def load(self, check: str, name: str) -> Any:
        """One of the entries recorded for a check.

        Raises:
            NoExpectedValueError: there is none of the name.
        """
        if name not in self.values.get(check, {}):
            raise NoExpectedValueError(f"the reference recorded no {name!r} for {check}")
        return self.values[check][name]

    def save(self, check: str, entries: dict[str, Any]) -> None:
        """Record a check's entries."""
        self.values[check] = entries
