"""An audit as text for a terminal: what does not hold, questions, the narrowest margins."""

from collections.abc import Iterable

from rich.text import Text

from cs336_grader.reports.terminal import NAME_WIDTH, Surroundings, Writer

from .records import Audit, AuditedCheck
from .summary import best_paid, counted, idle, multiple, narrowest, sections

# Of each list, this many entries are shown; all are in the file.
MOST = 12


def render(audit: Audit, width: int, ascii_only: bool, saved: tuple[str, ...]) -> Text:
    """The audit as text with styles.

    Args:
        audit: what to tell.
        width: how many columns there are.
        ascii_only: whether marks must be ASCII.
        saved: the files it was written to.
    """
    writer = Writer(Surroundings(width, ascii_only, "", saved))
    write_overview(audit, writer)
    write_degenerate(audit, writer)
    write_faults(audit, writer)
    write_questions(audit, writer)
    write_margins(audit, writer)
    writer.line()
    if audit.faults:
        writer.marked("failed", 0, f"Not sound: {counted(len(audit.faults), 'fault')}.", "bold")
    else:
        writer.marked("passed", 0, "Sound: all of this holds.", "bold")
    for path in saved:
        writer.line(f"Saved as {path}", "dim")
    return writer.text()


def write_overview(audit: Audit, writer: Writer) -> None:
    """One line a problem."""
    writer.line(
        f"{audit.assignment}: {counted(len(audit.checks), 'check')}, tried on"
        f" {counted(len(audit.mistakes), 'mistake')}"
        f" and {counted(len(audit.variants), 'right variant')}",
        "bold",
    )
    writer.line()
    writer.line(
        f"{'':{NAME_WIDTH + 2}}  checks  mistakes caught  right within  wrong beyond", "dim"
    )
    for section in sections(audit):
        writer.marked(
            "failed" if section.faults else "passed",
            0,
            f"{section.problem:{NAME_WIDTH}}  {len(section.checks):6}  "
            f"{f'{section.caught} of {len(section.mistakes)}':>10}  "
            f"{multiple(section.noise):>8}  {multiple(section.nearest):>8}",
        )
    writer.paragraph(
        "right: what is right is off by this at most, in multiples of what is allowed; wrong: each "
        "mistake is off by this at least where it is seen best.",
        2,
        3,
        "dim",
    )


def write_degenerate(audit: Audit, writer: Writer) -> None:
    """The largest share of a problem's points that degenerate work earns."""
    if not audit.degenerate:
        return
    paid = best_paid(audit)
    most = (
        f"at most {paid[0].share:.0%} of a problem's points ({paid[0].id})" if paid else "nothing"
    )
    writer.line()
    writer.paragraph(
        f"Degenerate work in {counted(len(audit.degenerate), 'way')}: it earns {most}.", 2, 3
    )


def write_faults(audit: Audit, writer: Writer) -> None:
    """All that does not hold."""
    for section in sections(audit):
        if section.faults:
            writer.line()
            writer.line(section.problem, "bold")
        for fault in section.faults:
            writer.marked("failed", 2, f"{fault.subject} {fault.message}")


def write_questions(audit: Audit, writer: Writer) -> None:
    """What the author may want to think about."""
    ask(
        writer,
        "Mistakes that no check tells apart: is one of them enough?",
        (" = ".join(group) for group in audit.twins),
    )
    ask(
        writer,
        "Checks that catch no mistake: what are they for?",
        (told(check) for check in audit.checks if not check.catches),
    )
    ask(
        writer,
        "Checks that no mistake needs, as others catch all that they catch: are they needed?",
        (check.name for check in idle(audit)),
    )
    alone = [check for check in audit.checks if check.alone]
    if alone:
        writer.line()
        writer.paragraph(
            f"Each of {counted(len(alone), 'check')} is the only one to catch some mistake; the "
            "file names them.",
            0,
            2,
        )


def ask(writer: Writer, question: str, entries: Iterable[str]) -> None:
    """A question with what it is about, if it is about anything."""
    listed = list(entries)
    if not listed:
        return
    writer.line()
    writer.marked("not judged", 0, f"{question} ({len(listed)})")
    for entry in listed[:MOST]:
        writer.paragraph(entry, 4, 2)
    if len(listed) > MOST:
        writer.line(f"    ({len(listed) - MOST} more in the file)", "dim")


def write_margins(audit: Audit, writer: Writer) -> None:
    """The comparisons that separate right from wrong least."""
    worst = narrowest(audit.comparisons)[:MOST]
    if not worst:
        return
    writer.line()
    writer.line("Narrowest margins: right, wrong, and the comparison")
    for each in worst:
        reason = f" ({each.reason})" if each.reason else ""
        numbers = f"{multiple(each.noise):>8}  {multiple(each.nearest):>8}"
        writer.paragraph(f"{numbers}  {each.id}{reason}", 2, 3)


def told(check: AuditedCheck) -> str:
    """A check with what it asks for."""
    return f"{check.name}: {check.requirement}"
