"""The JSON Schema of audit.json, made from the record.

Write it again: python -m cs336_grader.audit.schema > docs/audit.schema.json
"""

import json
import sys

from cs336_grader.reports.schema import schema_of

from .records import SCHEMA_VERSION, Audit


def schema() -> dict[str, object]:
    """What audit.json looks like."""
    return schema_of(Audit, "audit", SCHEMA_VERSION)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
