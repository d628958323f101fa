"""Both families beside those of transformers: the same weights, logits, gradients and learning."""

import importlib
import random
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from cs336_basics.gpt import GPT, FeedForward, ScaledEmbedding
from cs336_basics.model import DecoderLM, TransformerLM, cross_entropy
from cs336_basics.optimizer import AdamW

ALLOWED = {torch.float32: 2e-6, torch.float64: 1e-12}
Weights = Mapping[str, Tensor]


@pytest.fixture(scope="module")
def transformers() -> Any:
    """The library, which takes seconds to import, for those tests alone that need it."""
    return importlib.import_module("transformers")


def drawn_sizes(seed: int) -> dict[str, Any]:
    """A configuration; heads of an even width, so that RoPE has its pairs."""
    draw = random.Random(seed)  # noqa: S311 - nothing is secret
    num_kv_heads = draw.choice([1, 2, 3])
    num_heads = num_kv_heads * draw.choice([1, 2, 3])
    return {
        "vocab_size": draw.randint(5, 60),
        "context_length": draw.randint(1, 33),
        "d_model": num_heads * draw.choice([4, 8, 16]),
        "num_layers": draw.randint(1, 3),
        "num_heads": num_heads,
        "num_kv_heads": num_kv_heads,
        "d_ff": draw.randint(4, 80),
    }


def with_drawn_weights(model: DecoderLM) -> DecoderLM:
    """The model with every weight drawn, gains and biases too, so that none is without effect."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 2:
                parameter.copy_(0.5 * drawn * parameter.shape[-1] ** -0.5)
            else:
                parameter.add_(0.3 * drawn)
    return model.eval()


def gpt2(
    transformers: Any, sizes: dict[str, Any], tie_weights: bool, dtype: torch.dtype
) -> tuple[DecoderLM, Any]:
    """Our classic model and GPT-2 with its weights; ours takes over what GPT-2 does otherwise."""
    sizes = {name: size for name, size in sizes.items() if name != "num_kv_heads"}
    ours = with_drawn_weights(GPT(**sizes, tie_weights=tie_weights)).to(dtype)
    as_gpt2(ours)
    theirs = (
        transformers.GPT2LMHeadModel(gpt2_config(transformers, sizes, tie_weights)).to(dtype).eval()
    )
    theirs.load_state_dict(dict(gpt2_weights(ours.state_dict(), sizes["num_layers"])))
    assert (theirs.lm_head.weight is theirs.transformer.wte.weight) == tie_weights
    return ours, theirs


def gpt2_config(transformers: Any, sizes: Mapping[str, int], tie_weights: bool) -> Any:
    """GPT-2's configuration for our sizes, without dropout."""
    return transformers.GPT2Config(
        vocab_size=sizes["vocab_size"],
        n_positions=sizes["context_length"],
        n_embd=sizes["d_model"],
        n_layer=sizes["num_layers"],
        n_head=sizes["num_heads"],
        n_inner=sizes["d_ff"],
        activation_function="gelu_new",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=tie_weights,
        bos_token_id=None,
        eos_token_id=None,
    )


def as_gpt2(model: nn.Module) -> None:
    """Give a classic model GPT-2's approximate GELU, and leave out the scale of embeddings."""
    for module in model.modules():
        if isinstance(module, ScaledEmbedding):
            module.scale = 1.0
        elif isinstance(module, FeedForward):
            module.activation = partial(functional.gelu, approximate="tanh")


