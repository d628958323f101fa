"""Mistakes are named at a fresh seed and by the saved fingerprints; what is right never is."""

import gc
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from correct_variants import VARIANTS
from correct_variants import adapters_with as adapters_of
from cs336_checks.catalogue import Variant
from cs336_checks.fingerprints import FingerprintFile
from cs336_grader.audit.fingerprints import Digests, fingerprints, sentences, suspected
from cs336_grader.audit.fingerprints import known_mistakes as known_mistakes_of
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
# Checks of different kinds, whose fingerprints are made again: that digests tell all is seen there.
SAMPLED = (
    "test_rmsnorm",
    "test_attention",
    "test_adamw",
    "test_encode_merge_order",
    "test_layer_norm",
)


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
        " you get when feature i is paired with feature i + d/2."
    )
    assert "expected " not in block.message + block.details


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


def test_no_fingerprint_is_outdated() -> None:
    """No source has changed since they were made; otherwise: make fingerprints."""
    known = known_mistakes_of(ASSIGNMENT)
    now, saved = Digests.now(ASSIGNMENT, known), Digests.saved(FINGERPRINTS)
    assert now.outdated(ASSIGNMENT, known, saved) == {}, "Run: make fingerprints"
    assert now == saved, "Run: make fingerprints"


# The command that saves them does not take warnings for errors.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLED)
def test_fingerprints_are_made_again_in_the_same_way(name: str) -> None:
    """A check's mistakes give what was saved; otherwise: make fingerprints ARGS=--all."""
    check = ASSIGNMENT.checks[name]
    wanted = {name: set(suspected(ASSIGNMENT, known_mistakes_of(ASSIGNMENT), check.problem))}
    made = fingerprints(ROOT, check.file, wanted)
    saved = FingerprintFile.read(FINGERPRINTS / f"{Path(check.file).stem}.npz")
    assert made, "The check compares nothing."
    for key, groups in made.items():
        new = {mistake: print_ for group in groups for mistake, print_ in group.prints()}
        old = dict(saved.prints(*key))
        assert new.keys() == old.keys()
        for mistake, print_ in new.items():
            assert print_.digest == old[mistake].digest
            if np.array_equal(print_.places, old[mistake].places):
                # Elsewhere, rounding has led to other elements.
                np.testing.assert_allclose(
                    print_.numbers, old[mistake].numbers, rtol=1e-3, atol=1e-3
                )


def test_fingerprints_take_little_room() -> None:
    """A student downloads them."""
    assert sum(path.stat().st_size for path in FINGERPRINTS.iterdir()) < 3_000_000
