"""A submission that has one adapter for each thing that is tried across the border."""

import signal
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from cs336_grader.running import (
    RunningSubmission,
    Setting,
    fork_zygote,
    forked_zygote,
    warm_up,
)
from grader_tests.alone import alone, load_of
from grader_tests.limits import limits_with

from .border_adapters import ADAPTERS


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSubmission]:
    """One adapter for each thing that is tried here, forked from a process with a handler."""
    root, scratch = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("scratch")
    (root / "adapters.py").write_text(ADAPTERS, encoding="utf-8")
    warm_up()
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    limits = limits_with(check_seconds=10, import_seconds=60)
    zygote = forked_zygote(*fork_zygote(), Setting(root, scratch, limits))
    signal.signal(signal.SIGTERM, before)
    with closing(zygote):
        shared = (tmp_path_factory.getbasetemp(),)
        problems = dict.fromkeys(("first", "second"), "problem")
        submission = RunningSubmission(zygote, load_of(root), limits, shared, problems)
        with closing(submission):
            yield submission


@pytest.fixture
def adapters(submission: RunningSubmission, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The adapters in a worker of this test's own."""
    with alone(submission, request.node.name) as adapters:
        yield adapters
