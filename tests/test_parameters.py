"""Checks of the parameters of a fresh GPT: how many there are, and which are one."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cs336_checks.comparison import is_finite
from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

VOCABULARY, CONTEXT, D_MODEL, LAYERS, HEADS, D_FF = SIZES = (23, 24, 16, 2, 2, 64)


def parameters_of_gpt(sizes: tuple[int, ...], *, tied: bool) -> int:
    """How many parameters a GPT has, worked out by hand from its sizes."""
    vocab_size, context_length, d_model, num_layers, _, d_ff = sizes
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    embeddings = (vocab_size + context_length) * d_model
    head = 0 if tied else vocab_size * d_model
    return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm + head


def numbers_in(parameters: Any) -> int:
    """How many numbers a model's parameters hold, each given once."""
    return sum(parameter.numel() for parameter in parameters)


def holding(draw: Draws, *shapes: tuple[int, ...]) -> nn.ParameterList:
    """A module with parameters of these shapes."""
    return nn.ParameterList([nn.Parameter(draw.normal(*shape)) for shape in shapes])


def test_count_parameters(adapters: Any, draw: Draws) -> None:
    """Counts the numbers in all parameters of all modules, and in no buffer."""
    flat = holding(draw, (4, 7), (7,), ())
    nested = nn.ModuleList([holding(draw, (5, 6)), nn.ModuleList([holding(draw, (2, 3, 4), (9,))])])
    nested.register_buffer("mask", torch.ones(50, 50))
    for model, numbers in [(flat, 36), (nested, 63)]:
        found = adapters.run_count_parameters(model)
        assert found == numbers, f"A model of {numbers} parameters has {found} by your count."


def test_count_parameters_tied(adapters: Any, draw: Draws) -> None:
    """Counts a parameter once that has two names, and two that hold the same numbers twice."""
    first = holding(draw, (5, 6), (5,))
    tied = nn.ModuleList([first, nn.ParameterList([first[0]]), holding(draw, (3,))])
    alike = nn.ModuleList([holding(draw, (5, 6)), holding(draw, (5, 6))])
    for parameter in alike.parameters():
        parameter.data.fill_(0.5)
    for model, numbers in [(tied, 38), (alike, 60)]:
        found = adapters.run_count_parameters(model)
        assert found == numbers, f"A model of {numbers} parameters has {found} by your count."


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_count_parameters_of_gpt(adapters: Any, tied: bool) -> None:
    """Counts all parameters of your GPT: weights and biases of every part, each once."""
    model = adapters.get_gpt(*SIZES, 0.1, tied)
    held = numbers_in(model.parameters())
    found = adapters.run_count_parameters(model)
    assert found == held, f"Your GPT holds {held} parameters; you count {found}."


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_gpt_parameters(adapters: Any, tied: bool) -> None:
    """Has as many parameters as the sizes say: with tied weights, the embedding serves twice."""
    for sizes in [SIZES, (40, 8, 12, 1, 3, 48)]:
        model = adapters.get_gpt(*sizes, 0.1, tied)
        expected = parameters_of_gpt(sizes, tied=tied)
        held = numbers_in(model.parameters())
        assert held == expected, f"A GPT of sizes {sizes} has {expected} parameters, not {held}."


def test_gpt_tied_after_loading(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Still has one parameter for embedding and output projection after weights were loaded."""
    model = adapters.get_gpt(*SIZES, 0.0, True)
    weights = model.state_dict()
    shared = draw.weight(VOCABULARY, D_MODEL)
    shape = (VOCABULARY, D_MODEL)
    loaded = {
        name: shared.clone() if tuple(weight.shape) == shape else weight
        for name, weight in weights.items()
    }
    model.load_state_dict(loaded)
    expected, held = parameters_of_gpt(SIZES, tied=True), numbers_in(model.parameters())
    assert held == expected, f"After loading there are {held} parameters instead of {expected}."
    found = [weight for weight in model.parameters() if tuple(weight.shape) == shape]
    assert len(found) == 1, f"There are {len(found)} parameters of shape {shape}."
    snapshot.assert_close(found[0].detach(), shared, "the shared parameter")


def test_gpt_as_it_is_before_training(adapters: Any, draw: Draws) -> None:
    """Is a model that can be called: it starts with finite numbers, each time with others."""
    ids = draw.integers(3, 5, high=VOCABULARY)
    logits = []
    for _ in range(2):
        found = adapters.get_gpt(*SIZES, 0.0, False)(ids)
        assert isinstance(found, Tensor), "A tensor of logits is expected."
        shape = tuple(found.shape)
        assert shape == (3, 5, VOCABULARY), f"The logits have shape {shape}."
        assert is_finite(found), "The logits of a fresh model have NaN or infinity."
        logits.append(found.detach())
    assert (logits[0] - logits[1]).abs().max() > 0, "Two fresh models give the same logits."


def test_gpt_modes(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Has dropout after train() and none after eval()."""
    model, ids = adapters.get_gpt(*SIZES, 0.5, False), draw.integers(3, 5, high=VOCABULARY)
    # Weights that start at 0 would hide dropout; what is no matrix of a layer is left alone.
    matrices = {
        name: draw.normal(*weight.shape, scale=0.5)
        for name, weight in model.state_dict().items()
        if weight.ndim == 2 and tuple(weight.shape) != (CONTEXT, CONTEXT)
    }
    model.load_state_dict(matrices, strict=False)
    model.train()
    first, second = model(ids).detach(), model(ids).detach()
    assert not torch.equal(first, second), "After train(), nothing is dropped."
    model.eval()
    first, second = model(ids).detach(), model(ids).detach()
    snapshot.assert_close(second, first, "the second call after eval()", atol=1e-6, rtol=1e-6)
