"""The training loop: resuming, what a run leaves behind, what ends it."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from cs336_basics import train as command
from cs336_basics.generate import main as generate
from cs336_basics.training import loop
from cs336_basics.training.config import TrainConfig
from cs336_basics.training.loop import DivergedError, Trainer, parameter_groups
from cs336_basics.training.progress import watching
from cs336_basics.training.runs import Record, Run, read_metrics
from cs336_basics.training.weights_and_biases import logging_to_wandb
from grader_tests.unit.training_runs import (
    ALONE,
    FAMILIES,
    STEPS,
    Killer,
    assert_same_bits,
    configured,
    final_state,
    prepared,
    resumed,
    train,
)

ROOT = Path(__file__).parents[2]
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with token files."""
    return prepared(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Compute on one thread: results are promised bit for bit only there."""
    torch.set_num_threads(1)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_resumed_run_equals_one_that_was_never_stopped(
    data: Path, tmp_path: Path, family: str
) -> None:
    """Ended at five random steps, it has the same weights, moments and metrics in the end."""
    whole = configured(data, tmp_path / "whole", family)
    train(whole)
    pieces = configured(data, tmp_path / "pieces", family)
    for step in sorted(random.Random(0).sample(range(1, STEPS), 5)):  # noqa: S311
        with pytest.raises(Killer.Killed):
            train(resumed(pieces), kill_after=step)
    train(resumed(pieces))
    assert_same_bits(final_state(pieces.out), final_state(whole.out))
    timeless = [
        [
            {key: value for key, value in record.items() if "second" not in key}
            for record in read_metrics(out)
        ]
        for out in (pieces.out, whole.out)
    ]
    assert timeless[0] == timeless[1]
    assert (pieces.out / "best.pt").read_bytes() == (whole.out / "best.pt").read_bytes()


def options(data: Path, out: Path) -> list[str]:
    """The command line of a small run."""
    small = ("context-length=16", "d-model=16", "num-layers=1", "num-heads=2")
    return [
        *(f"--data={data}", f"--out={out}", "--resume"),
        *(f"--model.{option}" for option in small),
        *("--steps=300", "--batch-size=2", "--checkpoint-every=3", "--eval-every=50"),
        *("--sample-tokens=4", "--eval-sequences=2"),
    ]


def started(data: Path, out: Path) -> "subprocess.Popen[bytes]":
    """The command, running on one thread."""
    return subprocess.Popen(
        [sys.executable, "-m", "cs336_basics.train", *options(data, out)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def wait_for_step(process: "subprocess.Popen[bytes]", out: Path, step: int) -> None:
    """Wait until a run has come to a step."""
    metrics = out / "metrics.jsonl"
    while not metrics.exists() or metrics.read_bytes().count(b'"loss"') < step:
        assert process.poll() is None
        time.sleep(0.01)


@pytest.mark.slow
def test_five_kills_change_nothing(data: Path, tmp_path: Path) -> None:
    """Killed wherever it is at the time, five times, the command ends with the same weights."""
    assert started(data, tmp_path / "whole").wait() == 0
    out = tmp_path / "pieces"
    for step in sorted(random.sample(range(1, 290), 5)):
        process = started(data, out)
        wait_for_step(process, out, step)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert started(data, out).wait() == 0
    whole, pieces = (
        torch.load(folder / "step-00000300.pt", weights_only=True)["model"]
        for folder in (tmp_path / "whole", out)
    )
    assert_same_bits(pieces, whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_ends(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """After the step at hand; the checkpoint is that of the last line of the metrics."""
    record = Run.record

    def interrupting(run: Run, entry: Record) -> None:
        record(run, entry)
        if entry["step"] == 5:
            signal.raise_signal(number)

    monkeypatch.setattr(Run, "record", interrupting)
    before = signal.getsignal(number)
    assert command.main(options(data, tmp_path)) == 128 + number
    assert signal.getsignal(number) == before
    last = max(tmp_path.glob("step-*.pt"))
    assert torch.load(last, weights_only=True)["iteration"] == 6
    assert read_metrics(tmp_path)[-1]["step"] == 6
    assert (tmp_path / "loss.svg").exists()


def test_a_run_leaves_what_people_look_at(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Checkpoints by number and the best, metrics, curves, and a model to generate with."""
    config = configured(data, tmp_path / "run")
    train(replace(config, keep=2))
    names = {path.name for path in config.out.iterdir()}
    assert {name for name in names if name.endswith(".pt")} == {
        *("step-00000010.pt", "step-00000012.pt", "best.pt")
    }
    records = read_metrics(config.out)
    steps = [record for record in records if "loss" in record]
    assert [record["step"] for record in steps] == list(range(1, STEPS + 1))
    evaluations = [record for record in records if "valid_loss" in record]
    assert [record["step"] for record in evaluations] == [5, 10, 12]
    assert evaluations[-1]["valid_loss"] < evaluations[0]["valid_loss"]
    assert all(0.1 < each["floor"] < each["valid_loss"] for each in evaluations)
    capsys.readouterr()
    checkpoint = str(config.out / "best.pt")
    assert generate(["Once", "--checkpoint", checkpoint, "--max-new-tokens", "5"]) == 0
    assert capsys.readouterr().out.startswith("Once")


def test_accumulation_changes_no_gradient(data: Path, tmp_path: Path) -> None:
    """Four parts of a step give the weights of one, but for rounding."""
    config = configured(data, tmp_path / "one")
    train(replace(config, accumulation=1, steps=3))
    train(replace(config, accumulation=4, steps=3, out=tmp_path / "four"))
    one, four = (read_metrics(tmp_path / name)[2]["loss"] for name in ("one", "four"))
    assert one == pytest.approx(four, rel=1e-5)


def test_matrices_alone_decay() -> None:
    """Gains and biases are in the group without weight decay."""
    model = FAMILIES["classic"].build(50)
    decaying, others = parameter_groups(model, 0.1)
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    kept = {names[id(parameter)] for parameter in others["params"]}
    assert kept == {n for n in names.values() if ".ln" in n or "ln_" in n or n.endswith("bias")}
    assert len(decaying["params"]) + len(others["params"]) == len(names)


def test_a_loss_that_is_not_finite_stops_the_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the step, the learning rate and the last good checkpoint."""
    config = configured(data, tmp_path)
    with pytest.raises(Killer.Killed):
        train(config, kill_after=5)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.pt")}
    monkeypatch.setattr(loop, "cross_entropy", lambda logits, _: logits.sum() * float("nan"))
    expected = r"at step 5, with learning rate 0.00\d+, the loss is nan .*step-00000004.pt"
    with pytest.raises(DivergedError, match=expected):
        train(resumed(config))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.pt")} == before


def test_a_full_disk_costs_no_checkpoint(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoints that are there stay, nothing half written does, and the message names one."""
    config = configured(data, tmp_path)
    with pytest.raises(Killer.Killed):
        train(config, kill_after=3)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.pt")}

    def full(_: object, file: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(torch, "save", full)
        with pytest.raises(OSError, match=r"No space left .*4\.pt.*; .*step-00000002\.pt"):
            train(resumed(config))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if ".pt" in path.name} == (
        before
    )
    train(resumed(config))


@pytest.mark.skipif(not FULL.exists(), reason="there is no device here that is always full")
def test_metrics_that_cannot_be_written_end_the_run(data: Path, tmp_path: Path) -> None:
    """The message names the file and the last good checkpoint, which stays."""
    config = configured(data, tmp_path)
    with pytest.raises(Killer.Killed):
        train(config, kill_after=3)
    trainer = Trainer(resumed(config), ALONE)
    (tmp_path / "metrics.jsonl").unlink()
    (tmp_path / "metrics.jsonl").symlink_to(FULL)
    with pytest.raises(OSError, match=r"No space.*metrics.jsonl.*step-00000002.pt"):
        trainer.train(Killer(), lambda: False)
    assert torch.load(tmp_path / "step-00000002.pt", weights_only=True)["iteration"] == 2


def test_what_was_cut_off_in_the_metrics_is_left_out(tmp_path: Path) -> None:
    """A last line without its end is no record; a damaged one before it is an error."""
    run = Run(tmp_path, keep=1)
    run.record({"step": 1, "loss": 2.0, "seconds": 0.5})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2, "lo')
    assert read_metrics(tmp_path) == [{"step": 1, "loss": 2.0, "seconds": 0.5}]
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"step": 3}) + "\n")
    with pytest.raises(ValueError, match="line 2"):
        read_metrics(tmp_path)


