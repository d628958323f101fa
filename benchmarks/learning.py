"""Steps of training and generated tokens, beside transformers, both on one thread."""

from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor

from benchmarks.measuring import in_turn
from benchmarks.report import Row
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


def training_step(model: DecoderLM, tokens: Tensor) -> Callable[[], None]:
    """What makes one step with our model: forward, backward and AdamW."""
    optimizer = AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss = cross_entropy(model(tokens[:, :-1]), tokens[:, 1:])
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

        costs = in_turn({"ours": training_step(ours, tokens), "theirs": their_step}, rounds)
        what = f"{family}, {BATCH} sequences of {CONTEXT}"
        rows.append(Row(what, costs["ours"], costs["theirs"]))
    return rows


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

        def our_generation(model: DecoderLM = ours) -> None:
            generate(model, prompt, config)

        costs = in_turn({"ours": our_generation, "theirs": their_generation}, rounds)
        rows.append(Row(f"{family}, 96 tokens after 16", costs["ours"], costs["theirs"]))
    return rows
