"""Rules are checked when the rubric is read, and a name's longest holder decides."""

import importlib
from pathlib import Path

import pytest

from cs336_checks.rubric import RubricError, load_assignment
from cs336_grader.judging import scoring
from cs336_grader.policy.rulebook import RuleBook
from cs336_grader.records import CheckResult, Consequence, Finding, Verdict
from grader_tests.assignments import ASSIGNMENT, TINY

from .test_rubric import RUBRIC, assignment

LOOK, COSTS = Consequence.HUMAN_LOOK, Consequence.COSTS_POINTS


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ('forbidden = ["aten::"]', "rules.forbidden.0: a name with dots is expected"),
        ('forbidden = ["torch.nn."]', "rules.forbidden.0: a name with dots is expected"),
        ('forbidden = ["torch nn"]', "rules.forbidden.0: a name with dots is expected"),
        ('forbidden = "torch.nn"', "rules.forbidden: a list of names is expected"),
        ('forbiden = ["torch"]', "rules.forbiden: there is no such key"),
        ('forbidden = ["a"]\nhuman_look = ["a"]', "rules: a is listed 2 times"),
        ('forbidden = ["a.b"]\nallowed = ["a.bc"]', "rules.allowed: a.bc is allowed anyway"),
    ],
)
def test_a_wrong_rule_is_told(tmp_path: Path, rules: str, complaint: str) -> None:
    """With the table, the key and what to do."""
    folder = assignment(tmp_path, {"tests/rubric.toml": f"{RUBRIC}\n[rules]\n{rules}\n"})
    with pytest.raises(RubricError) as caught:
        load_assignment(folder)
    assert f"tests/rubric.toml: {complaint}" in str(caught.value)


def test_a_problem_may_allow_what_others_may_not(tmp_path: Path) -> None:
    """Its own rules come after those for all."""
    own = 'allowed = ["a.b"]\nhuman_look = ["c"]'
    rules = '\n[rules]\nforbidden = ["a", "a.b.c"]\n'
    folder = assignment(tmp_path, {"tests/rubric.toml": f"{RUBRIC}{own}{rules}"})
    rubric = load_assignment(folder).rubric
    book = RuleBook(rubric)
    ruled = {name: book.ruling(name, "add") for name in ("a", "a.b", "a.b.c.d", "ab", "c.d", "")}
    assert ruled == {"a": COSTS, "a.b": None, "a.b.c.d": COSTS, "ab": None, "c.d": LOOK, "": None}
    assert rubric.watched() == {"a": True, "a.b": False, "a.b.c": True, "c": True}


TORCH_NAMES = sorted(name for name in ASSIGNMENT.rubric.watched() if name.startswith("torch."))


@pytest.mark.parametrize("name", TORCH_NAMES)
def test_every_name_is_one_that_torch_has(name: str) -> None:
    """A rule with a misspelt name would find nothing."""
    holder, _, last = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        assert hasattr(importlib.import_module(holder), last)


PLAIN = """
    abs add addcdiv_ addcmul_ addmm amax arange baddbmm bernoulli_ bmm cat clamp cos cumsum div
    einsum eq erf exp expm1 gather ge index index_put_ index_select lerp_ linalg_vector_norm log
    logsumexp masked_fill matmul max mean mm mul multinomial neg norm outer permute pow rand randint
    rsqrt scatter_ sigmoid sin sort split sqrt square stack sub sum tanh topk transpose tril triu
    uniform_ var var_mean view where _foreach_add_ _foreach_mul_
"""


@pytest.mark.parametrize("problem", ASSIGNMENT.rubric.problems)
def test_no_plain_operator_is_ruled_on(problem: str) -> None:
    """Arithmetic, reductions, indices and matrix products are what parts are built of."""
    book = RuleBook(ASSIGNMENT.rubric)
    ruled = {one for one in PLAIN.split() if book.ruling(f"aten::{one}", problem)}
    # It is all of softmax but an exponential.
    assert ruled == ({"logsumexp"} if problem == "softmax" else set())


def test_a_finding_costs_the_points_and_not_the_verdict() -> None:
    """Of its own problem alone; a human look costs nothing."""
    tiny = load_assignment(TINY)
    problems = tuple(tiny.rubric.problems)
    outcomes = {check.id: CheckResult.of(check, Verdict.PASSED) for check in tiny.checks.values()}
    checks = scoring.check_results(tiny, problems, outcomes, "absent")
    findings = [
        Finding("moving_average", "a.py", 1, "statistics.mean", COSTS, ""),
        Finding("count_words", "a.py", 1, "exec", LOOK, ""),
        Finding("", "a.py", 1, "exec", LOOK, ""),
    ]
    results = scoring.problem_results(tiny, problems, checks, findings)
    assert [result.score for result in results] == [0.0, 3.0, 2.0]
    assert {result.verdict for result in results} == {Verdict.PASSED}
