"""What the formats of others allow, as JSON Schemas written from their documents.

Each is closed: a key that the document does not name is refused.
"""

from typing import Any

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
NUMBER: Shape = {"type": "number"}
COUNT: Shape = {"type": "integer", "minimum": 0}
VISIBILITY: Shape = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
TEXT_FORMAT: Shape = {"enum": ["text", "html", "simple_format", "md", "ansi"]}


def record(required: dict[str, Shape], optional: dict[str, Shape] | None = None) -> Shape:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | (optional or {}),
        "additionalProperties": False,
    }


def listed(items: Shape) -> Shape:
    """A list of these."""
    return {"type": "array", "items": items}


# https://gradescope-autograders.readthedocs.io/en/latest/specs/
GRADESCOPE = record(
    {"tests": listed({"$ref": "#/$defs/test"})},
    {
        "score": NUMBER,
        "execution_time": NUMBER,
        "output": TEXT,
        "output_format": TEXT_FORMAT,
        "test_output_format": TEXT_FORMAT,
        "test_name_format": TEXT_FORMAT,
        "visibility": VISIBILITY,
        "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
    },
) | {
    "$defs": {
        "test": record(
            {},
            {
                "score": NUMBER,
                "max_score": NUMBER,
                "status": {"enum": ["passed", "failed"]},
                "name": TEXT,
                "name_format": TEXT_FORMAT,
                "number": {"type": "string", "pattern": r"^\d+(\.\d+)*$"},
                "output": TEXT,
                "output_format": TEXT_FORMAT,
                "tags": listed(TEXT),
                "visibility": VISIBILITY,
                "extra_data": {"type": "object"},
            },
        )
    }
}

# The result that the graders of github.com/classroom-resources hand to its reporter.
CLASSROOM = record(
    {
        "version": {"const": 3},
        "status": {"enum": ["pass", "fail", "error"]},
        "max_score": {"type": "number", "minimum": 0},
        "tests": listed(
            record(
                {"name": TEXT, "status": {"enum": ["pass", "fail", "error"]}, "score": NUMBER},
                {
                    "message": {"type": "string", "maxLength": 500},
                    "test_code": TEXT,
                    "filename": TEXT,
                    "line_no": {"type": "integer"},
                    "duration": NUMBER,
                    "task_id": COUNT,
                    "output": {"type": "string", "maxLength": 500},
                },
            )
        ),
    },
    {"message": TEXT},
)

# https://ctrf.io/docs/specification/root
CTRF = record(
    {
        "reportFormat": {"const": "CTRF"},
        "specVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "results": record(
            {
                "tool": record({"name": {"type": "string", "minLength": 1}}, {"version": TEXT}),
                "summary": record(
                    {
                        **dict.fromkeys(("tests", "passed", "failed"), COUNT),
                        **dict.fromkeys(("skipped", "pending", "other"), COUNT),
                        "start": COUNT,
                        "stop": COUNT,
                    },
                    {"suites": COUNT, "extra": {"type": "object"}},
                ),
                "tests": listed(
                    record(
                        {
                            "name": {"type": "string", "minLength": 1},
                            "status": {"enum": ["passed", "failed", "skipped", "pending", "other"]},
                            "duration": COUNT,
                        },
                        {
                            "suite": listed(TEXT) | {"minItems": 1},
                            "message": TEXT,
                            "trace": TEXT,
                            "rawStatus": TEXT,
                            "tags": listed(TEXT),
                            "filePath": TEXT,
                        },
                    )
                ),
            }
        ),
    }
)

# The attributes and children that Jenkins' junit-10.xsd allows; required ones begin with "!".
JUNIT: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"!name", "!tests", "!failures", "!errors", "skipped", "time", "timestamp", "hostname"}
        | {"group", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"!name", "!value"}, set()),
    "testcase": (
        {"!name", "time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "skipped": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "failure": ({"type", "message"}, set()),
    "system-out": (set(), set()),
    "system-err": (set(), set()),
}
