"""The fused twins: what each module and each model gives is what its plain one gives."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from cs336_basics import generate
from cs336_basics.families import approximate_gelu
from cs336_basics.fast import model as fast
from cs336_basics.gpt import GPT, Dropout, FeedForward, GPTAttention, LayerNorm
from cs336_basics.model import (
    CausalMultiHeadSelfAttention,
    DecoderLM,
    KeyValueCache,
    Linear,
    RMSNorm,
    SwiGLU,
    TransformerLM,
    cross_entropy,
    scaled_dot_product_attention,
)
from cs336_basics.training.loop import Trainer
from cs336_basics.training.runs import read_metrics
from grader_tests.unit.training_runs import ALONE, Killer, configured, prepared

SIZES: dict[str, Any] = {
    "vocab_size": 23,
    "context_length": 8,
    "d_model": 16,
    "num_layers": 2,
    "num_heads": 4,
    "d_ff": 20,
}
MODELS: dict[str, Callable[[], DecoderLM]] = {
    "modern": lambda: TransformerLM(**SIZES, rope_theta=100.0),
    "grouped": lambda: TransformerLM(**SIZES, rope_theta=100.0, num_kv_heads=2, tie_weights=True),
    "classic": lambda: GPT(**SIZES, dropout=0.5),
    "sinusoidal": lambda: GPT(**SIZES, positions="sinusoidal", tie_weights=False),
}
PARTS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: Linear(16, 5),
    "linear with bias": lambda: Linear(16, 5, bias=True),
    "RMSNorm": lambda: RMSNorm(16, eps=0.1),
    "LayerNorm": lambda: LayerNorm(16, eps=0.1),
    "SwiGLU": lambda: SwiGLU(16, 24),
    "feed-forward": lambda: FeedForward(16, 24),
    "attention": lambda: CausalMultiHeadSelfAttention(16, 4),
    "attention with RoPE": lambda: CausalMultiHeadSelfAttention(16, 4, 100.0, 2),
    "attention with biases": lambda: GPTAttention(16, 4),
}
ALLOWED = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 0.05, torch.float16: 0.01}
IDS = torch.randint(23, (3, 8), generator=torch.Generator().manual_seed(0))


def twins(build: Callable[[], Any], dtype: torch.dtype) -> tuple[Any, Any]:
    """A module with every weight drawn, so that none is without effect, and its fused twin."""
    torch.manual_seed(0)
    plain = build().eval()
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.add_(0.4 * torch.randn_like(parameter))
    plain.to(dtype)
    return plain, fast.fuse(copy.deepcopy(plain))


def assert_twins(plain: nn.Module, fused: nn.Module, *inputs: Tensor) -> None:
    """Require the same output, and the same gradients of parameters and inputs."""
    found = []
    for module in (plain, fused):
        given = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
        y = module(*given)
        upstream = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)
        leaves = [*module.parameters(), *(x for x in given if x.requires_grad)]
        found.append([y, *torch.autograd.grad(y, leaves, upstream)])
    for ours, theirs in zip(*found, strict=True):
        assert theirs.dtype == ours.dtype
        largest = ours.abs().max().item() if ours.numel() else 0.0
        allowed = ALLOWED[ours.dtype] * max(1.0, largest)
        torch.testing.assert_close(theirs, ours, atol=allowed, rtol=0.0)


@pytest.mark.parametrize("dtype", ALLOWED, ids=str)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("shape", [(16,), (3, 16), (2, 1, 7, 16), (0, 3, 16)], ids=str)
def test_parts_are_twins(name: str, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """With any leading axes, large and small numbers, and no rows at all."""
    plain, fused = twins(PARTS[name], dtype)
    assert type(fused) is not type(plain)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    x = x[None] if "attention" in name and x.ndim == 1 else x
    assert_twins(plain, fused, x)
    if "Norm" in name:
        assert_twins(plain, fused, 1000 * x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("kind", MODELS)
def test_models_are_twins(kind: str, dtype: torch.dtype) -> None:
    """Logits and gradients are the same, and the names of the weights."""
    plain, fused = twins(MODELS[kind], dtype)
    assert plain.state_dict().keys() == fused.state_dict().keys()
    assert not any(type(module) in fast.TWINS for module in fused.modules())
    fused.load_state_dict(plain.state_dict())
    assert_twins(plain, fused, IDS)
    assert_twins(plain, fused, IDS[:, :1])


@pytest.mark.parametrize("kind", MODELS)
def test_a_bfloat16_model_is_no_farther_from_the_exact_one(kind: str) -> None:
    """Layers add up what half precision rounds: both are as near to float64."""
    exact, _ = twins(MODELS[kind], torch.bfloat16)
    exact = copy.deepcopy(exact).double()
    plain, fused = twins(MODELS[kind], torch.bfloat16)
    off = [(model(IDS).double() - exact(IDS)).square().mean().sqrt() for model in (plain, fused)]
    assert off[1] < 1.5 * off[0] < 0.1 * exact(IDS).std()


@given(kind=st.sampled_from(sorted(MODELS)), cuts=st.sets(st.integers(1, 7)))
@settings(max_examples=30, deadline=None)
def test_cached_decoding_is_the_same(kind: str, cuts: set[int]) -> None:
    """However the sequence is divided, the logits are those of the plain model for all of it."""
    plain, fused = twins(MODELS[kind], torch.float64)
    caches = [KeyValueCache() for _ in fused.layers]
    pieces = [fused(IDS[:, start:end], caches) for start, end in pairwise([0, *sorted(cuts), 8])]
    torch.testing.assert_close(torch.cat(pieces, dim=1), plain(IDS), atol=1e-12, rtol=0.0)


def test_attention_takes_any_mask() -> None:
    """Where queries are fewer than keys, the mask decides."""
    generator = torch.Generator().manual_seed(2)
    Q, K, V = (
        torch.randn(2, 3, length, 4, generator=generator, dtype=torch.float64)
        for length in (5, 9, 9)
    )
    mask = torch.rand(5, 9, generator=generator) < 0.5
    mask[:, 0] = True
    expected = scaled_dot_product_attention(Q, K, V, mask)
    torch.testing.assert_close(fast.attend(Q, K, V, mask), expected, atol=1e-12, rtol=0.0)


@pytest.mark.parametrize("dtype", ALLOWED, ids=str)
@pytest.mark.parametrize("scale", [1.0, 300.0, 60000.0])
def test_losses_are_twins(dtype: torch.dtype, scale: float) -> None:
    """Also of logits far apart, of any leading axes and of targets in any integer type."""
    generator = torch.Generator().manual_seed(3)
    logits = (scale * (2 * torch.rand(2, 3, 7, generator=generator) - 1)).to(dtype)
    targets = torch.tensor([[0, 6, 2], [3, 3, 1]])
    for x, target in ((logits, targets), (logits[0, 0], targets[0, 0])):
        expected, found = cross_entropy(x, target), fast.cross_entropy(x, target.int())
        allowed = ALLOWED[dtype] * max(1.0, scale)
        torch.testing.assert_close(found, expected, atol=allowed, rtol=0.0)


def test_the_approximation_of_gelu_stays() -> None:
    """A network with GPT-2's own activation has it when it is fused, and any other one too."""
    x = torch.randn(5, 16, dtype=torch.float64)
    for activation in (approximate_gelu, torch.tanh):
        plain, fused = twins(PARTS["feed-forward"], torch.float64)
        plain.activation = fused.activation = activation
        assert_twins(plain, fused, x)


