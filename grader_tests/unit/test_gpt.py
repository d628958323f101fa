"""The classic family: its parts beside torch's, tying, dropout, caches, and what it refuses."""

import copy
import io
import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from cs336_basics.checkpoint import load_checkpoint, save_checkpoint
from cs336_basics.gpt import (
    GPT,
    Dropout,
    FeedForward,
    GPTAttention,
    LayerNorm,
    LearnedPositions,
    ScaledEmbedding,
    gelu,
    sinusoidal_positions,
)
from cs336_basics.model import (
    DecoderLM,
    KeyValueCache,
    Linear,
    TransformerLM,
    scaled_dot_product_attention,
)
from cs336_basics.optimizer import AdamW

SIZES: dict[str, Any] = {
    "vocab_size": 23,
    "context_length": 8,
    "d_model": 12,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 20,
}
IDS = torch.randint(23, (3, 8), generator=torch.Generator().manual_seed(0))


def gpt(**options: Any) -> GPT:
    """Build a small model, each time with the same weights."""
    torch.manual_seed(0)
    return GPT(**SIZES | options)


def drawn(*shape: int, scale: float = 1.0) -> Tensor:
    """Normal numbers, the same for the same shape."""
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(1))


def with_attention_that_matters(model: DecoderLM) -> DecoderLM:
    """The model with weights so large that attention tells its keys apart."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.4 * drawn(*parameter.shape))
    return model.eval()


def models() -> list[DecoderLM]:
    """One of each kind, of both families."""
    torch.manual_seed(0)
    modern = TransformerLM(**SIZES, rope_theta=100.0, num_kv_heads=1)
    kinds = [gpt(), gpt(positions="sinusoidal"), modern]
    return [with_attention_that_matters(model) for model in kinds]


def test_parts_agree_with_torch() -> None:
    """GELU, LayerNorm and the linear map with a bias are those of torch."""
    x = drawn(3, 5, 12, scale=3.0)
    torch.testing.assert_close(gelu(x), functional.gelu(x))
    norm, linear = LayerNorm(12, eps=0.1), Linear(12, 7, bias=True)
    with torch.no_grad():
        for parameter in (norm.weight, norm.bias, linear.bias):
            assert parameter is not None
            parameter.add_(drawn(*parameter.shape))
    torch.testing.assert_close(
        norm(x), functional.layer_norm(x, (12,), norm.weight, norm.bias, eps=0.1)
    )
    torch.testing.assert_close(linear(x), functional.linear(x, linear.weight, linear.bias))


def test_layer_norm_of_half_precision_does_not_overflow() -> None:
    """Squares of large half-precision numbers are computed in float32."""
    x = drawn(4, 12, scale=3000.0).half()
    y = LayerNorm(12).half()(x)
    assert y.dtype == torch.float16
    torch.testing.assert_close(
        y.float(), functional.layer_norm(x.float(), (12,)), atol=2e-3, rtol=0
    )


def test_attention_with_biases_agrees_with_torch() -> None:
    """Multi-head attention is torch's, for the same projections and biases."""
    ours = GPTAttention(12, 3)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    torch.manual_seed(0)
    weights = {name: torch.randn_like(weight) for name, weight in ours.state_dict().items()}
    ours.load_state_dict(weights)
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([weights[f"{name}_proj.weight"] for name in "qkv"]),
            "in_proj_bias": torch.cat([weights[f"{name}_proj.bias"] for name in "qkv"]),
            "out_proj.weight": weights["output_proj.weight"],
            "out_proj.bias": weights["output_proj.bias"],
        }
    )
    x, hidden = drawn(2, 5, 12), torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected, _ = theirs(x, x, x, attn_mask=hidden, need_weights=False)
    torch.testing.assert_close(ours(x), expected)


def test_dropout_keeps_the_mean_and_repeats_with_the_global_seed() -> None:
    """The share p is zero, the rest is scaled, and torch.manual_seed draws the same again."""
    dropout, x = Dropout(0.3), torch.ones(200, 500)
    torch.manual_seed(5)
    y = dropout(x)
    torch.manual_seed(5)
    assert torch.equal(dropout(x), y)
    assert not torch.equal(dropout(x), y)
    assert y.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert (y == 0).float().mean().item() == pytest.approx(0.3, abs=0.005)
    assert dropout.eval()(x) is x


