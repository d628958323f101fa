"""Schedules, borders of documents, threads, and the sizes and times that a run prints."""

import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from cs336_basics import train as command
from cs336_basics.data import document_starts, get_batch
from cs336_basics.optimizer import AdamW, clip_gradients, get_lr_wsd_schedule
from cs336_basics.training.config import parse
from cs336_basics.training.loop import Trainer
from cs336_basics.training.optimizer_config import OptimizerConfig
from cs336_basics.training.runs import read_metrics
from cs336_basics.training.tokens import END_OF_TEXT, load_tokenizer
from grader_tests.unit.training_runs import ALONE, STEPS, configured, prepared, train

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with token files."""
    return prepared(tmp_path_factory.mktemp("data"))


def test_warm_up_stable_decay() -> None:
    """Half way up, at the top until the decay starts, half way down, at the bottom ever after."""
    rates = [
        get_lr_wsd_schedule(it, 1.0, 0.2, 10, decay_start=80, decay_end=100)
        for it in (0, 5, 10, 50, 80, 90, 100, 1000)
    ]
    assert rates == pytest.approx([0.0, 0.5, 1.0, 1.0, 1.0, 0.6, 0.2, 0.2])
    assert get_lr_wsd_schedule(7, 1.0, 0.2, 0, decay_start=7, decay_end=7) == 1.0
    assert get_lr_wsd_schedule(8, 1.0, 0.2, 0, decay_start=7, decay_end=7) == 0.2


def test_a_run_follows_its_schedule(data: Path, tmp_path: Path) -> None:
    """The first step is step 1, and the last has the minimum."""
    optimizer = OptimizerConfig(warmup_steps=2, schedule="wsd", decay_steps=4)
    config = replace(configured(data, tmp_path), optimizer=optimizer)
    train(config)
    rates = [record["learning_rate"] for record in read_metrics(tmp_path) if "loss" in record]
    top, bottom = optimizer.learning_rate, optimizer.min_learning_rate
    down = [top + (bottom - top) * part / 4 for part in range(1, 5)]
    assert rates == pytest.approx([top / 2, *[top] * (STEPS - 5), *down])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decay_steps": 5}, "decay_steps = 5 has no effect on the schedule 'cosine'"),
        ({"schedule": "linear"}, "optimizer.schedule = 'linear' must be one of cosine, wsd"),
        ({"schedule": "wsd", "decay_steps": -1}, "decay_steps = -1 must be a whole number"),
        ({"schedule": "wsd", "decay_steps": 2.5}, "decay_steps = 2.5 must be a whole number"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(
    settings: dict[str, object], message: str
) -> None:
    """By the name of the option."""
    with pytest.raises(ValueError, match=message):
        OptimizerConfig(**settings)  # type: ignore[arg-type]


def test_a_decay_longer_than_the_run_is_refused(data: Path, tmp_path: Path) -> None:
    """With the warm-up before it."""
    optimizer = OptimizerConfig(warmup_steps=5, schedule="wsd", decay_steps=8)
    with pytest.raises(ValueError, match=r"warmup_steps = 5 and optimizer\.decay_steps = 8 must"):
        replace(configured(data, tmp_path), optimizer=optimizer)


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    ended=st.booleans(),
    context_length=st.integers(1, 6),
)
def test_sequences_within_documents_are_all_that_there_are(
    lengths: list[int], ended: bool, context_length: int
) -> None:
    """Every window without a border before its last target, each as often as any other."""
    documents = [[*range(1, length + 1), 0] for length in lengths] + [[] if ended else [1, 2, 3]]
    tokens = np.array(list(chain.from_iterable(documents)), dtype=np.uint16)
    expected = [
        start
        for start in range(len(tokens) - context_length)
        if 0 not in tokens[start : start + context_length]
    ]
    if not expected:
        with pytest.raises(ValueError, match="no document has the"):
            document_starts(tokens, 0, context_length)
        return
    starts = document_starts(tokens, 0, context_length)
    assert starts[np.arange(len(starts))].tolist() == expected
    inputs, targets = get_batch(tokens, 32, context_length, documents=starts)
    assert not (inputs == 0).any()
    assert torch.equal(inputs[:, 1:], targets[:, :-1])


def test_a_run_within_documents_sees_no_border(data: Path, tmp_path: Path) -> None:
    """The end of a text is a target, and never an input."""
    config = replace(configured(data, tmp_path), within_documents=True)
    trainer = Trainer(config, ALONE)
    end = load_tokenizer(data).special_ids[END_OF_TEXT]
    seen: list[Tensor] = []

    def logits_of(tokens: Tensor) -> Tensor:
        seen.append(tokens)
        logits: Tensor = trainer.model(tokens)
        return logits

    trainer.logits_of = logits_of
    trainer.take_step(stop=False)
    assert seen
    assert not any((tokens == end).any() for tokens in seen)
    long = replace(config.model, context_length=600)
    with pytest.raises(ValueError, match=r"no document has the 601 tokens .* the longest has"):
        Trainer(replace(config, model=long, out=tmp_path / "long"), ALONE)


@pytest.mark.parametrize(("batch_size", "context_length"), [(0, 4), (-1, 4), (2, 0), (2, -3)])
def test_batches_of_nothing_are_refused(batch_size: int, context_length: int) -> None:
    """With both numbers."""
    with pytest.raises(ValueError, match=f"batch_size = {batch_size} and .* = {context_length}"):
        get_batch(np.arange(50), batch_size, context_length)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["lr", "eps", "weight_decay"])
def test_hyperparameters_must_be_finite(name: str, value: float) -> None:
    """And not negative."""
    with pytest.raises(ValueError, match=f"{name} = {value}"):
        AdamW([torch.nn.Parameter(torch.zeros(1))], **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [-1.0, math.nan])
def test_a_norm_that_makes_no_sense_is_refused(norm: float) -> None:
    """A negative one would reverse the gradients, and NaN would never clip."""
    with pytest.raises(ValueError, match="max_l2_norm"):
        clip_gradients([], norm)


def test_an_evaluation_has_bits_per_byte(data: Path, tmp_path: Path) -> None:
    """The loss in nats per token, divided by the bytes of a token and by ln 2."""
    train(configured(data, tmp_path))
    size = (data / "valid.txt").stat().st_size
    last = read_metrics(tmp_path)[-1]
    bits = last["valid_loss"] / math.log(2) * len(np.load(data / "valid.npy")) / size
    assert last["bits_per_byte"] == pytest.approx(bits)


def test_a_run_begins_with_its_sizes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parameters, tokens, steps, and after some steps how long the others take."""
    config = configured(data, tmp_path / "run")
    small = [f"--data={data}", f"--out={tmp_path / 'run'}", "--steps=12", "--batch-size=4"]
    model = ["--model.context-length=16", "--model.d-model=16", "--model.num-layers=2"]
    rest = ["--model.num-heads=2", "--optimizer.warmup-steps=2", "--sample-tokens=2"]
    assert command.main([*small, *model, *rest, "--threads=1"]) == 0
    said = capsys.readouterr().out
    parameters = sum(p.numel() for p in config.model.build(300).parameters())
    num_tokens = len(np.load(data / "train.npy"))
    assert f"{parameters:,} parameters; {num_tokens:,} tokens of text; 12 steps of 64 tok" in said
    assert re.search(r"About \d+\.\d minutes for the 7 steps left", said)
    assert "bits per byte" in said
    assert "Compiling" not in said


