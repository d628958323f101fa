"""An audit as JSON: every field of the record, one entry a line, so that changes can be read."""

import json
from dataclasses import asdict

from .records import Audit

# Of a distance; more would change with the machine.
DIGITS = 2


def render(audit: Audit) -> str:
    """The audit as JSON text."""
    parts = [f'"{name}": {told(value)}' for name, value in asdict(audit).items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def told(value: object) -> str:
    """A field's value; the entries of a list one a line."""
    if isinstance(value, tuple) and value and not isinstance(value[0], int):
        return "[\n" + ",\n".join(map(dumped, value)) + "\n]"
    return dumped(value)


def dumped(value: object) -> str:
    """A value in one line."""
    return json.dumps(rounded(value), ensure_ascii=False, allow_nan=False)


def rounded(value: object) -> object:
    """A value with fewer digits."""
    if isinstance(value, dict):
        return {name: rounded(entry) for name, entry in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
