"""The JSON Schema of report.json, made from the record.

Write it again: python -m cs336_grader.reports.schema > docs/report.schema.json
"""

import json
import sys

from pydantic import TypeAdapter

from cs336_grader.records import SCHEMA_VERSION, Report


def schema() -> dict[str, object]:
    """What report.json looks like."""
    described = TypeAdapter(Report).json_schema(mode="serialization")
    described["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:cs336:report:{SCHEMA_VERSION}",
        **described,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