def gpt2_weights(weights: Weights, num_layers: int) -> Iterator[tuple[str, Tensor]]:
    """Our weights under GPT-2's names: queries, keys and values in one, (d_in, d_out)."""
    yield "transformer.wte.weight", weights["token_embeddings.weight"]
    yield "transformer.wpe.weight", weights["position_embeddings.weight"]
    yield "lm_head.weight", weights["lm_head.weight"]
    for kind in ("weight", "bias"):
        yield f"transformer.ln_f.{kind}", weights[f"ln_final.{kind}"]
        for i in range(num_layers):
            ours, theirs = f"layers.{i}", f"transformer.h.{i}"
            projections = [weights[f"{ours}.attn.{name}_proj.{kind}"] for name in "qkv"]
            yield f"{theirs}.attn.c_attn.{kind}", torch.cat(projections).t()
            yield f"{theirs}.attn.c_proj.{kind}", weights[f"{ours}.attn.output_proj.{kind}"].t()
            yield f"{theirs}.mlp.c_fc.{kind}", weights[f"{ours}.ffn.fc1.{kind}"].t()
            yield f"{theirs}.mlp.c_proj.{kind}", weights[f"{ours}.ffn.fc2.{kind}"].t()
            yield f"{theirs}.ln_1.{kind}", weights[f"{ours}.ln1.{kind}"]
            yield f"{theirs}.ln_2.{kind}", weights[f"{ours}.ln2.{kind}"]


class ExactRotation(nn.Module):
    """Llama's angles in float64: its own are in float32, whatever the model is in."""

    def __init__(self, theta: float, d_k: int) -> None:
        super().__init__()
        self.frequencies = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return cosine and sine, of the first half of the features and again of the second."""
        angles = position_ids[..., None] * self.frequencies.repeat(2)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def llama(
    transformers: Any,
    sizes: dict[str, Any],
    tie_weights: bool,
    dtype: torch.dtype,
    theta: float = 100.0,
) -> tuple[DecoderLM, Any]:
    """Our modern model and Llama with its weights, and with norms and angles in float64."""
    modern = TransformerLM(**sizes, rope_theta=theta, tie_weights=tie_weights)
    ours = with_drawn_weights(modern).to(dtype)
    theirs = transformers.LlamaForCausalLM(llama_config(transformers, sizes, theta, tie_weights))
    theirs.model.rotary_emb = ExactRotation(theta, sizes["d_model"] // sizes["num_heads"])
    for module in list(theirs.modules()):
        for name, norm in module.named_children():
            if "norm" in name:
                setattr(module, name, nn.RMSNorm(len(norm.weight), eps=1e-5))
    theirs = theirs.to(dtype).eval()
    theirs.load_state_dict(dict(llama_weights(ours.state_dict(), sizes)))
    assert (theirs.lm_head.weight is theirs.model.embed_tokens.weight) == tie_weights
    return ours, theirs


def llama_config(
    transformers: Any, sizes: Mapping[str, int], theta: float, tie_weights: bool
) -> Any:
    """Llama's configuration for our sizes."""
    return transformers.LlamaConfig(
        vocab_size=sizes["vocab_size"],
        max_position_embeddings=sizes["context_length"],
        hidden_size=sizes["d_model"],
        num_hidden_layers=sizes["num_layers"],
        num_attention_heads=sizes["num_heads"],
        num_key_value_heads=sizes["num_kv_heads"],
        intermediate_size=sizes["d_ff"],
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
        tie_word_embeddings=tie_weights,
        bos_token_id=None,
        eos_token_id=None,
    )


def llama_weights(weights: Weights, sizes: Mapping[str, int]) -> Iterator[tuple[str, Tensor]]:
    """Our weights under Llama's names: it pairs feature k with k + d_k/2, and we 2k with 2k+1."""
    yield "model.embed_tokens.weight", weights["token_embeddings.weight"]
    yield "model.norm.weight", weights["ln_final.weight"]
    yield "lm_head.weight", weights["lm_head.weight"]
    for i in range(sizes["num_layers"]):
        ours, theirs = f"layers.{i}", f"model.layers.{i}"
        for name, heads in (("q", sizes["num_heads"]), ("k", sizes["num_kv_heads"])):
            rows = weights[f"{ours}.attn.{name}_proj.weight"]
            pairs = rows.reshape(heads, -1, 2, sizes["d_model"])
            halves = pairs.transpose(1, 2).flatten(0, 2)
            yield f"{theirs}.self_attn.{name}_proj.weight", halves
        yield f"{theirs}.self_attn.v_proj.weight", weights[f"{ours}.attn.v_proj.weight"]
        yield f"{theirs}.self_attn.o_proj.weight", weights[f"{ours}.attn.output_proj.weight"]
        yield f"{theirs}.mlp.gate_proj.weight", weights[f"{ours}.ffn.w1.weight"]
        yield f"{theirs}.mlp.down_proj.weight", weights[f"{ours}.ffn.w2.weight"]
        yield f"{theirs}.mlp.up_proj.weight", weights[f"{ours}.ffn.w3.weight"]
        yield f"{theirs}.input_layernorm.weight", weights[f"{ours}.ln1.weight"]
        yield f"{theirs}.post_attention_layernorm.weight", weights[f"{ours}.ln2.weight"]