def test_the_command_tells_what_is_wrong_in_a_line(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, and a status that is not 0."""
    arguments = ["--data", str(data / "nowhere"), "--out", str(tmp_path)]
    assert command.main(arguments) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "nowhere" in line


def test_matrix_products_may_be_in_half_precision(data: Path, tmp_path: Path) -> None:
    """With bfloat16 the run learns about as much, and the weights stay in float32."""
    config = configured(data, tmp_path / "single")
    half = replace(config, out=tmp_path / "half", dtype="bfloat16")
    train(config)
    assert {p.dtype for p in train(half).model.parameters()} == {torch.float32}
    single, other = (read_metrics(each.out)[-1]["valid_loss"] for each in (config, half))
    assert single != other
    assert other == pytest.approx(single, rel=0.02)


def test_weights_and_biases_are_told_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record at its step; without the package the message says what to install."""
    told: list[tuple[int, float]] = []

    class FakeRun:
        def log(self, record: Record, step: int) -> None:
            told.append((step, record["loss"]))

    class FakeWandb:
        @staticmethod
        def init(**settings: object) -> "nullcontext[FakeRun]":
            assert settings["project"] == "stories"
            return nullcontext(FakeRun())

    config = TrainConfig(wandb="stories")
    monkeypatch.setitem(sys.modules, "wandb", FakeWandb)
    record = {"loss": 2.0, "tokens_per_second": 5.0, "learning_rate": 0.1, "seconds": 1.0}
    record["gradient_norm"] = 1.0
    with logging_to_wandb(config) as run, watching(Console(quiet=True), 9, 0, run) as watcher:
        watcher.step({"step": 7, **record})
    assert told == [(7, 2.0)]
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ValueError, match="install the extra wandb"):
        logging_to_wandb(config)
    assert logging_to_wandb(TrainConfig()).__enter__() is None
