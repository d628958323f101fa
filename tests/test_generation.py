"""Checks of generation: one token after the other, with models whose predictions are known."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

VOCABULARY, CONTEXT = 23, 16

Model = Callable[[Tensor], Tensor]
# No check has as many prompts.
MOST_ROWS = 1000
Rule = Callable[[list[int]], int]


def successor(window: list[int]) -> int:
    """Each token is followed by the next one in the vocabulary."""
    return (window[-1] + 1) % VOCABULARY


def mixture(window: list[int]) -> int:
    """A token that depends on each of those seen, on which is the first, and on how many."""
    return (5 * sum(window) + 3 * window[0] + len(window)) % VOCABULARY


def certain(rule: Rule, context: int = CONTEXT, sizes: list[int] | None = None) -> Model:
    """A model that is all but sure of what a rule says, at every position.

    Args:
        rule: from the tokens up to a position to the next one.
        context: the most tokens that the model takes.
        sizes: what the number of tokens is appended to at every call.
    """

    def model(ids: Tensor) -> Tensor:
        require_token_ids(ids, context)
        if sizes is not None:
            sizes.append(ids.shape[1])
        rows = ids.tolist()
        following = [[rule(row[: t + 1]) for t in range(len(row))] for row in rows]
        return 30.0 * functional.one_hot(torch.tensor(following), VOCABULARY).float()

    return model


def always(logits: Tensor) -> Model:
    """A model that predicts the same whatever came before."""

    def model(ids: Tensor) -> Tensor:
        require_token_ids(ids, CONTEXT)
        return logits.expand(*ids.shape, -1).clone()

    return model


def require_token_ids(ids: Tensor, context: int) -> None:
    """What a model is called with is as agreed."""
    assert isinstance(ids, Tensor), "Your function called the model with something but a tensor."
    assert ids.ndim == 2, f"The model takes (batch, T) token ids; yours have {tuple(ids.shape)}."
    assert not ids.is_floating_point(), f"The model takes integers, not {ids.dtype}."
    assert len(ids) <= MOST_ROWS, f"The model was given {len(ids):,} sequences: where from?"
    assert 1 <= ids.shape[1] <= context, (
        f"The model was given {ids.shape[1]} tokens, where the context is {context}."
    )


def generated(
    adapters: Any, model: Model, ids: Tensor, count: int, context: int = CONTEXT, **options: Any
) -> list[list[int]]:
    """The new token ids of each sequence, which may have come as lists or as tensors."""
    result = adapters.run_generate(model, ids, count, context, **options)
    assert isinstance(result, list | tuple | Tensor), "A list of lists of token ids is expected."
    rows = [row.tolist() if isinstance(row, Tensor) else row for row in result]
    assert all(isinstance(row, list | tuple) for row in rows), "One of your sequences is no list."
    return [[int(id_) for id_ in row] for row in rows]


def first_generated(
    adapters: Any, model: Model, ids: Tensor, count: int, context: int = CONTEXT, **options: Any
) -> list[list[int]]:
    """The first new token ids, with room for more: how many there are is for other checks."""
    rows = generated(adapters, model, ids, count + 1, context, **options)
    return [row[:count] for row in rows]


def continuations(rule: Rule, prompts: Tensor, count: int, context: int) -> list[list[int]]:
    """What a rule makes of each prompt."""
    rows: list[list[int]] = prompts.tolist()
    for row in rows:
        for _ in range(count):
            row.append(rule(row[-context:]))
    return [row[prompts.shape[1] :] for row in rows]


def test_generate_greedy(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """At temperature 0, takes the likeliest token each time and gives the new tokens alone."""
    for rule in (successor, mixture):
        prompts = draw.integers(3, 5, high=VOCABULARY)
        found = generated(adapters, certain(rule), prompts, 7, temperature=0.0)
        expected = continuations(rule, prompts, 7, CONTEXT)
        snapshot.assert_close(found, expected, f"each token a {rule.__name__}")
    # All but alike: drawn, the likeliest would hardly come each time.
    logits = torch.zeros(VOCABULARY).index_fill(0, draw.permutation(VOCABULARY)[:1], 0.1)
    found = generated(adapters, always(logits), prompts, 7, temperature=0.0)
    snapshot.assert_close(found, [[int(logits.argmax())] * 7] * 3, "the likeliest by little")


def test_generate_one_row(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes a batch of one and a prompt of one token as well."""
    for shape in [(1, 4), (3, 1), (1, 1)]:
        prompts = draw.integers(*shape, high=VOCABULARY)
        found = generated(adapters, certain(mixture), prompts, 5, temperature=0.0)
        expected = continuations(mixture, prompts, 5, CONTEXT)
        snapshot.assert_close(found, expected, f"prompts of shape {shape}")