def test_dropout_drops_as_many() -> None:
    """In training alone, in attention too; which elements differs from the plain draws."""
    dropout = fast.fuse(Dropout(0.3))
    x = torch.ones(300, 300)
    assert (dropout(x) == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert torch.equal(dropout.eval()(x), x)
    plain, fused = twins(lambda: GPTAttention(16, 4, dropout=0.5), torch.float32)
    x = torch.randn(2, 6, 16)
    torch.testing.assert_close(fused(x), plain(x))
    assert not torch.allclose(fused.train()(x), fused(x))


@pytest.mark.parametrize("options", [["--temperature", "0"], ["--seed", "3"]])
def test_the_command_writes_the_same(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the tiny model, greedy and drawn."""
    written = []
    for fused in ([], ["--fused"]):
        assert generate.main(["Once upon a time", "--max-new-tokens", "40", *options, *fused]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]
    assert len(written[0]) > math.isqrt(40)


@pytest.mark.parametrize("family", ["modern", "classic"])
def test_a_run_learns_the_same(tmp_path: Path, family: str) -> None:
    """With --fused, every loss of a training run is the same but for rounding."""
    config = configured(prepared(tmp_path / "data"), tmp_path / "plain", family)
    config = replace(config, model=replace(config.model, dropout=0.0), steps=8)
    losses = []
    for run in (config, replace(config, out=tmp_path / "fused", fused=True)):
        assert Trainer(run, ALONE).train(Killer(), lambda: False)
        losses.append([line["loss"] for line in read_metrics(run.out) if "loss" in line])
    assert len(losses[0]) == 8
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
