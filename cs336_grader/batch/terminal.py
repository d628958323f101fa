"""A class as text for a terminal: the grades from above, what has none and why."""

from collections.abc import Sequence

from rich.text import Text

from cs336_grader.reports.terminal import Surroundings, Writer

from .overview import Overview
from .records import Graded
from .submissions import Found

# Of each list, this many entries are shown; all are on the page.
MOST = 12


def render(
    seen: Overview, found: Found, width: int, ascii_only: bool, saved: tuple[str, ...]
) -> Text:
    """The class as text with styles.

    Args:
        seen: the class.
        found: the submissions, and what was taken for none.
        width: how many columns there are.
        ascii_only: whether marks must be ASCII.
        saved: the files that hold more.
    """
    writer = Writer(Surroundings(width, ascii_only, "", saved))
    graded = len(seen.percents)
    writer.line(f"{graded} of {len(seen.done)} submissions graded", "bold")
    if graded:
        counted = f", with {len(seen.empty)} of which nothing ran" if seen.empty else ""
        of = " of each submission's maximum" if len(seen.maxima) > 1 else ""
        writer.line(f"  mean {seen.mean:.1f} %, median {seen.median:.1f} %{of}{counted}")
    write_list(
        writer,
        "Points were lost most in",
        [
            f"{loss.id}: {loss.lost:.2f} of {loss.max_score:g} on average"
            for loss in seen.problems
            if loss.lost > 0
        ],
    )
    write_list(
        writer,
        "Mistakes that were found most",
        [f"{mistake.id} ({len(mistake.names)})" for mistake in seen.mistakes],
    )
    write_list(
        writer,
        "Nearly the same, to be looked at by a person",
        [f"{', '.join(group.names)} ({group.share:.0%})" for group in seen.groups],
    )
    write_list(writer, "Not judged", reasons(seen.unjudged), "not judged")
    write_list(writer, "Nothing ran: please look", reasons(seen.empty), "failed")
    write_list(writer, "Handed in late", late(found))
    write_list(writer, "Taken for no submission", found.left_out)
    writer.line()
    for path in saved:
        writer.line(f"Saved as {path}", "dim")
    return writer.text()


def reasons(found: Sequence[Graded]) -> list[str]:
    """Each submission's name with what is said of it."""
    return [f"{one.record.name}: {one.record.reason}" for one in found]


def late(found: Found) -> list[str]:
    """The name of each submission that a platform marks as late, with the student's id."""
    return [f"{one.name} ({one.told.sid})" for one in found.submissions if one.told.late]


def write_list(writer: Writer, title: str, entries: Sequence[str], standing: str = "") -> None:
    """A list below its title, if there is anything in it."""
    if not entries:
        return
    writer.line()
    writer.line(title, "bold")
    for entry in entries[:MOST]:
        if standing:
            writer.marked(standing, 2, entry)
        else:
            writer.paragraph(entry, 2, 3)
    if len(entries) > MOST:
        writer.line(f"  ({len(entries) - MOST} more on the page)", "dim")
