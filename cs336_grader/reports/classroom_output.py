"""The result for GitHub Classroom's reporter as a line of a step's outputs: ``result=<Base64>``.

In a workflow: cat report/classroom-output.txt >> "$GITHUB_OUTPUT"
"""

import base64

from cs336_grader.records import Report

from . import classroom


def render(report: Report) -> str:
    """The line."""
    return f"result={base64.b64encode(classroom.render(report).encode()).decode('ascii')}\n"
