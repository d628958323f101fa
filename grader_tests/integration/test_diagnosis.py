"""Mistakes are named at a fresh seed and by the saved fingerprints; what is right never is."""

import gc
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from correct_variants import VARIANTS
from correct_variants import adapters_with as adapters_of
from cs336_checks.catalogue import Variant
from cs336_checks.fingerprints import FingerprintFile
from cs336_checks.rubric import Tier
from cs336_grader.audit.fingerprints import fingerprints, sentences
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.local_adapters import LocalAdapters
from cs336_grader.judging.suite import SuiteRun
from cs336_grader.records import CheckResult
from grader_tests.assignments import ASSIGNMENT, ROOT, SCOPE, checks_of, suite_of
from grader_tests.confusion import FINGERPRINTS, FirstWrong, confusion
from grader_tests.judged import judged
from known_mistakes import MISTAKES, adapters_with

BY_ID = {mistake.id: mistake for mistake in MISTAKES}
QUICK = (
    "linear",
    "embedding",
    "rope",
    "cross_entropy",
    "learning_rate_schedule",
    "rmsnorm",
    "gelu",
    "layer_norm",
    "learned_positions",
)
TOGETHER = [
    ("rope/half_split_pairs", "gradient_clipping/each_by_itself"),
    ("rope/other_direction", "transformer_block/norms_swapped"),
    ("linear/bias", "cross_entropy/epsilon_in_logarithm"),
    ("rmsnorm/layer_norm", "learning_rate_schedule/warmup_one_ahead"),
    ("embedding/scaled_by_root_of_width", "transformer_lm/no_final_norm"),
    ("positionwise_feedforward/gelu", "transformer_block/no_first_norm"),
    ("rmsnorm/epsilon_ignored", "rope/half_the_exponent", "cross_entropy/base_two"),
    ("positionwise_feedforward/relu", "rmsnorm/sum_of_squares", "transformer_block/post_norm"),
    ("scaled_dot_product_attention/no_scale", "rope/pairs_left_apart", "adamw/no_decay"),
    ("softmax/clamped", "multihead_self_attention/heads_interleaved", "rope/half_split_pairs"),
    ("layer_norm/sigma_plus_epsilon", "scaled_embedding/fourth_root", "gpt_attention/future_shown"),
]
# What the reference returns at each seed, recorded once.
EXPECTED: dict[int, RecordedValues] = defaultdict(RecordedValues)
# One check of each file is enough to see that the fingerprints are those of these mistakes.
SAMPLED = {
    "tests/test_model.py": "test_rmsnorm",
    "tests/test_model_rope.py": "test_rope_positions",
    "tests/test_model_attention.py": "test_attention",
    "tests/test_model_multihead.py": "test_multihead_attention_with_rope",
    "tests/test_model_transformer.py": "test_transformer_block",
    "tests/test_loss.py": "test_cross_entropy",
    "tests/test_optimizer.py": "test_adamw",
    "tests/test_optimizer_clipping.py": "test_gradient_clipping",
    "tests/test_optimizer_schedule.py": "test_learning_rate_schedule",
    "tests/test_tokenizer.py": "test_encode_merge_order",
    "tests/test_train_bpe.py": "test_train_bpe_ties",
    "tests/test_gpt.py": "test_layer_norm",
    "tests/test_gpt_dropout.py": "test_gpt_feed_forward",
    "tests/test_gpt_attention.py": "test_gpt_attention",
    "tests/test_gpt_transformer.py": "test_gpt_block_residual",
    "tests/test_sampling.py": "test_sampling_top_p",
    "tests/test_generation.py": "test_generate_greedy",
}


@pytest.fixture(autouse=True, scope="module")
def old_objects_left_alone() -> Iterator[None]:
    """Spare the hundreds of runs a look at all that was there before, at the end of each."""
    gc.freeze()
    yield
    gc.unfreeze()


class Missing(SuiteRun):
    """Finds the right variants of a problem that miss a comparison: no other can be accused."""

    def __init__(self, problem: str, seed: int) -> None:
        super().__init__(suite_of(checks_of(problem), seed), EXPECTED[seed])
        self.variants = [variant for variant in VARIANTS if variant.problem == problem]
        self.found: dict[str, Variant] = {}

    def case(self, item: pytest.Item) -> None:
        """Look at a case with each variant."""
        if "snapshot" not in getattr(item, "fixturenames", ()):
            return
        self.record(item)
        for variant in self.variants:
            observer = FirstWrong()
            self.run_with(item, LocalAdapters(partial(adapters_of, variant)), observer)
            if observer.seen is not None:
                self.found[variant.id] = variant


