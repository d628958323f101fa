"""Both families beside those of transformers: the same weights give the same logits."""

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cs336_basics.gpt import GPT, FeedForward, ScaledEmbedding
from cs336_basics.model import DecoderLM, TransformerLM

# vocab_size, context_length, d_model, num_layers, num_heads, d_ff
SIZES = [(23, 16, 12, 2, 3, 20), (50, 8, 32, 4, 4, 128), (11, 33, 24, 1, 1, 7)]
CONFIGURATIONS = [
    pytest.param(size, length, tie_weights, id=f"{size[2]}-{length}-{tied}")
    for size in SIZES
    for length in (1, 7, size[1])
    for tie_weights, tied in ((True, "tied"), (False, "untied"))
]


@pytest.fixture(scope="module")
def transformers() -> Any:
    """The library, which takes seconds to import, for those tests alone that need it."""
    return importlib.import_module("transformers")


def sized(size: tuple[int, ...]) -> dict[str, Any]:
    """The sizes under the names that our models give them."""
    names = ("vocab_size", "context_length", "d_model", "num_layers", "num_heads", "d_ff")
    return dict(zip(names, size, strict=True))


def with_drawn_weights(model: DecoderLM) -> DecoderLM:
    """The model with every weight drawn, gains and biases too, so that none is without effect."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 2:
                parameter.copy_(drawn * parameter.shape[-1] ** -0.5)
            else:
                parameter.add_(0.3 * drawn)
    return model.eval()


def token_ids(vocab_size: int, length: int) -> Tensor:
    """Three sequences."""
    return torch.randint(vocab_size, (3, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("size", "length", "tie_weights"), CONFIGURATIONS)
def test_the_classic_family_is_gpt2(
    transformers: Any, size: tuple[int, ...], length: int, tie_weights: bool
) -> None:
    """With GPT-2's approximate GELU and without the embeddings' scale, logits are GPT-2's."""
    ours = with_drawn_weights(GPT(**sized(size), tie_weights=tie_weights))
    for module in ours.modules():
        if isinstance(module, ScaledEmbedding):
            module.scale = 1.0
        elif isinstance(module, FeedForward):
            module.activation = partial(functional.gelu, approximate="tanh")
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff = size
    config = transformers.GPT2Config(
        vocab_size=vocab_size,
        n_positions=context_length,
        n_embd=d_model,
        n_layer=num_layers,
        n_head=num_heads,
        n_inner=d_ff,
        activation_function="gelu_new",
        tie_word_embeddings=tie_weights,
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    theirs.load_state_dict(dict(gpt2_weights(ours)))
    assert (theirs.lm_head.weight is theirs.transformer.wte.weight) == tie_weights
    ids = token_ids(vocab_size, length)
    assert_same_logits(ours(ids), theirs(ids).logits)


def gpt2_weights(model: DecoderLM) -> Iterator[tuple[str, Tensor]]:
    """Our weights under GPT-2's names: queries, keys and values in one, (d_in, d_out)."""
    weights = model.state_dict()
    yield "transformer.wte.weight", weights["token_embeddings.weight"]
    yield "transformer.wpe.weight", weights["position_embeddings.weight"]
    yield "lm_head.weight", weights["lm_head.weight"]
    for kind in ("weight", "bias"):
        yield f"transformer.ln_f.{kind}", weights[f"ln_final.{kind}"]
        for i in range(len(model.layers)):
            ours, theirs = f"layers.{i}", f"transformer.h.{i}"
            projections = [weights[f"{ours}.attn.{name}_proj.{kind}"] for name in "qkv"]
            yield f"{theirs}.attn.c_attn.{kind}", torch.cat(projections).t()
            yield f"{theirs}.attn.c_proj.{kind}", weights[f"{ours}.attn.output_proj.{kind}"].t()
            yield f"{theirs}.mlp.c_fc.{kind}", weights[f"{ours}.ffn.fc1.{kind}"].t()
            yield f"{theirs}.mlp.c_proj.{kind}", weights[f"{ours}.ffn.fc2.{kind}"].t()
            yield f"{theirs}.ln_1.{kind}", weights[f"{ours}.ln1.{kind}"]
            yield f"{theirs}.ln_2.{kind}", weights[f"{ours}.ln2.{kind}"]


@pytest.mark.parametrize("theta", [100.0, 10000.0])
@pytest.mark.parametrize(("size", "length", "tie_weights"), CONFIGURATIONS)
def test_the_modern_family_is_llama(
    transformers: Any, size: tuple[int, ...], length: int, tie_weights: bool, theta: float
) -> None:
    """With the features of each head in Llama's order, logits are Llama's."""
    ours = with_drawn_weights(TransformerLM(**sized(size), rope_theta=theta))
    if tie_weights:
        ours.lm_head.weight = ours.token_embeddings.weight
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff = size
    config = transformers.LlamaConfig(
        vocab_size=vocab_size,
        max_position_embeddings=context_length,
        hidden_size=d_model,
        num_hidden_layers=num_layers,
        num_attention_heads=num_heads,
        intermediate_size=d_ff,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
        tie_word_embeddings=tie_weights,
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    theirs.load_state_dict(dict(llama_weights(ours, num_heads)))
    assert (theirs.lm_head.weight is theirs.model.embed_tokens.weight) == tie_weights
    ids = token_ids(vocab_size, length)
    assert_same_logits(ours(ids), theirs(ids).logits)


def llama_weights(model: DecoderLM, num_heads: int) -> Iterator[tuple[str, Tensor]]:
    """Our weights under Llama's names: it pairs feature k with k + d_k/2, and we 2k with 2k+1."""
    weights = model.state_dict()
    yield "model.embed_tokens.weight", weights["token_embeddings.weight"]
    yield "model.norm.weight", weights["ln_final.weight"]
    yield "lm_head.weight", weights["lm_head.weight"]
    for i in range(len(model.layers)):
        ours, theirs = f"layers.{i}", f"model.layers.{i}"
        for name in "qk":
            pairs = weights[f"{ours}.attn.{name}_proj.weight"].unflatten(0, (num_heads, -1, 2))
            halves = pairs.transpose(1, 2).flatten(0, 2)
            yield f"{theirs}.self_attn.{name}_proj.weight", halves
        yield f"{theirs}.self_attn.v_proj.weight", weights[f"{ours}.attn.v_proj.weight"]
        yield f"{theirs}.self_attn.o_proj.weight", weights[f"{ours}.attn.output_proj.weight"]
        yield f"{theirs}.mlp.gate_proj.weight", weights[f"{ours}.ffn.w1.weight"]
        yield f"{theirs}.mlp.down_proj.weight", weights[f"{ours}.ffn.w2.weight"]
        yield f"{theirs}.mlp.up_proj.weight", weights[f"{ours}.ffn.w3.weight"]
        yield f"{theirs}.input_layernorm.weight", weights[f"{ours}.ln1.weight"]
        yield f"{theirs}.post_attention_layernorm.weight", weights[f"{ours}.ln2.weight"]


def assert_same_logits(ours: Tensor, theirs: Tensor) -> None:
    """Equal to 1e-5, where logits are far from equal among each other."""
    assert ours.std() > 0.1
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0.0)
