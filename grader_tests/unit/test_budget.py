"""Tests of how time is divided among problems."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs336_grader.budget import GUARANTEED, Budget

PROBLEMS = st.dictionaries(st.text(min_size=1), st.sampled_from("abcde"), min_size=1)
SECONDS = st.floats(1, 1e4)


@given(PROBLEMS, SECONDS)
def test_every_problem_is_sure_of_its_part(problems: dict[str, str], seconds: float) -> None:
    """However long the checks of all other problems took."""
    for mine in set(problems.values()):
        budget = Budget(seconds, problems)
        for check, problem in problems.items():
            if problem != mine:
                budget.spend(check, budget.left(check))
        own = [check for check, problem in problems.items() if problem == mine]
        part = GUARANTEED * seconds * len(own) / len(problems)
        assert budget.left(own[0]) >= part


@given(PROBLEMS, SECONDS)
def test_all_problems_together_keep_to_the_time(problems: dict[str, str], seconds: float) -> None:
    """Where each ends when its own is used up."""
    budget = Budget(seconds, problems)
    for check in problems:
        budget.spend(check, budget.left(check))
    assert sum(budget.used.values()) == pytest.approx(seconds)


def test_what_is_not_used_flows_on() -> None:
    """To whoever comes later, and what no problem is sure of to whoever comes first."""
    budget = Budget(100, {"first": "a", "second": "b", "third": "c"})
    assert budget.left("first") == pytest.approx(50)
    budget.spend("first", 1)
    assert budget.left("second") == pytest.approx(74)
    budget.spend("second", 1)
    assert budget.left("third") == pytest.approx(98)


def test_checks_without_a_problem_share_the_time() -> None:
    """Nothing of it is kept for any of them."""
    budget = Budget(100, {})
    budget.spend("one", 70)
    assert budget.left("one") == budget.left("other") == pytest.approx(30)
    budget.spend("other", 40)
    assert budget.left("one") == pytest.approx(-10)


def test_a_block_is_counted_even_if_it_fails() -> None:
    """For its problem."""
    budget = Budget(100, {"check": "problem"})
    with pytest.raises(ZeroDivisionError), budget.spent_on("check"):
        _ = 1 / 0
    assert budget.used["problem"] > 0
