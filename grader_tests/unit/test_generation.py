"""Generation: what the distribution keeps, how sequences end, caches, and what is refused."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cs336_basics.generation import (
    GenerationConfig,
    generate,
    generate_steps,
    next_token_probabilities,
)
from cs336_basics.gpt import GPT
from cs336_basics.model import DecoderLM, TransformerLM

SIZES: dict[str, Any] = {
    "vocab_size": 23,
    "context_length": 8,
    "d_model": 12,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 20,
}
PROMPTS = torch.tensor([[1, 2], [3, 4], [5, 6]])
# Few different numbers, so that ties are common.
LOGITS = st.lists(
    st.sampled_from([-math.inf, -1.5, 0.0, 0.25, 2.0]), min_size=1, max_size=9
).filter(lambda logits: max(logits) > -math.inf)
KEPT = {"top_k": st.none() | st.integers(1, 10), "top_p": st.none() | st.floats(0, 1)}


def models() -> list[DecoderLM]:
    """One of each kind, of both families, in training and with weights that matter."""
    torch.manual_seed(0)
    kinds: list[DecoderLM] = [
        GPT(**SIZES, dropout=0.5),
        GPT(**SIZES, positions="sinusoidal", tie_weights=False),
        TransformerLM(**SIZES, rope_theta=100.0),
    ]
    with torch.no_grad():
        for model in kinds:
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return kinds


def config(**options: Any) -> GenerationConfig:
    """Twenty new tokens, which is more than the context, as the options say."""
    return GenerationConfig(**{"max_new_tokens": 20} | options)


def counting(token_ids: Tensor) -> Tensor:
    """A model that is sure that every number is followed by the next one, modulo ten."""
    return 100.0 * torch.nn.functional.one_hot((token_ids + 1) % 10, 10).float()


@given(logits=LOGITS, temperature=st.floats(0, 5), **KEPT)
@settings(max_examples=200, deadline=None)
def test_a_distribution_is_one(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> None:
    """It sums to 1, keeps a likeliest token, and never orders tokens otherwise than logits do."""
    row = torch.tensor(logits)
    p = next_token_probabilities(row, temperature, top_k, top_p)
    assert p.sum().item() == pytest.approx(1.0, abs=1e-6)
    assert p[row.argmax()] > 0
    assert not p[row == -math.inf].any()
    assert all(p[i] >= p[j] for i in range(len(p)) for j in range(len(p)) if row[i] > row[j])
    if temperature == 0:
        assert p[row.argmax()] == 1


@given(logits=LOGITS, temperature=st.floats(0.1, 5))
@settings(max_examples=50, deadline=None)
def test_what_keeps_all_changes_nothing(logits: list[float], temperature: float) -> None:
    """A k at or above the vocabulary and a p of 1 are as good as none."""
    row = torch.tensor(logits)
    expected = torch.softmax(row / temperature, dim=0)
    for top_k in (None, len(logits), len(logits) + 1, 10**9):
        for top_p in (None, 1, 1.0):
            p = next_token_probabilities(row, temperature, top_k, top_p)
            torch.testing.assert_close(p, expected)


@given(logits=LOGITS, shift=st.floats(-1e4, 1e4), **KEPT)
@settings(max_examples=50, deadline=None)
def test_a_row_stands_for_itself(
    logits: list[float], shift: float, top_k: int | None, top_p: float | None
) -> None:
    """A constant added to all logits changes nothing, nor do other rows."""
    row = torch.tensor(logits, dtype=torch.float64)
    alone = next_token_probabilities(row, 0.7, top_k, top_p)
    rows = torch.stack([row.flip(0), row + 256 * round(shift / 256), row])
    together = next_token_probabilities(rows[:, None], 0.7, top_k, top_p)
    assert together.shape == (3, 1, len(logits))
    torch.testing.assert_close(together[1, 0], alone)
    torch.testing.assert_close(together[2, 0], alone)


def test_the_order_is_temperature_then_k_then_p() -> None:
    """Numbers for which any other order keeps other tokens."""
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    # The three likeliest are 4/9, 3/9 and 2/9 among themselves: two of them reach 0.75.
    p = next_token_probabilities(logits, top_k=3, top_p=0.75)
    torch.testing.assert_close(p, torch.tensor([4 / 7, 3 / 7, 0.0, 0.0]))
    # At temperature 1/2 they are 16, 9, 4 and 1 thirtieths: the first alone reaches 0.5.
    p = next_token_probabilities(logits, temperature=0.5, top_p=0.5)
    torch.testing.assert_close(p, torch.tensor([1.0, 0.0, 0.0, 0.0]))


def test_borders_and_ties() -> None:
    """What reaches p stays; ties with the k-th stay; of ties at p the first come first."""
    logits = torch.tensor([0.125, 0.5, 0.25, 0.125]).log()
    for top_p, kept in ((0.0, [1]), (0.5, [1]), (0.51, [1, 2]), (0.75, [1, 2]), (0.8, [0, 1, 2])):
        p = next_token_probabilities(logits, top_p=top_p)
        assert p.nonzero().flatten().tolist() == kept, top_p
    for top_k, kept in ((1, [1]), (2, [1, 2]), (3, [0, 1, 2, 3])):
        p = next_token_probabilities(logits, top_k=top_k)
        assert p.nonzero().flatten().tolist() == kept, top_k
    p = next_token_probabilities(torch.tensor([1.0, 3.0, 3.0]), temperature=0)
    assert p.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("temperature", [1e-300, 1e-40, 1e-8])
def test_a_tiny_temperature_is_nearly_greedy(temperature: float) -> None:
    """Nothing overflows on the way to temperature 0."""
    p = next_token_probabilities(torch.tensor([1.0, 3.0, 2.0, -math.inf]), temperature)
    assert p.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_half_precision_gives_float32() -> None:
    """Probabilities of half-precision logits are worth more than half precision."""
    logits = torch.randn(50, generator=torch.Generator().manual_seed(0)).half()
    p = next_token_probabilities(logits, top_k=20)
    assert p.dtype == torch.float32
    assert p.sum().item() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, "temperature = -0.1"),
        ({"temperature": math.nan}, "temperature = nan"),
        ({"temperature": math.inf}, "temperature = inf"),
        ({"top_k": 0}, "top_k = 0"),
        ({"top_k": 2.5}, "top_k = 2.5"),
        ({"top_k": -3}, "top_k = -3"),
        ({"top_p": -0.1}, "top_p = -0.1"),
        ({"top_p": 1.1}, "top_p = 1.1"),
        ({"top_p": math.nan}, "top_p = nan"),
    ],
)
def test_sampling_that_makes_no_sense_is_named(options: dict[str, Any], message: str) -> None:
    """Both the distribution and the whole generation refuse it, the latter before any token."""
    with pytest.raises(ValueError, match=message):
        next_token_probabilities(torch.zeros(3), **options)
    with pytest.raises(ValueError, match=message):
        config(**options)


@pytest.mark.parametrize("logits", [[math.nan, 1.0], [math.inf, 1.0], [-math.inf, -math.inf]])
def test_logits_that_are_no_distribution_are_refused(logits: list[float]) -> None:
    """One such row among others is enough."""
    for temperature in (0.0, 1.0):
        with pytest.raises(ValueError, match="largest logit of each row must be finite"):
            next_token_probabilities(torch.tensor([[0.0, 1.0], logits]), temperature)


def test_drawn_tokens_follow_the_distribution() -> None:
    """χ² of 20,000 tokens at a fixed seed: below its 99.9th percentile for 5 free numbers."""
    logits = torch.tensor([0.0, 1.0, -1.0, 0.5, 2.0, -math.inf, 0.25])
    options: dict[str, Any] = {"temperature": 0.8, "top_k": 6, "top_p": 0.999}
    drawn = generate(
        lambda ids: logits.expand(*ids.shape, 7),
        torch.zeros(20_000, 1, dtype=torch.int64),
        GenerationConfig(max_new_tokens=1, context_length=1, seed=0, **options),
    )
    counts = torch.tensor(drawn).flatten().bincount(minlength=7)
    expected = 20_000 * next_token_probabilities(logits, **options)
    possible = expected > 0
    assert possible.sum() == 6
    assert not counts[~possible].any()
    chi_squared = ((counts - expected).square() / expected)[possible].sum().item()
    assert chi_squared < 20.52


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0},
        {"seed": 1},
        {"seed": 2, "temperature": 0.7, "top_k": 9, "top_p": 0.9},
        {"seed": 3, "context_length": 5},
        {"seed": 4, "end_of_text": 4},
        {"seed": 5, "max_new_tokens": 1},
    ],
)
def test_a_cache_changes_no_token(kind: int, options: dict[str, Any]) -> None:
    """With and without a cache the tokens are the same, also after the window has slid."""
    model = models()[kind]
    with_cache = generate(model, PROMPTS, config(**options))
    assert with_cache == generate(model, PROMPTS, config(**options, use_cache=False))
    assert with_cache == generate(model, PROMPTS, config(**options))
    # The same window, seen by something that is only known to be callable.
    window = {"context_length": 8} | options
    forward = model.eval().forward
    assert with_cache == generate(forward, PROMPTS, config(**window))


def test_a_cache_saves_work() -> None:
    """Until the window slides, each step computes one position."""
    model, lengths = models()[0], []
    model.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].shape[1]))
    generate(model, PROMPTS, config(max_new_tokens=9))
    assert lengths == [2, 1, 1, 1, 1, 1, 1, 8, 8]


def test_generation_leaves_the_model_in_training_as_it_was() -> None:
    """Dropout is off while tokens are chosen, and each part's mode is what it was before."""
    model = models()[0]
    model.layers[0].eval()
    modes = [module.training for module in model.modules()]
    first = generate(model, PROMPTS, config(temperature=0))
    assert first == generate(model, PROMPTS, config(temperature=0))
    assert [module.training for module in model.modules()] == modes
    assert any(modes)
    assert not all(modes)


