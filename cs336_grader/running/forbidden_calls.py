"""Takes in what a worker says that it saw; nothing in it is relied on."""

from collections.abc import Iterator

from cs336_grader.worker.operator_trace import STOPPED

MAX_FORBIDDEN_CALLS = 100
MAX_TEXT = 300
MAX_LINE = 10**7

# A file of the submission and a line in it, "" and 0 where none is known, and the name of what ran.
Place = tuple[str, int, str]
# Operators ran without a record of them.
NO_RECORD: Place = ("", 0, STOPPED)


def forbidden_calls_in(told: object) -> Iterator[Place]:
    """The places in a worker's answer that have the form agreed on; the rest is passed over."""
    for item in told[:MAX_FORBIDDEN_CALLS] if isinstance(told, list) else ():
        match item:
            case [str(file), int(line), str(name)] if (
                len(file) <= MAX_TEXT and len(name) <= MAX_TEXT and 0 <= line < MAX_LINE
            ):
                yield file, line, name
            case _:
                pass
