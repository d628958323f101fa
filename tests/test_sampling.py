"""Checks of the distribution that the next token is drawn from."""

from typing import Any

import pytest
import torch
from torch import Tensor

from cs336_checks.comparison import assert_refuses, is_finite
from cs336_checks.draws import Draws
from cs336_checks.properties import assert_leaves_arguments
from cs336_checks.snapshots import Snapshot

# So many tokens are in the vocabulary.
SIZE = 9


class Ranked:
    """Distributions whose order is known because it was chosen, in rows of shuffled tokens.

    Attributes:
        likeliest: (3, SIZE), each row's probabilities from the largest to the smallest.
        places: (3, SIZE), the token that each of them belongs to.
    """

    def __init__(self, draw: Draws) -> None:
        # Each token is at least 1.3 times as likely as the next one.
        steps = draw.uniform(3, SIZE, low=1.3, high=1.8, dtype=torch.float64)
        likeliest = 1 / steps.cumprod(-1)
        self.likeliest = likeliest / likeliest.sum(-1, keepdim=True)
        self.places = torch.stack([draw.permutation(SIZE) for _ in range(3)])
        self.shift = draw.normal(3, 1, scale=3.0, dtype=torch.float64)

    def logits(self) -> Tensor:
        """Logits of the distributions; what is added to a row changes nothing."""
        return self.placed(self.likeliest.log() + self.shift)

    def placed(self, ranked: Tensor) -> Tensor:
        """Numbers in order of likelihood, each where its token is."""
        return torch.zeros(3, SIZE).scatter(-1, self.places, ranked.float())

    def kept(self, *counts: int, temperature: float = 1.0) -> Tensor:
        """The distributions of the likeliest tokens of each row alone, so many as is said."""
        ranked = self.likeliest ** (1 / temperature)
        ranked = ranked * (torch.arange(SIZE) < torch.tensor(counts).view(-1, 1))
        return self.placed(ranked / ranked.sum(-1, keepdim=True))

    def reaching(self, row: int, count: int, temperature: float = 1.0, out_of: int = SIZE) -> float:
        """A probability that so many tokens of the row reach together, and one fewer do not."""
        ranked = self.likeliest[row, :out_of] ** (1 / temperature)
        sums = (ranked / ranked.sum()).cumsum(0)
        below = sums[count - 2] if count > 1 else 0.0
        return float(below + sums[count - 1]) / 2


def test_sampling_temperature(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Divides the logits by the temperature before the softmax."""
    for temperature in (1.0, 0.5, 2.0):
        ranked = Ranked(draw)
        y = adapters.run_next_token_probabilities(ranked.logits(), temperature)
        expected = torch.softmax(ranked.logits().double() / temperature, -1).float()
        snapshot.assert_close(y, expected, f"temperature={temperature}", atol=1e-5)


def test_sampling_default(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Is the softmax of the logits where nothing else is asked for."""
    ranked = Ranked(draw)
    y = adapters.run_next_token_probabilities(ranked.logits())
    snapshot.assert_close(y, ranked.kept(SIZE), atol=1e-5)


def test_sampling_greedy(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives everything to the likeliest token at temperature 0."""
    ranked = Ranked(draw)
    y = adapters.run_next_token_probabilities(ranked.logits(), temperature=0.0)
    snapshot.assert_close(y, ranked.kept(1), atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_sampling_top_k(adapters: Any, snapshot: Snapshot, draw: Draws, k: int) -> None:
    """Keeps the k likeliest tokens and makes their probabilities sum to 1."""
    ranked = Ranked(draw)
    y = adapters.run_next_token_probabilities(ranked.logits(), top_k=k)
    snapshot.assert_close(y, ranked.kept(k), atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_sampling_top_p(adapters: Any, snapshot: Snapshot, draw: Draws, count: int) -> None:
    """Keeps the likeliest tokens up to the one with which they reach p, and rescales them."""
    ranked = Ranked(draw)
    for row in range(3):
        p = ranked.reaching(row, count)
        y = adapters.run_next_token_probabilities(ranked.logits()[row], top_p=p)
        name = f"row {row}, top_p for {count} tokens"
        snapshot.assert_close(y, ranked.kept(count)[row], name, atol=1e-5)


def test_sampling_top_p_by_row(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps in each row as many tokens as that row needs."""
    ranked = Ranked(draw)
    # One token of the first row has p, three of the second, six of the third.
    weights = torch.tensor([[90.0, 1, 1, 1, 1, 1, 1, 1, 1], [30] * 3 + [1] * 6, [15] * 6 + [1] * 3])
    slope = torch.linspace(1.04, 1.0, SIZE, dtype=torch.float64)
    ranked.likeliest = weights.double() * slope / (weights * slope).sum(-1, keepdim=True)
    y = adapters.run_next_token_probabilities(ranked.logits(), top_p=0.85)
    snapshot.assert_close(y, ranked.kept(1, 3, 6), atol=1e-5)


def test_sampling_combined(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Applies the temperature first, then top-k, then top-p to what top-k has left."""
    for temperature, k, count in [(2.0, 5, 3), (0.6, 6, 2), (1.5, 7, 6), (3.0, 3, 3)]:
        ranked = Ranked(draw)
        for row in range(3):
            p = ranked.reaching(row, count, temperature, out_of=k)
            y = adapters.run_next_token_probabilities(ranked.logits()[row], temperature, k, p)
            expected = ranked.kept(count, temperature=temperature)[row]
            name = f"temperature={temperature}, top_k={k}, top_p for {count} tokens"
            snapshot.assert_close(y, expected, f"row {row}, {name}", atol=1e-5)


def test_sampling_unlimited(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps every token where top-p is 1 and top-k is as large as the vocabulary or larger."""
    ranked = Ranked(draw)
    for limits in ({"top_p": 1.0}, {"top_k": SIZE}, {"top_k": 50}, {"top_k": SIZE, "top_p": 1.0}):
        y = adapters.run_next_token_probabilities(ranked.logits(), **limits)
        snapshot.assert_close(y, ranked.kept(SIZE), f"{limits}", atol=1e-5)


def test_sampling_one_survives(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps the likeliest token however small top-p is."""
    ranked = Ranked(draw)
    for limits in ({"top_p": 1e-6}, {"top_k": 1, "top_p": 1e-6}, {"top_k": 3, "top_p": 1e-6}):
        y = adapters.run_next_token_probabilities(ranked.logits(), **limits)
        snapshot.assert_close(y, ranked.kept(1), f"{limits}", atol=1e-6)


def test_sampling_impossible_tokens(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives 0 to tokens whose logit is minus infinity, whatever the limits."""
    ranked = Ranked(draw)
    # The four likeliest are possible.
    logits = ranked.logits().where(ranked.kept(4) > 0, -torch.inf)
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, 4),
        ({"temperature": 0.0}, 1),
        ({"top_k": 6}, 4),
        ({"top_k": 2}, 2),
        ({"top_p": 0.9999}, 4),
        ({"top_p": 1.0}, 4),
        ({"temperature": 0.7, "top_k": 7, "top_p": 1e-6}, 1),
    ]
    for options, count in cases:
        y = adapters.run_next_token_probabilities(logits, **options)
        assert is_finite(y), f"Your output has NaN or infinity with {options or 'no options'}."
        snapshot.assert_close(y, ranked.kept(count), f"{options}", atol=1e-5)


def test_sampling_ties(adapters: Any, snapshot: Snapshot) -> None:
    """Breaks ties: greedily the first of the largest wins, with top-k none that is less likely."""
    logits = torch.tensor([[0.0, 3.0, 1.0, 3.0, 3.0], [2.0, 2.0, 2.0, 2.0, 2.0]])
    y = adapters.run_next_token_probabilities(logits, temperature=0.0)
    expected = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    snapshot.assert_close(y, expected, "temperature=0", atol=1e-6)
    y = adapters.run_next_token_probabilities(logits[0], top_k=2)
    all_three = torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0]) / 3
    # The text does not say whether what is just as likely as the last one kept is kept as well.
    two_of_them = [
        torch.zeros(5).index_fill(0, torch.tensor(pair), 0.5) for pair in ([1, 3], [1, 4], [3, 4])
    ]
    snapshot.assert_close(y, all_three, "top_k=2", alternatives=tuple(two_of_them), atol=1e-5)


