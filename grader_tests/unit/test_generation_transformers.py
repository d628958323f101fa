"""Sampling beside the logits processors of transformers."""

import importlib
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from cs336_basics.generation import next_token_probabilities

NUM_CASES = 200
TEMPERATURES = (0.05, 0.3, 0.7, 1.0, 1.7, 10.0)
TOP_PS = (None, 0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0)


class Case(NamedTuple):
    """Logits (rows, vocab_size), and how to draw from them."""

    logits: Tensor
    temperature: float
    top_k: int | None
    top_p: float | None


def drawn_case(number: int) -> Case:
    """A case of its number: one in three has ties, one in three exact borders, many have -inf."""
    random = np.random.default_rng(number)
    vocab_size = int(random.integers(1, 40))
    logits = torch.from_numpy(random.normal(0, 2, (3, vocab_size))).float()
    temperature = float(random.choice(TEMPERATURES))
    if number % 3 == 1:
        logits = logits.round()
    elif number % 3 == 2:
        # 1/2, 1/4, 1/8 … and the last one twice, in any order: sums of them are exact borders.
        exponents = torch.arange(1, vocab_size + 1).clamp(max=max(1, min(vocab_size - 1, 12)))
        logits = -math.log(2) * exponents[torch.from_numpy(random.permutation(vocab_size))][None]
        temperature = 1.0
    if number % 2:
        forbidden = torch.from_numpy(random.random(logits.shape) < 0.3)
        forbidden[:, int(random.integers(vocab_size))] = False
        logits = logits.masked_fill(forbidden, -math.inf)
    ks = (None, 1, 2, 5, vocab_size - 1, vocab_size, vocab_size + 1, int(random.integers(1, 40)))
    top_k = ks[int(random.integers(len(ks)))] or None
    top_p = TOP_PS[int(random.integers(len(TOP_PS)))]
    return Case(logits, temperature, top_k, top_p)


@pytest.fixture(scope="module")
def processors() -> Any:
    """The module of processors, which takes seconds to import, for these tests alone."""
    return importlib.import_module("transformers.generation.logits_process")


def expected(processors: Any, case: Case) -> Tensor:
    """What the processors give, one after the other."""
    chain = [processors.TemperatureLogitsWarper(case.temperature)]
    if case.top_k is not None:
        chain.append(processors.TopKLogitsWarper(case.top_k))
    if case.top_p is not None:
        chain.append(processors.TopPLogitsWarper(case.top_p))
    # In float64, in which sums at a border are as exact as ours.
    scores = case.logits.double()
    for processor in chain:
        scores = processor(None, scores)
    return torch.softmax(scores, dim=-1).float()


@pytest.mark.parametrize("number", range(NUM_CASES))
def test_the_distribution_is_that_of_the_processors(processors: Any, number: int) -> None:
    """Token by token; where p cuts between equally likely ones, in which of them stay excepted."""
    case = drawn_case(number)
    ours, theirs = next_token_probabilities(*case), expected(processors, case)
    torch.testing.assert_close(ours.sort().values, theirs.sort().values, atol=1e-6, rtol=1e-5)
    same = torch.isclose(ours, theirs, atol=1e-6, rtol=1e-5)
    for row, row_same in zip(case.logits, same, strict=True):
        # All that differ are equally likely: there p cut, and we keep the first, they the last.
        assert len(row[~row_same].unique()) <= 1


def test_the_cases_have_what_they_are_for() -> None:
    """Every temperature, every p, k below, at and above the vocabulary, ties and -inf."""
    cases = [drawn_case(number) for number in range(NUM_CASES)]
    assert {case.temperature for case in cases} == set(TEMPERATURES)
    assert {case.top_p for case in cases} == set(TOP_PS)
    ks = [(case.top_k, case.logits.shape[-1]) for case in cases if case.top_k is not None]
    assert {(k > size) - (k < size) for k, size in ks} == {-1, 0, 1}
    assert sum(bool(case.logits.isinf().any()) for case in cases) > 50
    assert sum(any(len(row.unique()) < len(row) for row in case.logits) for case in cases) > 50
