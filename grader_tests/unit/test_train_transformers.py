"""An outside check of learning: transformers' models, torch's AdamW, the same data."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cs336_basics.model import DecoderLM
from cs336_basics.training.config import TrainConfig
from cs336_basics.training.loop import Trainer, parameter_groups, seed_of
from cs336_basics.training.runs import read_metrics
from cs336_basics.training.tokens import open_tokens
from grader_tests.unit.test_gpt_transformers import (
    as_gpt2,
    gpt2_config,
    gpt2_weights,
    llama_config,
    llama_weights,
)
from grader_tests.unit.training_runs import ALONE, Killer, configured, prepared

STEPS = 60


@pytest.fixture(scope="module")
def transformers() -> Any:
    """The library, which takes seconds to import, for those tests alone that need it."""
    return importlib.import_module("transformers")


def llama(transformers: Any, ours: DecoderLM, sizes: dict[str, Any]) -> Any:
    """Llama with our weights."""
    config = llama_config(transformers, sizes, sizes["rope_theta"], sizes["tie_weights"])
    theirs = transformers.LlamaForCausalLM(config)
    theirs.load_state_dict(dict(llama_weights(ours.state_dict(), sizes)))
    return theirs


def gpt2(transformers: Any, ours: DecoderLM, sizes: dict[str, Any]) -> Any:
    """GPT-2 with our weights; ours takes over what GPT-2 does otherwise."""
    as_gpt2(ours)
    config = gpt2_config(transformers, sizes, sizes["tie_weights"])
    theirs = transformers.GPT2LMHeadModel(config)
    theirs.load_state_dict(dict(gpt2_weights(ours.state_dict(), sizes["num_layers"])))
    return theirs


def reference_losses(model: Any, config: TrainConfig, vocab_size: int) -> list[float]:
    """The losses of a loop that shares nothing with ours but the seed of each step."""
    tokens = open_tokens(config.data / "train.npy", vocab_size, config.model.context_length)
    settings, length = config.optimizer, config.model.context_length
    groups = parameter_groups(model, settings.weight_decay)
    betas = (settings.beta1, settings.beta2)
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, betas=betas, eps=settings.eps)
    warmup = torch.optim.lr_scheduler.LinearLR(
        optimizer, 1 / settings.warmup_steps, 1.0, settings.warmup_steps - 1
    )
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, config.steps - settings.warmup_steps, settings.min_learning_rate
    )
    schedule = torch.optim.lr_scheduler.SequentialLR(
        optimizer, [warmup, cosine], [settings.warmup_steps - 1]
    )
    losses = []
    for step in range(config.steps):
        torch.manual_seed(seed_of(config.seed, step))
        starts = torch.randint(len(tokens) - length, (config.batch_size,)).tolist()
        rows = [torch.tensor(tokens[start : start + length + 1].astype(int)) for start in starts]
        windows = torch.stack(rows)
        logits: Tensor = model(windows[:, :-1]).logits
        loss = functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_norm)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


@pytest.mark.slow
@pytest.mark.parametrize(("family", "build"), [("modern", llama), ("classic", gpt2)])
@pytest.mark.filterwarnings("ignore:.*epoch parameter.*")
def test_learning_is_that_of_transformers(
    transformers: Any,
    tmp_path: Path,
    family: str,
    build: Callable[[Any, DecoderLM, dict[str, Any]], Any],
) -> None:
    """From the same weights, with the same data, every loss is the same but for rounding."""
    torch.set_num_threads(1)
    config = configured(prepared(tmp_path / "data"), tmp_path / "run", family)
    model = replace(config.model, dropout=0.0)
    config = replace(config, model=model, steps=STEPS, eval_every=STEPS, checkpoint_every=STEPS)
    trainer = Trainer(config, ALONE)
    vocab_size = trainer.corpus.vocab_size
    theirs = build(transformers, trainer.model, config.model.arguments(vocab_size))
    expected = reference_losses(theirs, config, vocab_size)
    assert trainer.train(Killer(), lambda: False)
    losses = [record["loss"] for record in read_metrics(config.out) if "loss" in record]
    assert losses[-1] < losses[0] - 1
    assert losses == pytest.approx(expected, rel=1e-3)
