"""Faults that no known mistake is: they cost points, and nothing else is said to be their cause."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import regex

from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.judging.suite import Suite, SuiteError
from cs336_grader.records import CheckResult, Verdict
from grader_tests.assignments import ASSIGNMENT, SCOPE, suite_of
from grader_tests.judged import judged
from known_mistakes import MISTAKES, Parts
from known_mistakes.bpe import Trainer


def right_but(**others: Callable[..., Any]) -> LocalAdapters:
    """Right adapters but for some."""
    return LocalAdapters(partial(Parts, **others))


def checks_called(*names: str) -> Suite:
    """These checks, one after the other, at seed 0."""
    return suite_of([ASSIGNMENT.checks[name] for name in names])


def outcomes_of(*names: str, **adapters: Callable[..., Any]) -> list[CheckResult]:
    """What becomes of checks with these adapters."""
    return judged(checks_called(*names), right_but(**adapters), scope=SCOPE)


def train_in_given_order(input_path: Any, vocab_size: int, special_tokens: list[str]) -> Any:
    """Train with special tokens that are tried in the order given."""

    def documents(text: str, given: Any) -> list[str]:
        return regex.split("|".join(map(regex.escape, given)), text) if given else [text]

    trainer = dataclasses.replace(Trainer(), documents=documents)
    return trainer.train(input_path, vocab_size, special_tokens)


def test_special_tokens_in_the_order_given() -> None:
    """It is none of the mistakes that split at too few special tokens, or at wrong ones."""
    check = "test_train_bpe_contained_special_token"
    (found,) = outcomes_of(check, run_train_bpe=train_in_given_order)
    assert found.verdict is Verdict.FAILED
    assert found.mistakes == ()


def test_a_right_part_is_not_blamed() -> None:
    """What explains a failure in the problem itself does so whatever was found before."""
    made = ("causal_without_mask", "positions_cut_off")
    mistakes = [known for known in MISTAKES if known.id.split("/")[1] in made]
    replaced = {name: part for known in mistakes for name, part in known.replaces.items()}
    checks = ("test_attention_without_mask", "test_multihead_attention_positions")
    mask, positions = outcomes_of(*checks, **replaced)
    assert "scaled_dot_product_attention/causal_without_mask" in mask.mistakes
    assert "multihead_self_attention/positions_cut_off" in positions.mistakes
    assert {name.split("/")[0] for name in positions.mistakes} == {"multihead_self_attention"}


def test_a_search_that_goes_wrong_costs_no_verdict() -> None:
    """What was found stands, and the report says that known mistakes were not tried."""
    scope = dataclasses.replace(SCOPE, catalogue="no_such_catalogue")
    wrong = right_but(run_silu=lambda in_features: in_features + 1.0)
    (found,) = judged(checks_called("test_silu"), wrong, scope=scope)
    assert found.verdict is Verdict.FAILED
    assert "Known mistakes could not be tried: ModuleNotFoundError was raised." in found.details
    assert "elements" in found.message


def test_a_search_that_takes_too_long_costs_no_verdict() -> None:
    """What was found stands, and the report says that known mistakes were not tried."""
    scope = dataclasses.replace(SCOPE, seconds=0.0)
    wrong = right_but(run_silu=lambda in_features: in_features + 1.0)
    (found,) = judged(checks_called("test_silu"), wrong, scope=scope)
    assert found.verdict is Verdict.FAILED
    assert "could not be tried: the time for this problem is used up." in found.details
    assert "elements" in found.message


def test_a_suite_that_breaks_says_with_what() -> None:
    """The last line of what pytest prints names the error."""

    def finished(_: CheckResult) -> None:
        raise ValueError("no room")

    with pytest.raises(SuiteError, match=r"cannot be run: INTERNALERROR> ValueError: no room"):
        judged(checks_called("test_silu"), right_but(), finished=finished)


def clip_what_is_read_twice(parameters: Any, max_l2_norm: float) -> None:
    """Clip gradients, but none of a generator: it has been read when they are scaled."""
    norm = math.sqrt(sum(parameter.grad.norm() ** 2 for parameter in parameters))
    for parameter in parameters:
        parameter.grad.mul_(min(1.0, max_l2_norm / (norm + 1e-6)))


def test_what_passed_tells_mistakes_apart() -> None:
    """Many mistakes leave gradients as they are, but only one of them those of generators alone."""
    checks = ("test_gradient_clipping", "test_gradient_clipping_keeps_weights")
    generator = "test_gradient_clipping_generator"
    adapters = {"run_gradient_clipping": clip_what_is_read_twice}
    (alone,) = outcomes_of(generator, **adapters)
    assert len(alone.mistakes) != 1
    *passed, found = outcomes_of(*checks, generator, **adapters)
    assert [outcome.verdict for outcome in passed] == [Verdict.PASSED] * 2
    assert found.mistakes == ("gradient_clipping/generator_read_twice",)


def test_a_message_holds_no_measurement() -> None:
    """How much was read differs from run to run; a report does not."""

    def read_all(dataset: Any, batch_size: int, context_length: int, device: str) -> Any:
        dataset.sum()
        return Parts().run_get_batch(dataset, batch_size, context_length, device)

    (found,) = outcomes_of("test_get_batch_reads_no_more_than_it_needs", run_get_batch=read_all)
    # Only pytest itself, where it runs within pytest, adds more.
    first, *_ = found.message.splitlines()
    assert first == "For one batch, most of a file of 32 MiB was read."


def test_what_is_found_without_a_comparison() -> None:
    """It is explained by a mistake found below that gives the same, and by no other."""
    wrong_rope = next(known for known in MISTAKES if known.id == "rope/ignored_positions")
    *_, found = outcomes_of(
        "test_rope_positions", "test_multihead_attention_distance", **wrong_rope.replaces
    )
    assert found.mistakes == ("rope/ignored_positions",)
    assert found.message.startswith("This comes of what was found in another problem: the given")
    *_, crash = outcomes_of(
        "test_rope_positions",
        "test_multihead_attention_distance",
        **wrong_rope.replaces,
        run_multihead_self_attention_with_rope=lambda *_: None,
    )
    assert crash.verdict is Verdict.FAILED
    assert crash.mistakes == ()


def test_a_message_accuses_nothing_of_the_problem_itself() -> None:
    """The trainer of known mistakes takes any size of vocabulary, and so do many that are right."""
    merged_late = next(m for m in MISTAKES if m.id == "train_bpe/from_right_to_left")
    checks = ("test_train_bpe_repeats", "test_train_bpe_vocabulary_too_small")
    repeats, too_small = outcomes_of(*checks, **merged_late.replaces)
    assert repeats.mistakes == (merged_late.id,)
    assert too_small.verdict is Verdict.FAILED
    assert too_small.mistakes == ()


def test_a_mistake_is_told_once() -> None:
    """Also where it was found twice, once with another that gives the same."""
    hard_coded = next(m for m in MISTAKES if m.id == "train_bpe/end_of_text_hard_coded")
    checks = ("special_tokens", "no_special_tokens", "contained_special_token")
    *_, found = outcomes_of(*(f"test_train_bpe_{name}" for name in checks), **hard_coded.replaces)
    assert found.mistakes == (hard_coded.id,)
    assert found.message.count(hard_coded.wrong) == 1


def tokenizer_without_new_tokens(vocab: Any, merges: Any, special_tokens: Any = None) -> Any:
    """A tokenizer for which special tokens that the vocabulary lacks are ordinary text."""
    known = [token for token in special_tokens or [] if token.encode() in vocab.values()]
    return Parts().get_tokenizer(vocab, merges, known)


def test_what_passed_rules_a_mistake_out() -> None:
    """Three mistakes give the same for a missing token, but fail where it is in the vocabulary."""
    special, missing = "test_encode_special_tokens", "test_encode_missing_special_token"
    passed, found = outcomes_of(special, missing, get_tokenizer=tokenizer_without_new_tokens)
    assert passed.verdict is Verdict.PASSED
    assert found.verdict is Verdict.FAILED
    assert found.mistakes == ()


@pytest.mark.parametrize(
    ("mistake", "checks"),
    [
        pytest.param(
            "linear/weight_of_input_by_output",
            ("test_linear", "test_swiglu_square", "test_multihead_attention"),
            id="of two that were equal in another check, both are tried",
        ),
        pytest.param(
            "softmax/detached",
            ("test_softmax_gradient", "test_multihead_attention_gradient"),
            id="mistakes of a part that nothing explains are tried beside the problem's own",
        ),
    ],
)
def test_what_a_part_does_is_not_told_as_another_mistake(
    mistake: str, checks: tuple[str, ...]
) -> None:
    """Either the mistake is among those that are named, or none is."""
    (made,) = (known for known in MISTAKES if known.id == mistake)
    found = outcomes_of(*checks, **made.replaces)
    assert all(one.verdict is Verdict.FAILED for one in found)
    assert all(mistake in one.mistakes for one in found if one.mistakes)