def test_a_seed_repeats_and_none_uses_the_global_generator() -> None:
    """Neither greedy nor seeded generation touches the global generator."""
    model = models()[2]
    before = torch.get_rng_state()
    generate(model, PROMPTS, config(temperature=0))
    assert generate(model, PROMPTS, config(seed=7)) == generate(model, PROMPTS, config(seed=7))
    assert generate(model, PROMPTS, config(seed=7)) != generate(model, PROMPTS, config(seed=8))
    assert torch.equal(torch.get_rng_state(), before)
    free = generate(model, PROMPTS, config())
    assert free != generate(model, PROMPTS, config())
    torch.set_rng_state(before)
    assert free == generate(model, PROMPTS, config())


def test_each_sequence_ends_by_itself() -> None:
    """The end of text is the last token of its sequence; the others go on."""
    prompts = torch.tensor([[0, 3], [0, 6], [0, 7]], dtype=torch.uint8)
    options = config(max_new_tokens=5, end_of_text=8, context_length=2, temperature=0)
    assert generate(counting, prompts, options) == [[4, 5, 6, 7, 8], [7, 8], [8]]
    assert list(generate_steps(counting, prompts[1:], options)) == [[7, 8], [8, None]]


def test_an_end_changes_nothing_for_the_others() -> None:
    """Sequences draw what they would have drawn had none ended."""
    model = models()[2]
    endless = generate(model, PROMPTS, config(seed=3))
    end = endless[0][4]
    for ended, full in zip(
        generate(model, PROMPTS, config(seed=3, end_of_text=end)), endless, strict=True
    ):
        assert ended == (full[: full.index(end) + 1] if end in full else full)


