"""The values that the reference returns in each check, kept in memory and nowhere else."""

from typing import Any


class NoExpectedValueError(Exception):
    """The reference did not get as far as the submission did."""


class RecordedValues:
    """Expected values of one run; a plugin that the suite's ``snapshot`` fixture looks for.

    Attributes:
        recording: whether the reference is running.
        reveal: whether a failure may show them; never, as they are fresh in every run.
    """

    reveal = False

    def __init__(self) -> None:
        self.recording = True
        self.values: dict[str, dict[str, Any]] = {}

    def load(self, check: str) -> dict[str, Any]:
        """The entries recorded for a check.

        Raises:
            NoExpectedValueError: there are none.
        """
        if check not in self.values:
            raise NoExpectedValueError(f"the reference recorded nothing for {check}")
        return self.values[check]

    def save(self, check: str, entries: dict[str, Any]) -> None:
        """Record a check's entries."""
        self.values[check] = entries