def test_dropout_in_half_precision_drops_as_many() -> None:
    """A p far below what half precision can count to is drawn as it is."""
    dropped = Dropout(1e-3)(torch.ones(1000, 1000, dtype=torch.bfloat16)) == 0
    assert dropped.float().mean().item() == pytest.approx(1e-3, rel=0.15)


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, math.nan])
def test_dropout_refuses_what_is_no_share(p: float) -> None:
    """A p outside of 0 … 1, or one that leaves nothing, is named."""
    with pytest.raises(ValueError, match="dropout p ="):
        Dropout(p)


def test_dropout_acts_where_it_is_said_to() -> None:
    """On attention's weights and between the two linear maps, in training only."""
    for part, x in ((FeedForward(12, 20, 0.5), drawn(3, 12)), (gpt(dropout=0.5), IDS)):
        torch.manual_seed(1)
        first = part(x)
        torch.manual_seed(1)
        assert torch.equal(part(x), first)
        assert not torch.equal(part(x), first)
        part.eval()
        assert torch.equal(part(x), part(x))
    # All keys are equal, so the output is the share of them that was seen.
    Q, V = torch.zeros(1000, 1, 4), torch.ones(1000, 50, 1)
    seen = scaled_dot_product_attention(Q, torch.zeros(1000, 50, 4), V, None, Dropout(0.2))
    assert seen.std() > 0.01
    assert seen.mean().item() == pytest.approx(1.0, abs=0.01)


def test_dropout_is_in_five_places() -> None:
    """Of the first input, and four times in a block: weights, hidden features, both branches."""
    model, sizes = gpt(dropout=0.5), []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_hook(lambda _, given, __: sizes.append(tuple(given[0].shape)))
    model(IDS)
    block = [(3, 3, 8, 8), (3, 8, 12), (3, 8, 20), (3, 8, 12)]
    assert sizes == [(3, 8, 12), *block, *block]


def test_embeddings_are_scaled_and_start_with_variance_one() -> None:
    """What comes out is √d_model times the weight, and logits of a tied model start small."""
    embedding = ScaledEmbedding(500, 64)
    ids = torch.arange(500)
    torch.testing.assert_close(embedding(ids), 8.0 * embedding.weight)
    assert embedding(ids).std().item() == pytest.approx(1.0, abs=0.05)
    model = GPT(**SIZES | {"vocab_size": 500, "d_model": 48})
    assert model(IDS).std().item() == pytest.approx(1.0, abs=0.15)


