"""Steps of training and generated tokens, beside transformers, both on one thread."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import transformers
from torch import Tensor

from benchmarks.measuring import Cost, in_turn
from benchmarks.report import Row
from cs336_basics.fast import model as fast
from cs336_basics.generation import GenerationConfig, generate
from cs336_basics.gpt import GPT
from cs336_basics.model import DecoderLM, TransformerLM, cross_entropy
from cs336_basics.optimizer import AdamW

VOCAB_SIZE, CONTEXT, D_MODEL, LAYERS, HEADS, BATCH = 4096, 128, 256, 4, 8, 4
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB_SIZE,
    "context_length": CONTEXT,
    "d_model": D_MODEL,
    "num_layers": LAYERS,
    "num_heads": HEADS,
}


def pairs() -> dict[str, tuple[DecoderLM, Any]]:
    """Our model and theirs of the same size, for each family."""
    torch.manual_seed(0)
    llama = transformers.LlamaConfig(
        vocab_size=VOCAB_SIZE,
        max_position_embeddings=CONTEXT,
        hidden_size=D_MODEL,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=704,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    gpt2 = transformers.GPT2Config(
        vocab_size=VOCAB_SIZE,
        n_positions=CONTEXT,
        n_embd=D_MODEL,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=4 * D_MODEL,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    modern = TransformerLM(**SIZES, d_ff=704, rope_theta=10_000.0)
    classic = GPT(**SIZES, d_ff=4 * D_MODEL, dropout=0.0, tie_weights=True)
    return {
        "Llama": (modern, transformers.LlamaForCausalLM(llama)),
        "GPT-2": (classic, transformers.GPT2LMHeadModel(gpt2)),
    }


def training_step(
    model: DecoderLM, tokens: Tensor, loss_of: Callable[[Tensor, Tensor], Tensor] = cross_entropy
) -> Callable[[], None]:
    """A function that makes one step with our model: forward, backward and AdamW."""
    optimizer = AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss = loss_of(model(tokens[:, :-1]), tokens[:, 1:])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def steps(rounds: int) -> list[Row]:
    """Forward, backward and AdamW."""
    tokens = torch.randint(VOCAB_SIZE, (BATCH, CONTEXT + 1))
    rows = []
    for family, (ours, theirs) in pairs().items():
        their_optimizer = torch.optim.AdamW(theirs.parameters())

        def their_step(
            model: Any = theirs, optimizer: torch.optim.Optimizer = their_optimizer
        ) -> None:
            optimizer.zero_grad()
            logits: Tensor = model(tokens[:, :-1]).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        fused = training_step(fast.fuse(copy.deepcopy(ours)), tokens, fast.cross_entropy)
        tasks = {"plain": training_step(ours, tokens), "fused": fused, "theirs": their_step}
        rows += beside(f"{family}, {BATCH} sequences of {CONTEXT}", in_turn(tasks, rounds))
    return rows


def beside(what: str, costs: dict[str, Cost]) -> list[Row]:
    """A row for the plain model and one for the fused one, both beside theirs."""
    return [Row(f"{what}, {kind}", costs[kind], costs["theirs"]) for kind in ("plain", "fused")]


def generation(rounds: int) -> list[Row]:
    """The likeliest continuation of 16 tokens by 96, with a cache."""
    prompt = torch.randint(VOCAB_SIZE, (1, 16))
    config = GenerationConfig(max_new_tokens=96, temperature=0)
    rows = []
    for family, (ours, theirs) in pairs().items():
        ours.eval()
        theirs.eval()

        def their_generation(model: Any = theirs) -> None:
            mask = torch.ones_like(prompt)
            model.generate(prompt, attention_mask=mask, max_new_tokens=96, do_sample=False)

        fused = fast.fuse(copy.deepcopy(ours))
        tasks: dict[str, Callable[[], object]] = {
            "plain": partial(generate, ours, prompt, config),
            "fused": partial(generate, fused, prompt, config),
            "theirs": their_generation,
        }
        rows += beside(f"{family}, 96 tokens after 16", in_turn(tasks, rounds))
    return rows