def test_generate_context(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Shows the model the last tokens only, as many as the context has, once there are more."""
    for length, context in [(3, 6), (6, 6), (9, 6), (4, 1)]:
        prompts = draw.integers(3, length, high=VOCABULARY)
        model = certain(mixture, context)
        found = first_generated(adapters, model, prompts, 8, context, temperature=0.0)
        expected = continuations(mixture, prompts, 8, context)
        name = f"prompts of {length} tokens, context of {context}"
        snapshot.assert_close(found, expected, name)


def test_generate_end_of_text(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Ends each sequence by itself with the end of text, the last token that it is given."""
    prompts = draw.integers(3, 4, high=VOCABULARY)
    prompts[:, -1] = torch.tensor([3, 7, 15])
    model = certain(successor)
    found = first_generated(adapters, model, prompts, 10, temperature=0.0, end_of_text=9)
    expected = [[4, 5, 6, 7, 8, 9], [8, 9], [16, 17, 18, 19, 20, 21, 22, 0, 1, 2]]
    snapshot.assert_close(found, expected)


def test_generate_end_of_text_in_the_prompt(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Goes on where the prompt holds the end of text, or ends with it."""
    prompts = draw.integers(2, 4, high=VOCABULARY)
    prompts[0], prompts[1, -1] = torch.tensor([9, 2, 9, 4]), 9
    model = certain(successor)
    found = generated(adapters, model, prompts, 3, temperature=0.0, end_of_text=9)
    snapshot.assert_close(found, [[5, 6, 7], [10, 11, 12]])


def test_generate_end_of_text_zero(adapters: Any, snapshot: Snapshot) -> None:
    """Takes 0 for an end of text like any other token, and no end of text for none."""
    prompts = torch.tensor([[3, VOCABULARY - 2]])
    last = VOCABULARY - 1
    for end_of_text, expected in [(0, [[last, 0]]), (None, [[last, 0, 1, 2]])]:
        model = certain(successor)
        found = generated(adapters, model, prompts, 4, temperature=0.0, end_of_text=end_of_text)
        snapshot.assert_close(found, expected, f"end_of_text={end_of_text}")


def test_generate_how_many(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives as many new tokens as asked for, none where that is 0."""
    prompts = draw.integers(3, 5, high=VOCABULARY)
    for count in (1, 0):
        found = generated(adapters, certain(successor), prompts, count, temperature=0.0)
        expected = continuations(successor, prompts, count, CONTEXT)
        snapshot.assert_close(found, expected, f"max_new_tokens={count}")


def test_generate_certain(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Is greedy where the limits leave one token, whatever the temperature and the seed."""
    prompts = draw.integers(3, 5, high=VOCABULARY)
    expected = continuations(mixture, prompts, 6, CONTEXT)
    limits: list[dict[str, Any]] = [
        {"top_k": 1, "temperature": 20.0},
        {"top_p": 1e-3, "temperature": 5.0},
    ]
    for options in limits:
        for seed in (1, 2):
            found = generated(adapters, certain(mixture), prompts, 6, seed=seed, **options)
            snapshot.assert_close(found, expected, f"{options}, seed={seed}")


PROBABILITIES = [0.35, 0.25, 0.15, 0.12, 0.08, 0.05]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        pytest.param({}, 6, id="plain"),
        pytest.param({"temperature": 0.5}, 6, id="temperature"),
        pytest.param({"temperature": 1.5, "top_k": 3}, 3, id="top_k"),
        pytest.param({"top_p": 0.7}, 3, id="top_p"),
        pytest.param({"temperature": 1.4, "top_k": 4, "top_p": 0.75}, 3, id="all"),
    ],
)
def test_generate_draws(adapters: Any, draw: Draws, options: dict[str, Any], left: int) -> None:
    """Draws each token of each sequence by itself, as often as the distribution says."""
    sequences, count = 300, 8
    likeliest = torch.tensor(PROBABILITIES, dtype=torch.float64)
    places = draw.permutation(6)
    logits = torch.empty(6).scatter(0, places, likeliest.log().float())
    prompts, seed = draw.integers(1, 3, high=6).repeat(sequences, 1), draw.choice(range(1000))
    rows = first_generated(adapters, always(logits), prompts, count, seed=seed, **options)
    assert [len(row) for row in rows] == [count] * sequences, f"{count} new tokens are expected."
    assert set(itertools.chain(*rows)) <= set(range(6)), "A drawn id is not in the vocabulary."
    ranked = likeliest ** (1 / options.get("temperature", 1.0)) * (torch.arange(6) < left)
    expected = sequences * count * ranked / ranked.sum()
    counts = torch.bincount(torch.tensor(rows).flatten(), minlength=6)[places].double()
    assert (counts[left:] == 0).all(), "A token was drawn whose probability is 0."
    distances = (counts - expected).square()[:left] / expected[:left]
    # Pearson's statistic of five degrees of freedom: by chance, once in 10^12 runs.
    assert distances.sum() < 65, "The tokens that are drawn do not follow the distribution."
    distinct = len({tuple(row) for row in rows})
    assert distinct > sequences / 3, f"Of {sequences} sequences, only {distinct} are different."
    repeats = sum(a == b for row in rows for a, b in itertools.pairwise(row))
    assert repeats < 0.6 * sequences * (count - 1), (
        "Most of your tokens repeat the one before them."
    )


def test_generate_seed(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Repeats with the same seed what it drew, and draws something else with another."""
    prompts, likely = draw.integers(3, 4, high=VOCABULARY), draw.permutation(VOCABULARY)[:12]
    model = always(torch.zeros(VOCABULARY).index_fill(0, likely, 50.0))
    first, other, again = (generated(adapters, model, prompts, 10, seed=seed) for seed in (5, 6, 5))
    assert set(itertools.chain(*first)) <= set(likely.tolist()), (
        "Your function drew a token whose probability is nearly 0."
    )
    snapshot.assert_close(again, first, "tokens drawn with the same seed")
    assert first != other, "Another seed drew the same tokens."


def test_generate_seed_zero(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes 0 for a seed like any other number."""
    prompts, model = draw.integers(3, 4, high=VOCABULARY), always(torch.zeros(VOCABULARY))
    first, again = (generated(adapters, model, prompts, 10, seed=0) for _ in range(2))
    assert [len(row) for row in first] == [10] * 3, "Ten new tokens for each sequence are expected."
    snapshot.assert_close(again, first, "tokens drawn with the same seed")


def test_generate_without_seed(
    adapters: Any, snapshot: Snapshot, draw: Draws, manual_seed: Callable[[int], object]
) -> None:
    """Draws from torch's global generator where no seed is given."""
    prompts, model = draw.integers(3, 4, high=VOCABULARY), always(torch.zeros(VOCABULARY))
    manual_seed(5)
    first = generated(adapters, model, prompts, 10)
    other = generated(adapters, model, prompts, 10)
    manual_seed(5)
    again = generated(adapters, model, prompts, 10)
    snapshot.assert_close(again, first, "tokens drawn from the same state")
    assert first != other, "Two calls in a row drew the same tokens."


def test_generate_arguments(adapters: Any, draw: Draws) -> None:
    """Leaves the prompt as it was."""
    prompts = draw.integers(3, 5, high=VOCABULARY)
    before = prompts.clone()
    rows = generated(adapters.as_given, certain(successor), prompts, 4, temperature=0.0)
    assert len(rows) == 3, "A list for each sequence is expected."
    assert torch.equal(prompts, before), "Your function changed the prompt."


def test_generate_stops(adapters: Any) -> None:
    """Calls the model no more once all sequences have ended."""
    sizes: list[int] = []
    prompts = torch.tensor([[1, 4], [2, 6]])
    model = certain(successor, CONTEXT, sizes)
    rows = generated(adapters, model, prompts, 12, temperature=0.0, end_of_text=8)
    assert rows == [[5, 6, 7, 8], [7, 8]], (
        "Each sequence must end with its first end of text; yours do not."
    )
    assert len(sizes) <= 6, f"The model was called {len(sizes)} times for sequences of 4 and 2."