@given(length=st.integers(1, 40), d_model=st.integers(1, 17))
@settings(max_examples=30, deadline=None)
def test_sinusoids_are_those_of_the_formula(length: int, d_model: int) -> None:
    """Entry by entry, sin at even and cos at odd features."""
    table = sinusoidal_positions(length, d_model)
    assert table.shape == (length, d_model)
    i, j = length - 1, d_model - 1
    angle = i / 10000 ** (2 * (j // 2) / d_model)
    expected = math.cos(angle) if j % 2 else math.sin(angle)
    assert table[i, j].item() == pytest.approx(expected, abs=1e-6)


def test_learned_positions_end() -> None:
    """Positions beyond the table are refused, also when a cache holds the earlier ones."""
    positions = LearnedPositions(6, 4)
    x = torch.zeros(2, 6, 4)
    torch.testing.assert_close(positions(x)[:, 4:], positions(x[:, 4:], start=4))
    for rows, start in ((7, 0), (1, 6)):
        with pytest.raises(IndexError, match="6 is out of bounds"):
            positions(torch.zeros(rows, 4), start)


@pytest.mark.parametrize("tie_weights", [True, False])
def test_tied_weights_stay_tied(tie_weights: bool) -> None:
    """After loading, copying, saving and converting, one Parameter is still one."""
    model = gpt(tie_weights=tie_weights)
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    stored = io.BytesIO()
    torch.save(model, stored)
    stored.seek(0)
    loaded = gpt(tie_weights=tie_weights)
    loaded.load_state_dict(weights)
    for other in (
        *(model, loaded, copy.deepcopy(model), copy.deepcopy(model).double()),
        torch.load(stored, weights_only=False),
    ):
        assert (other.lm_head.weight is other.token_embeddings.weight) == tie_weights
        names = [name for name, _ in other.named_parameters()]
        assert ("lm_head.weight" in names) != tie_weights
        assert {"lm_head.weight", "token_embeddings.weight"} <= other.state_dict().keys()
    assert torch.equal(loaded(IDS), model(IDS))


def test_tied_weights_survive_a_checkpoint_and_learn_as_one(tmp_path: Any) -> None:
    """Training goes on from a checkpoint with one weight in both places."""
    model = gpt()
    optimizer = AdamW(model.parameters())
    model(IDS).square().mean().backward()
    optimizer.step()
    save_checkpoint(model, optimizer, 1, tmp_path / "run.pt")
    other = gpt()
    assert load_checkpoint(tmp_path / "run.pt", other, AdamW(other.parameters())) == 1
    assert torch.equal(other.lm_head.weight, model.token_embeddings.weight)
    assert other.lm_head.weight is other.token_embeddings.weight


def test_two_weights_for_one_parameter_are_refused() -> None:
    """A tied model does not take the weights of an untied one, nor change at all."""
    model = gpt()
    before = model.token_embeddings.weight.clone()
    with pytest.raises(ValueError, match=r"lm_head\.weight differs, but this model ties it"):
        model.load_state_dict(gpt(tie_weights=False).state_dict())
    assert torch.equal(model.token_embeddings.weight, before)


def test_positions_to_choose_are_named() -> None:
    """Unknown positions are refused with the known ones; sinusoids are no parameters."""
    with pytest.raises(ValueError, match="'rotary' must be 'learned' or 'sinusoidal'"):
        gpt(positions="rotary")
    assert not any("position" in name for name in gpt(positions="sinusoidal").state_dict())


def test_what_does_not_fit_is_refused() -> None:
    """Too many tokens, foreign tokens and heads of unequal width are named."""
    model = gpt()
    with pytest.raises(ValueError, match="9 tokens are more than the context of 8"):
        model(torch.zeros(1, 9, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"23\b.*vocabulary of 23"):
        model(torch.tensor([[0, 23]]))
    with pytest.raises(ValueError, match="d_model = 12 cannot be divided among 5 heads"):
        gpt(num_heads=5)
    with pytest.raises(ValueError, match="shorter"):
        model(IDS, [KeyValueCache()])


@pytest.mark.parametrize("kind", range(3))
def test_one_pass_predicts_what_every_prefix_does(kind: int) -> None:
    """A forward pass over T tokens gives the T predictions of T passes over the prefixes."""
    model = models()[kind]
    whole = model(IDS)
    for end in range(1, 9):
        torch.testing.assert_close(
            model(IDS[:, :end])[:, -1], whole[:, end - 1], atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("kind", range(3))
def test_a_batch_may_be_empty(kind: int) -> None:
    """No sequences give no logits, in the shape that they would have."""
    assert models()[kind](IDS[:0]).shape == (0, 8, 23)


@given(kind=st.integers(0, 2), cuts=st.sets(st.integers(1, 7)))
@settings(max_examples=40, deadline=None)
def test_a_cache_changes_nothing(kind: int, cuts: set[int]) -> None:
    """However the sequence is divided, caches give the logits of one pass over all of it."""
    model = models()[kind]
    caches = [KeyValueCache() for _ in model.layers]
    borders = [0, *sorted(cuts), 8]
    pieces = [model(IDS[:, start:end], caches) for start, end in pairwise(borders)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(IDS), atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match="9 tokens are more than the context of 8"):
        model(IDS[:, :1], caches)


def test_attention_without_positions_is_equivariant_to_permutation() -> None:
    """To the last position of causal attention, the order of the others is nothing."""
    attention = GPTAttention(12, 3)
    x = drawn(2, 6, 12)
    shuffled = x[:, [3, 0, 4, 2, 1, 5]]
    torch.testing.assert_close(attention(x)[:, -1], attention(shuffled)[:, -1])
