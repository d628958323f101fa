"""What a finding says."""

from dataclasses import dataclass, field

from cs336_grader.records import Consequence

MAX_LINES = 6
UNREAD = "is too large, nested too deep or no valid Python"
SEARCHED = "looks up a name that is computed"


@dataclass(slots=True)
class Entry:
    """What is found about one name in one file for one problem.

    Attributes:
        reason: what is the matter with it, where that is not a rule of the assignment.
        ruling: what the rules say of it, where they say something.
        seen: a check that entered it.
    """

    lines: set[int] = field(default_factory=set)
    consequence: Consequence = Consequence.HUMAN_LOOK
    ruling: Consequence | None = None
    reason: str = ""
    seen: str = ""


def message(problem: str, name: str, entry: Entry) -> str:
    """What was found and what it means, in one or two sentences."""
    here = f"in {problem}" if problem else "as the submission is imported"
    if entry.reason == UNREAD:
        said = f"{name} {UNREAD}: what it does has to be read."
    elif entry.reason:
        said = (
            f"{entry.reason[0].upper()}{entry.reason[1:]} ({name}) {here}: read what comes of it."
        )
    elif entry.ruling is Consequence.HUMAN_LOOK:
        said = f"{name} is used {here}: see that it is no ready-made answer."
    elif entry.consequence is Consequence.HUMAN_LOOK:
        said = f"{name} is not allowed and may be used {here}: see whether it is."
    else:
        said = f"{name} is not allowed and is used {here}."
    seen = f" {entry.seen} came to it." if entry.seen else ""
    return said + seen + further(sorted(entry.lines)[1:])


def further(lines: list[int]) -> str:
    """The lines beside the first."""
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:MAX_LINES]))
    more = f" and {len(lines) - MAX_LINES} more" if len(lines) > MAX_LINES else ""
    return f" Also in line{'s' if len(lines) > 1 else ''} {shown}{more}."
