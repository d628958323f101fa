"""JSON Schemas, made from the records; as a program, that of report.json.

Write it again: python -m cs336_grader.reports.schema > docs/report.schema.json
"""

import json
import sys

from pydantic import TypeAdapter

from cs336_grader.records import SCHEMA_VERSION, Report


def schema() -> dict[str, object]:
    """What report.json looks like."""
    return schema_of(Report, "report", SCHEMA_VERSION)


def schema_of(record: type, name: str, version: int) -> dict[str, object]:
    """What the file that holds a record looks like."""
    described = TypeAdapter(record).json_schema(mode="serialization")
    described["properties"]["schema_version"] = {"const": version}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:cs336:{name}:{version}",
        **described,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
