"""Known mistakes are entered and put together rightly; ``make audit`` sees each of them fail."""

from functools import partial
from typing import Any

import pytest
import torch

from cs336_checks.catalogue import KnownMistake
from cs336_checks.rubric import Tier
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.records import Verdict
from grader_tests.assignments import ASSIGNMENT, checks_of, suite_of
from grader_tests.judged import judged
from known_mistakes import MISTAKES, Parts, adapters_with
from known_mistakes.catalogue import mistake

# What the reference returns at seed 0, recorded once.
EXPECTED = RecordedValues()
BUILT_ON_OTHERS = (
    "positionwise_feedforward",
    "scaled_dot_product_attention",
    "multihead_self_attention",
    "transformer_block",
    "transformer_lm",
    "scaled_embedding",
    "gpt_feed_forward",
    "gpt_attention",
    "gpt_block",
    "gpt",
    "parameter_count",
    "sampling",
    "generation",
)


def lost(problem: str, *mistakes: KnownMistake) -> dict[str, str]:
    """The problem's scored checks that do not pass with these mistakes, each with its message."""
    suite = suite_of(check for check in checks_of(problem) if check.tier is not Tier.ADVICE)
    results = judged(suite, LocalAdapters(partial(adapters_with, *mistakes)), EXPECTED)
    assert {result.name for result in results} == suite.checks.keys(), "Not every check ran."
    return {o.name: o.message for o in results if o.verdict is not Verdict.PASSED}


@pytest.mark.parametrize("problem", BUILT_ON_OTHERS)
def test_parts_without_a_mistake_lose_nothing(problem: str) -> None:
    """What mistakes are put into is right by itself."""
    assert lost(problem) == {}


def mistake_of(name: str) -> KnownMistake:
    """The mistake of this id."""
    return next(known for known in MISTAKES if known.id == name)


def test_a_wrong_part_shows_in_all_that_is_built_on_it() -> None:
    """Wrong RoPE costs points where it is used, and nothing where it is not."""
    wrong_rope = mistake_of("rope/half_split_pairs")
    failed = lost("multihead_self_attention", wrong_rope)
    assert "test_multihead_attention_with_rope" in failed
    assert "test_multihead_attention" not in failed
    assert lost("transformer_block", wrong_rope)
    assert lost("transformer_lm", wrong_rope)
    assert not lost("scaled_dot_product_attention", wrong_rope)


def test_a_wrong_part_shows_in_the_classic_model() -> None:
    """What both families share shows in both; what is not used shows nowhere."""
    no_bias, inverted = (
        mistake_of("layer_norm/no_bias"),
        mistake_of("scaled_dot_product_attention/inverted_mask"),
    )
    assert not lost("gpt_attention", no_bias)
    assert lost("gpt_attention", inverted)
    for wrong in (no_bias, inverted):
        assert lost("gpt_block", wrong)
        assert lost("gpt", wrong)


def test_mistakes_can_be_made_together() -> None:
    """Two mistakes are in one submission, each in its place, unless the place is the same."""
    wrong_rope, post_norm = (
        mistake_of("rope/half_split_pairs"),
        mistake_of("transformer_block/post_norm"),
    )
    assert lost("rope", wrong_rope, post_norm) == lost("rope", wrong_rope)
    residual = "test_transformer_block_residual"
    assert residual not in lost("transformer_block", wrong_rope)
    assert residual in lost("transformer_block", wrong_rope, post_norm)
    with pytest.raises(ValueError, match="as another mistake does"):
        adapters_with(wrong_rope, mistake_of("rope/other_direction"))


def test_every_problem_has_mistakes() -> None:
    """Each problem has ten at least."""
    for problem in ASSIGNMENT.rubric.problems:
        assert sum(known.problem == problem for known in MISTAKES) >= 10, problem


def test_what_is_kept_is_forgotten_by_a_new_submission() -> None:
    """What a mistake keeps between calls does not outlive the adapters it was made for."""
    first_kept = mistake_of("linear/first_weight_kept")
    x, one, two = torch.ones(1, 3), torch.ones(2, 3), torch.zeros(2, 3)
    adapters = adapters_with(first_kept)
    assert adapters.run_linear(3, 2, one, x).tolist() == [[3.0, 3.0]]
    assert adapters.run_linear(3, 2, two, x).tolist() == [[3.0, 3.0]]
    assert adapters_with(first_kept).run_linear(3, 2, two, x).tolist() == [[0.0, 0.0]]


def test_mistakes_replace_what_belongs_to_their_problem() -> None:
    """No mistake replaces another problem's adapter."""
    problems = ASSIGNMENT.rubric.problems
    for known in MISTAKES:
        others = set(ASSIGNMENT.adapter_names) - set(problems[known.problem].adapters)
        assert not known.replaces.keys() & others, known.id


def test_sentences_are_said_once() -> None:
    """No two mistakes of a problem are explained by the same clause."""
    clauses = [(known.problem, known.wrong) for known in MISTAKES]
    assert len(clauses) == len(set(clauses))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"wrong": "The mean is missing."}, "clause without a full stop"),
        ({"wrong": "where the mean is missing, it is 0"}, "begins with none"),
        ({"hint": "Read it again"}, "full sentences"),
        ({"kind": "style"}, "none of the kinds"),
    ],
)
def test_a_sentence_has_its_form(changed: dict[str, str], message: str) -> None:
    """What could not be said to a student is refused."""
    given: dict[str, Any] = {
        "kind": "formula",
        "wrong": "the mean is missing",
        "hint": "Read the definition again.",
    }
    enter = mistake("rmsnorm", "run_rmsnorm", **(given | changed))
    with pytest.raises(ValueError, match=message):
        enter(lambda: None)


def test_a_name_is_taken_once() -> None:
    """A second mistake of one name in one problem is refused."""

    def half_split_pairs() -> None: ...

    enter = mistake(
        "rope", "run_rope", kind="formula", wrong="pairs are halves", hint="Read it again."
    )
    with pytest.raises(ValueError, match="entered twice"):
        enter(half_split_pairs)


def test_only_what_exists_is_replaced() -> None:
    """A misspelled adapter is refused."""
    with pytest.raises(ValueError, match="no adapter and no part called run_ropes"):
        Parts(run_ropes=lambda x: x)