def results_of(make: Callable[[], Any], *problems: str, seed: int) -> list[CheckResult]:
    """What the grader says of all checks of some problems."""
    suite = suite_of(checks_of(*problems), seed)
    return judged(suite, LocalAdapters(make), EXPECTED[seed], scope=SCOPE)


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
def test_mistakes_together_are_each_named(names: tuple[str, ...]) -> None:
    """Each in a component of its own, at a fresh seed."""
    made = [BY_ID[name] for name in names]
    outcomes = results_of(
        partial(adapters_with, *made), *(mistake.problem for mistake in made), seed=7
    )
    told = {name for outcome in outcomes for name in outcome.mistakes}
    assert told >= set(names)


def test_a_mistake_that_draws_is_named() -> None:
    """What it draws depends on the check alone, and on nothing that was drawn before."""
    wrong = partial(adapters_with, BY_ID["dropout/kept_with_p"])
    outcomes = {outcome.name: outcome.mistakes for outcome in results_of(wrong, "dropout", seed=7)}
    assert outcomes["test_dropout"] == ("dropout/kept_with_p",)


def test_what_adapters_draw_starts_as_in_a_worker() -> None:
    """Torch's global generator starts from the check's name in every process."""
    check = ASSIGNMENT.checks["test_dropout_gradient"]
    seen: list[list[float]] = []
    drawing = SimpleNamespace(run_dropout=lambda *_: seen.append(torch.rand(3).tolist()))
    judged(suite_of([check]), LocalAdapters(lambda: drawing))
    generator = torch.Generator().manual_seed(zlib.crc32(check.name.encode()))
    assert seen[0] == torch.rand(3, generator=generator).tolist()


def test_a_wrong_part_explains_what_is_built_on_it() -> None:
    """The block is called right, in words that show no expected number."""
    wrong = partial(adapters_with, BY_ID["rope/half_split_pairs"])
    outcomes = results_of(wrong, "rope", "transformer_block", seed=3)
    block = next(o for o in outcomes if o.name == "test_transformer_block")
    assert block.mistakes == ("rope/half_split_pairs",)
    assert block.message.startswith(
        "Your transformer block is right, given your rotary position embedding: its output is what"
        " you get when feature i is paired with feature i + d/2.\n"
    )
    assert "expected " not in block.message


@pytest.mark.parametrize("seed", [0, 7])
def test_mistakes_are_named(seed: int) -> None:
    """At least 95 in 100; ``python -m grader_tests.confusion`` counts all problems."""
    rows = {name: row for problem in QUICK for name, row in confusion(problem, seed).items()}
    compared = {name: row for name, row in rows.items() if row.compared}
    silent = [name for name, row in compared.items() if not row.named]
    assert len(silent) <= 0.05 * len(compared), silent
    assert [name for name, row in compared.items() if row.misnamed] == []


@pytest.mark.parametrize("problem", ASSIGNMENT.rubric.problems)
def test_no_right_variant_is_accused(problem: str) -> None:
    """Not in a check without points either, which it may fail."""
    missing = Missing(problem, seed=7)
    missing.run()
    for variant in missing.found.values():
        for outcome in results_of(partial(adapters_of, variant), problem, seed=7):
            assert outcome.mistakes == (), outcome.message


def test_the_sentences_are_current() -> None:
    """What students are told is what the catalogue says; otherwise: make fingerprints."""
    catalogue = json.loads(sentences(__import__("known_mistakes")))
    assert json.loads((FINGERPRINTS / "mistakes.json").read_text(encoding="utf-8")) == catalogue


# The command that saves them does not take warnings for errors.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", SAMPLED)
def test_the_fingerprints_are_current(file: str) -> None:
    """A check's mistakes give what was saved; otherwise: make fingerprints."""
    check = ASSIGNMENT.checks[SAMPLED[file]]
    assert check.tier is not Tier.ADVICE
    made = fingerprints(ROOT, file, [check.name])
    module = file.removeprefix("tests/").removesuffix(".py")
    saved = FingerprintFile.read(FINGERPRINTS / f"{module}.npz")
    assert made.groups, "The check compares nothing."
    for key, groups in made.groups.items():
        for new, old in zip(groups, saved.groups[key], strict=True):
            assert new.mistakes.tolist() == old.mistakes.tolist()
            if new.alike.shape is None:
                assert np.array_equal(new.rows, old.rows)
            elif np.array_equal(new.alike.places, old.alike.places):
                # Elsewhere, rounding has led to other elements.
                new_numbers, old_numbers = (
                    rows.astype(np.float64) for rows in (new.rows, old.rows)
                )
                np.testing.assert_allclose(new_numbers, old_numbers, rtol=1e-3, atol=1e-3)


def test_fingerprints_take_little_room() -> None:
    """A student downloads them."""
    assert sum(path.stat().st_size for path in FINGERPRINTS.iterdir()) < 3_000_000