def test_sampling_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes logits with any number of dimensions before the last."""
    ranked = Ranked(draw)
    p = ranked.reaching(0, 3)
    expected = ranked.kept(3)[0]
    for leading in [(), (1,), (2, 1), (2, 3, 4)]:
        logits = ranked.logits()[0].expand(*leading, SIZE)
        y = adapters.run_next_token_probabilities(logits, top_k=SIZE, top_p=p)
        name = f"logits of shape {tuple(logits.shape)}"
        snapshot.assert_close(y, expected.expand(*leading, SIZE), name, atol=1e-5)


def test_sampling_far_apart(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives finite numbers where a row's logits are large, and far from those of another row."""
    ranked = Ranked(draw)
    logits = ranked.logits() + torch.tensor([[0.0], [-300.0], [500.0]])
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, SIZE),
        ({"top_k": 4}, 4),
        ({"temperature": 1e-3}, 1),
    ]
    for options, count in cases:
        y = adapters.run_next_token_probabilities(logits, **options)
        assert is_finite(y), f"Your output has NaN or infinity with {options or 'no options'}."
        # A logit of 500 is known to 3e-5 in float32.
        snapshot.assert_close(y, ranked.kept(count), f"{options}", atol=1e-3, rtol=1e-3)


def test_sampling_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves the logits as they were and gives the same result when called again."""
    for options in ((0.0,), (0.7,), (0.7, 4), (0.7, None, 0.6)):
        assert_leaves_arguments(
            snapshot,
            lambda logits, options=options: adapters.as_given.run_next_token_probabilities(
                logits, *options
            ),
            Ranked(draw).logits(),
        )


def test_sampling_exact_sums(adapters: Any, snapshot: Snapshot) -> None:
    """Keeps no more tokens than needed where they have probability p to the last digit."""
    logits = torch.zeros(4)
    for p, count in [(0.25, 1), (0.5, 2), (0.75, 3)]:
        y = adapters.run_next_token_probabilities(logits, top_p=p)
        kept = int((y > 0).sum())
        assert kept == count, f"Of four tokens of 0.25 each, {kept} are kept where p is {p}."
        snapshot.assert_close(y.sum(), torch.tensor(1.0), f"sum, top_p={p}", atol=1e-6)


def test_sampling_refuses(adapters: Any, draw: Draws) -> None:
    """Refuses a temperature below 0, a top-k below 1 and a top-p above 1 with an exception."""
    logits = Ranked(draw).logits()
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"temperature": 1.0}, {"temperature": -1.0}),
        ({"top_k": 1}, {"top_k": 0}),
        ({"top_p": 0.5}, {"top_p": 1.5}),
    ]
    for allowed, refused in cases:
        assert_refuses(
            lambda options: adapters.run_next_token_probabilities(logits, **options),
            allowed,
            refused,
            f"{refused}",
        )
