"""Prints the JSON Schema of audit.json: python -m cs336_grader.audit.schema."""

import json
import sys

from . import json_file

if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_file.schema(), indent=2) + "\n")
