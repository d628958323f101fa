"""The fixtures of a small suite, with the two places where a grader may step in."""

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SNAPSHOTS = HERE / "_snapshots"


class CheckFailedError(AssertionError):
    """A requirement is not met; `facts` says what was found."""

    def __init__(self, facts: str) -> None:
        super().__init__(facts)
        self.facts = facts


class SavedValues:
    """What the reference returned for seed 0, one file a check."""

    recording = False
    reveal = True

    def load(self, check: str, name: str) -> Any:
        """One of the values saved for a check."""
        return json.loads((SNAPSHOTS / f"{check}.json").read_text(encoding="utf-8"))[name]


class Snapshot:
    """Compares with what the reference returned."""

    def __init__(self, check: str, expected: Any) -> None:
        self.check = check
        self.expected = expected

    def assert_match(self, actual: object) -> None:
        """Compare, or record where the reference is running."""
        if self.expected is None:
            pytest.skip("expected values are saved for seed 0 only")
        if self.expected.recording:
            self.expected.save(self.check, {"output": actual})
            return
        wanted = self.expected.load(self.check, "output")
        if not close(actual, wanted):
            shown = f"; {wanted!r} is expected" if self.expected.reveal else ""
            raise CheckFailedError(f"Yours is {actual!r:.200}{shown}.")


def close(actual: object, wanted: object) -> bool:
    """Whether two plain values are equal, numbers up to rounding."""
    if isinstance(wanted, list) and isinstance(actual, list):
        return len(actual) == len(wanted) and all(map(close, actual, wanted))
    if isinstance(wanted, float) and isinstance(actual, int | float):
        return abs(actual - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return actual == wanted


def pytest_addoption(parser: pytest.Parser) -> None:
    """What all inputs derive from."""
    parser.addoption("--seed", type=int, default=0)


@pytest.fixture
def adapters(request: pytest.FixtureRequest) -> Any:
    """The submission's adapters."""
    source = request.config.pluginmanager.get_plugin("adapters-source")
    if source is not None:
        return source.adapters_for(request)
    if str(HERE.parent) not in sys.path:
        sys.path.insert(0, str(HERE.parent))
    return importlib.import_module("adapters")


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> random.Random:
    """The check's random inputs."""
    return random.Random(f"{request.config.option.seed} {request.node.name}")  # noqa: S311


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """What the reference returned in this check."""
    expected = request.config.pluginmanager.get_plugin("expected-values")
    if expected is None and request.config.option.seed == 0:
        expected = SavedValues()
    return Snapshot(f"{request.path.stem}.{request.node.name}", expected)
