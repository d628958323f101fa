"""The fixtures of a small suite, with the three places where a grader may step in."""

import importlib
import json
import math
import random
import sys
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Comparison:
    """A value that a check got, and what it is compared with."""

    check: str
    name: str
    actual: object
    expected: tuple[object, ...]

    def distance(self) -> float:
        """How far it is from what is expected, as a multiple of what is allowed."""
        return min(distance(self.actual, wanted) for wanted in self.expected)


class Snapshot:
    """Compares with what the reference returned."""

    def __init__(self, check: str, expected: Any, observer: Any) -> None:
        self.check = check
        self.expected = expected
        self.observer = observer

    def assert_match(self, actual: object) -> None:
        """Compare, or record where the reference is running."""
        if self.expected is None:
            pytest.skip("expected values are saved for seed 0 only")
        if self.expected.recording:
            self.expected.save(self.check, {"output": actual})
            return
        wanted = self.expected.load(self.check, "output")
        comparison = Comparison(self.check, "output", actual, (wanted,))
        if self.observer is not None:
            self.observer.observe(comparison)
        elif comparison.distance() > 1:
            shown = f"; {wanted!r} is expected" if self.expected.reveal else ""
            raise CheckFailedError(f"Yours is {actual!r:.200}{shown}.")


def distance(actual: object, wanted: object) -> float:
    """How far a plain value is from another, where numbers may differ by rounding."""
    if isinstance(wanted, list) and isinstance(actual, list) and len(actual) == len(wanted):
        return max(map(distance, actual, wanted), default=0.0)
    if isinstance(wanted, float) and isinstance(actual, int | float) and math.isfinite(actual):
        return abs(actual - wanted) / (1e-9 * max(1.0, abs(wanted)))
    return 0.0 if actual == wanted else math.inf


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
    observer = request.config.pluginmanager.get_plugin("comparison-observer")
    return Snapshot(f"{request.path.stem}.{request.node.name}", expected, observer)
