"""No right way to write a component loses a point, whatever the seed."""

import gc
from collections.abc import Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from correct_variants import VARIANTS, Variant
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.suite import Suite, run_suite
from cs336_grader.records import Tier, Verdict
from cs336_grader.rubric import load_assignment
from grader_tests.unit.test_repository import ROOT
from tests import adapters as reference

ASSIGNMENT = load_assignment(ROOT)
SEEDS = (0, 1, 2, 3, 12345)


class InProcess:
    """Adapters of this process: the reference's, some of them replaced."""

    def __init__(self, replaced: Mapping[str, Any]) -> None:
        names = ASSIGNMENT.adapter_names
        own = {name: getattr(reference, name) for name in names}
        self.adapters = SimpleNamespace(**{**own, **replaced})

    def adapters_for(self, request: pytest.FixtureRequest) -> Any:  # noqa: ARG002 - all alike
        """The adapters."""
        return self.adapters


@pytest.fixture(autouse=True, scope="module")
def old_objects_left_alone() -> Iterator[None]:
    """Spare the hundreds of runs a look at all that was there before, at the end of each."""
    gc.freeze()
    yield
    gc.unfreeze()


@cache
def suite_and_values(problem: str, seed: int) -> tuple[Suite, RecordedValues]:
    """The scored checks of a problem, and what the reference returns in them."""
    scored = {
        check.name: check.file
        for check in ASSIGNMENT.checks.values()
        if check.problem == problem and check.tier is not Tier.ADVICE
    }
    suite = Suite(ROOT, seed, scored)
    return suite, RecordedValues()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.id)
def test_right_variant_loses_nothing(variant: Variant) -> None:
    """Every scored check of its problem passes at five seeds."""
    for seed in SEEDS:
        suite, expected = suite_and_values(variant.problem, seed)
        outcomes = run_suite(suite, InProcess(variant.adapters), expected)
        assert {outcome.check for outcome in outcomes} == suite.checks.keys(), (
            "Not every check ran."
        )
        lost = {o.check: o.message for o in outcomes if o.verdict is not Verdict.PASSED}
        assert not lost, f"{variant.id} ({variant.sentence}) at seed {seed}"


def test_every_problem_has_variants() -> None:
    """Each problem is written in three ways at least."""
    known = {variant.problem for variant in VARIANTS}
    assert known == ASSIGNMENT.rubric.problems.keys(), "A variant belongs to a problem."
    for problem in known:
        assert sum(variant.problem == problem for variant in VARIANTS) >= 3, problem


def test_variants_replace_the_adapters_of_their_problem() -> None:
    """A variant replaces adapters that its problem's checks call."""
    for variant in VARIANTS:
        allowed = ASSIGNMENT.rubric.problems[variant.problem].adapters
        assert variant.adapters.keys() <= set(allowed), variant.id