def test_compiling_is_told(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it begins, because it takes long and says nothing."""
    monkeypatch.setattr(torch, "compile", lambda model: model)
    small = [f"--data={data}", f"--out={tmp_path / 'run'}", "--steps=2", "--batch-size=2"]
    model = ["--model.context-length=16", "--model.d-model=16", "--model.num-layers=1"]
    rest = ["--model.num-heads=2", "--optimizer.warmup-steps=1", "--sample-tokens=2", "--compile"]
    assert command.main([*small, *model, *rest]) == 0
    said = capsys.readouterr().out
    assert said.index("Compiling: the first step") < said.index("step 2: validation loss")


def test_threads_of_the_command_do_not_wait_in_a_loop() -> None:
    """Unless the environment says so; the setting must come before torch is imported."""
    code = "import sys, os, cs336_basics.train; print(os.environ['OMP_WAIT_POLICY'])"
    others = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    for chosen, expected in (({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")):
        ended = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**others, **chosen},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout.strip() == expected


@pytest.mark.parametrize("value", ["0", "-1", "2.5", "100000"])
def test_threads_that_make_no_sense_are_refused(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before torch is told."""
    with pytest.raises(SystemExit):
        parse([f"--threads={value}"])
    assert "threads" in "".join(capsys.readouterr())
