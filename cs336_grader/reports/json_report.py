"""The report as JSON: every field of the record, as docs/report.schema.json describes them."""

import json
from dataclasses import fields
from functools import lru_cache

from cs336_grader.records import Report

INDENT = "\n  "


def render(report: Report) -> str:
    """The report as JSON text.

    Raises:
        ValueError: a number in it is not finite.
    """
    parts = [f'"{name}": {indented(value)}' for name, value in entries(report).items()]
    return "{" + INDENT + f",{INDENT}".join(parts) + "\n}\n"


def indented(value: object) -> str:
    """A field's value, one level down; the items of a list each by itself.

    The report is written after every check, and all but one of its checks are as they were.
    """
    if not isinstance(value, tuple) or not value:
        return dumped(value)
    deeper = f"{INDENT}  "
    return "[" + deeper + f",{deeper}".join(map(item, value)) + f"{INDENT}]"


@lru_cache(maxsize=10_000)
def item(record: object) -> str:
    """An item of a list, two levels down."""
    return dumped(record).replace("\n", INDENT)


def dumped(value: object) -> str:
    """A value as JSON, one level down. No text holds a line end, as JSON escapes them."""
    text = json.dumps(value, default=entries, indent=2, ensure_ascii=False, allow_nan=False)
    return text.replace("\n", INDENT)


def entries(record: object) -> dict[str, object]:
    """A record's fields by name."""
    return {field.name: getattr(record, field.name) for field in fields(record)}  # type: ignore[arg-type]  # all that JSON does not know here is records
