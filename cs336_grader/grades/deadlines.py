"""When work was handed in, and what lateness costs."""

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)
# Moodle in English: Thursday, 1 October 2026, 11:59 PM.
MOODLE = "%A, %d %B %Y, %I:%M %p"
# Gradescope writes nine digits of a second, and a blank before the zone.
FRACTION = re.compile(r"\.\d+")


@dataclass(frozen=True, slots=True)
class LatePolicy:
    """The rules for late work.

    Attributes:
        grace: how much later than the deadline counts as in time.
        percent_per_day: of the points that were earned, for each day that has begun.
        most_percent: no more than this is lost.
        slip_days: so many late days cost nothing.
    """

    grace: timedelta = timedelta(0)
    percent_per_day: float = 0.0
    most_percent: float = 100.0
    slip_days: int = 0

    def days_late(self, submitted: datetime, deadline: datetime) -> int:
        """Return how many days late something is; a day that has begun counts."""
        return max(0, math.ceil((submitted - deadline - self.grace) / DAY))

    def percent_lost(self, days: int) -> float:
        """Return the percent that so many late days cost."""
        return min(self.percent_per_day * max(0, days - self.slip_days), self.most_percent)


def point_in_time(text: str, zone: ZoneInfo) -> datetime:
    """Return the time that a platform or a person wrote.

    Args:
        text: as in ISO 8601, or as Gradescope, Moodle (in English) or nbgrader writes it.
        zone: the time zone where the text has none.

    Raises:
        ValueError: it is none of these.
    """
    plain = FRACTION.sub("", text.strip()).removesuffix(" UTC")
    utc = text.strip().endswith((" UTC", "Z"))
    plain = re.sub(r"\s([+-]\d\d):?(\d\d)$", r"\1:\2", plain)
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        found = datetime.strptime(plain, MOODLE)
    if found.tzinfo is None:
        found = found.replace(tzinfo=ZoneInfo("UTC") if utc else zone)
    return found
