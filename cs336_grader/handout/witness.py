"""A plugin of pytest that writes down what became of every case: copied to where a proof is run.

It imports nothing of this project, because the proof must not be able to either.
"""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

CASES: list[dict[str, str]] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Note how each phase of a case ended, the set-up and the end only where they did not pass."""
    report = yield
    if call.when == "call" or report.outcome != "passed":
        error = None if call.excinfo is None else call.excinfo.value
        CASES.append(
            {
                "check": getattr(item, "originalname", item.name),
                "phase": report.when,
                "outcome": report.outcome,
                "error": "" if error is None else type(error).__name__,
                "text": "" if error is None else str(error),
            }
        )
    return report


def pytest_sessionfinish() -> None:
    """Write all that was noted, and where the package was imported from."""
    package = sys.modules.get(os.environ["HANDOUT_PACKAGE"])
    found = {"package": getattr(package, "__file__", None), "cases": CASES}
    Path(os.environ["HANDOUT_WITNESS"]).write_text(json.dumps(found), encoding="utf-8")