def test_the_window_is_the_last_tokens() -> None:
    """The model sees as many tokens as its context has, and those the last."""
    seen: list[list[int]] = []

    def model(token_ids: Tensor) -> Tensor:
        seen.append(token_ids[0].tolist())
        return counting(token_ids)

    options = config(max_new_tokens=3, context_length=3, temperature=0)
    assert generate(model, torch.tensor([[5, 6]]), options) == [[7, 8, 9]]
    assert seen == [[5, 6], [5, 6, 7], [6, 7, 8]]


def test_nothing_is_generated_where_nothing_is_asked_for() -> None:
    """No new tokens and no prompts give empty lists, and the model is not called."""
    assert generate(models()[0], PROMPTS, config(max_new_tokens=0)) == [[], [], []]
    assert generate(models()[0], PROMPTS[:0], config()) == []


@pytest.mark.parametrize(
    "prompts",
    [
        *(torch.zeros(shape, dtype=torch.int64) for shape in ((3, 0), (4,), (1, 2, 3))),
        torch.ones(1, 2),
    ],
    ids=["empty", "a row", "three axes", "floats"],
)
def test_prompts_of_another_kind_are_refused(prompts: Tensor) -> None:
    """Prompts are integers in one row for each sequence, and none is empty."""
    with pytest.raises(ValueError, match=r"must be integers of shape \(batch, T\)"):
        generate(models()[0], prompts, config())


@pytest.mark.parametrize("name", ["max_new_tokens", "context_length", "seed"])
def test_limits_that_make_no_sense_are_named(name: str) -> None:
    """Negative numbers are refused before any token."""
    with pytest.raises(ValueError, match=f"{name} = -1"):
        config(**{name: -1})


def test_a_context_must_be_known_and_no_longer_than_the_model_has() -> None:
    """A mere callable cannot say how much it can see; a model knows it better than its caller."""
    with pytest.raises(ValueError, match="set context_length"):
        generate(counting, PROMPTS, config())
    with pytest.raises(ValueError, match="9 tokens are more than the context of 8"):
        generate(models()[0], PROMPTS, config(context_length=9))