def gradients(model: DecoderLM) -> dict[str, Tensor]:
    """The gradients under the names of a state dict."""
    parameters = model.named_parameters(remove_duplicate=False)
    return {name: parameter.grad for name, parameter in parameters if parameter.grad is not None}


@pytest.mark.parametrize("dtype", ALLOWED, ids=str)
@pytest.mark.parametrize("tie_weights", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("family", ["classic", "modern"])
@pytest.mark.parametrize("seed", range(12))
def test_logits_and_gradients_are_those_of_transformers(
    transformers: Any, seed: int, family: str, tie_weights: bool, dtype: torch.dtype
) -> None:
    """Of random configurations, tied and not, with as many heads of keys as queries or fewer."""
    sizes = drawn_sizes(seed)
    build = gpt2 if family == "classic" else llama
    ours, theirs = build(transformers, sizes, tie_weights, dtype)
    generator = torch.Generator().manual_seed(seed)
    shape = (3, sizes["context_length"])
    ids, targets = torch.randint(sizes["vocab_size"], (2, *shape), generator=generator)
    logits, expected = ours(ids), theirs(ids).logits
    assert logits.std() > 0.1
    torch.testing.assert_close(logits, expected, atol=ALLOWED[dtype], rtol=0.0)
    cross_entropy(logits, targets).backward()  # type: ignore[no-untyped-call]
    functional.cross_entropy(expected.flatten(0, 1), targets.flatten()).backward()  # type: ignore[no-untyped-call]
    found = (
        gpt2_weights(gradients(ours), sizes["num_layers"])
        if family == "classic"
        else llama_weights(gradients(ours), sizes)
    )
    renamed = dict(found)
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(renamed[name], parameter.grad, atol=ALLOWED[dtype], rtol=0.0)


@pytest.mark.parametrize("family", ["classic", "modern"])
def test_thirty_steps_have_the_losses_of_transformers(transformers: Any, family: str) -> None:
    """From the same weights, with the same batches, beside torch's AdamW."""
    sizes = drawn_sizes(1) | {"context_length": 12, "vocab_size": 40}
    build = gpt2 if family == "classic" else llama
    ours, theirs = build(transformers, sizes, True, torch.float64)
    options: dict[str, Any] = {"lr": 3e-3, "betas": (0.9, 0.95), "weight_decay": 0.1}
    our_optimizer = AdamW(ours.parameters(), **options)
    their_optimizer = torch.optim.AdamW(theirs.parameters(), **options)
    losses: list[list[float]] = [[], []]
    for step in range(30):
        generator = torch.Generator().manual_seed(step % 3)
        ids = torch.randint(40, (4, 13), generator=generator)
        our_loss = cross_entropy(ours(ids[:, :-1]), ids[:, 1:])
        logits = theirs(ids[:, :-1]).logits
        their_loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        steps = ((our_loss, our_optimizer), (their_loss, their_optimizer))
        for found, (loss, optimizer) in zip(losses, steps, strict=True):
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            found.append(loss.item())
    assert losses[0][-1] < losses[0][0] - 0.2
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
