"""Divides time among problems, so that a slow one does not take what another needs."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# This share of the time is guaranteed; the rest is for the first problems that need more.
GUARANTEED = 0.75


class Budget:
    """The time for all checks of a submission, divided by problem.

    Each problem is guaranteed a part by the number of its checks. Beyond that, it may use time that
    is neither used nor guaranteed to problems that have not begun.

    Args:
        seconds: for all problems together.
        problems: the problem of each check. Any other check is a problem of its own, without a
            guarantee.
    """

    def __init__(self, seconds: float, problems: Mapping[str, str]) -> None:
        self.seconds = seconds
        self.problems = problems
        counts = Counter(problems.values())
        self.guaranteed = {
            problem: GUARANTEED * seconds * count / counts.total()
            for problem, count in counts.items()
        }
        self.used: dict[str, float] = {}

    def problem_of(self, check: str) -> str:
        """The problem that a check is a part of."""
        return self.problems.get(check, check)

    def left(self, check: str) -> float:
        """The seconds that are left for a check; negative if too many were used."""
        problem = self.problem_of(check)
        own = self.guaranteed.get(problem, 0.0) - self.used.get(problem, 0.0)
        reserved = sum(
            seconds
            for other, seconds in self.guaranteed.items()
            if other != problem and other not in self.used
        )
        return max(own, self.seconds - sum(self.used.values()) - reserved)

    def spend(self, check: str, seconds: float) -> None:
        """Count time for the problem of a check."""
        problem = self.problem_of(check)
        self.used[problem] = self.used.get(problem, 0.0) + seconds

    @contextmanager
    def spent_on(self, check: str) -> Iterator[None]:
        """Count the time that a block takes for the problem of a check."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.spend(check, time.monotonic() - begun)
