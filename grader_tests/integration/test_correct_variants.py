"""The right variants are entered rightly; ``make audit`` sees each of them pass at ten seeds."""

from correct_variants import VARIANTS
from grader_tests.assignments import ASSIGNMENT

PROBLEMS = ASSIGNMENT.rubric.problems


def test_every_problem_has_variants() -> None:
    """Each problem is written in three ways at least."""
    known = {variant.problem for variant in VARIANTS}
    assert known == PROBLEMS.keys(), "A variant belongs to a problem."
    for problem in known:
        assert sum(variant.problem == problem for variant in VARIANTS) >= 3, problem


def test_variants_replace_the_adapters_of_their_problem() -> None:
    """A variant replaces adapters that its problem's checks call."""
    for variant in VARIANTS:
        assert variant.replaces.keys() <= set(PROBLEMS[variant.problem].adapters), variant.id
