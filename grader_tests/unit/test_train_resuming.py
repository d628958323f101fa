"""Resuming: changes that are refused, missing and damaged files, runs that are not overwritten."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cs336_basics import encode
from cs336_basics import train as command
from cs336_basics.training.config import TrainConfig
from cs336_basics.training.loop import Trainer
from cs336_basics.training.runs import Run, read_metrics
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


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with token files."""
    torch.set_num_threads(1)
    return prepared(tmp_path_factory.mktemp("data"))


@pytest.fixture
def stopped(data: Path, tmp_path: Path) -> TrainConfig:
    """A run that was killed at step 9: its checkpoints are those of steps 4, 6 and 8."""
    config = configured(data, tmp_path / "run")
    with pytest.raises(Killer.Killed):
        train(config, kill_after=9)
    return config


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def with_optimizer(**settings: Any) -> Callable[[TrainConfig], TrainConfig]:
    """A configuration with other settings of the optimizer."""
    return lambda config: replace(config, optimizer=replace(config.optimizer, **settings))


CHANGES: dict[str, Callable[[TrainConfig], TrainConfig]] = {
    "seed is 0 in the run and 1 now": lambda config: replace(config, seed=1),
    "steps is 12 in the run and 20 now": lambda config: replace(config, steps=20),
    "steps is 12 in the run and 10 now": lambda config: replace(config, steps=10),
    "batch_size is 4 in the run and 8 now": lambda config: replace(config, batch_size=8),
    "eval_every is 5 in the run and 3 now": lambda config: replace(config, eval_every=3),
    "dtype is 'float32' in the run and 'bfl": lambda config: replace(config, dtype="bfloat16"),
    "optimizer.weight_decay is 0.1 in the run": with_optimizer(weight_decay=0.2),
    "optimizer.learning_rate is 0.003 in": with_optimizer(learning_rate=0.004),
    "optimizer.warmup_steps is 2 in the run": with_optimizer(warmup_steps=3),
}
OTHER_MODELS: dict[str, Callable[[TrainConfig], TrainConfig]] = {
    "model.family is 'modern' in the run and 'classic' now": lambda config: replace(
        config, model=FAMILIES["classic"]
    ),
    "model.num_heads is 2 in the run and 4 now": lambda config: replace(
        config, model=replace(config.model, num_heads=4)
    ),
    "model.d_model is 16 in the run and 32 now": lambda config: replace(
        config, model=replace(config.model, d_model=32)
    ),
}


@pytest.mark.parametrize("message", [*CHANGES, *OTHER_MODELS])
def test_what_changes_the_result_is_refused(stopped: TrainConfig, message: str) -> None:
    """By its name, and every file of the run stays as it was."""
    before = content(stopped.out)
    change = (CHANGES | OTHER_MODELS)[message]
    with pytest.raises(ValueError, match=message):
        Trainer(change(resumed(stopped)), ALONE)
    assert content(stopped.out) == before


def test_changes_are_accepted_where_they_are_asked_for(stopped: TrainConfig) -> None:
    """Those of options and text, but not of the model, and not fewer steps than were done."""
    config = replace(resumed(stopped), accept_changes=True)
    for message, change in OTHER_MODELS.items():
        with pytest.raises(ValueError, match=message):
            Trainer(change(config), ALONE)
    with pytest.raises(ValueError, match=r"steps = 5, but .*run has come to step 8 already"):
        Trainer(replace(config, steps=5), ALONE)
    assert Trainer(replace(config, steps=20, seed=3), ALONE).step == 8


def test_where_a_run_works_may_change(stopped: TrainConfig, data: Path, tmp_path: Path) -> None:
    """The folder of the token files, parts of a step, checkpoints and samples."""
    shutil.copytree(data, tmp_path / "moved")
    config = replace(resumed(stopped), data=tmp_path / "moved", checkpoint_every=3, keep=1)
    train(replace(config, prompt="Once", sample_tokens=2))
    whole = configured(data, tmp_path / "whole")
    train(whole)
    assert_same_bits(final_state(stopped.out), final_state(whole.out))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"accumulation": 4}, "accumulation is 2 in the run and 4 now"),
        ({"fused": True}, "fused is False in the run and True now"),
    ],
)
def test_what_changes_the_draws_of_dropout_is_refused(
    data: Path, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    """Without dropout, the same options change no more than the rounding."""
    for family in FAMILIES:
        config = configured(data, tmp_path / family, family)
        with pytest.raises(Killer.Killed):
            train(config, kill_after=3)
        other = replace(resumed(config), **changed)
        if config.model.dropout:
            with pytest.raises(ValueError, match=message):
                Trainer(other, ALONE)
        else:
            assert Trainer(other, ALONE).step == 2


def test_other_text_is_refused(stopped: TrainConfig, data: Path, tmp_path: Path) -> None:
    """Of the same length, for training or for validation."""
    for name in ("train", "valid"):
        other = tmp_path / name
        shutil.copytree(data, other)
        tokens = np.load(other / f"{name}.npy")
        tokens[[7, 8]] = tokens[[8, 7]] + 1
        np.save(other / f"{name}.npy", tokens)
        with pytest.raises(ValueError, match=rf"{name}\.sha256 is .* in the run"):
            Trainer(replace(resumed(stopped), data=other), ALONE)


def test_another_vocabulary_of_the_same_size_is_refused(
    stopped: TrainConfig, data: Path, tmp_path: Path
) -> None:
    """The run keeps its own, also where changes are accepted."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.txt").write_text("zebras amaze lazy wizards " * 500, encoding="utf-8")
    texts = [str(other / "train.txt"), str(data / "valid.txt")]
    assert encode.main([*texts, f"--out={other}", "--vocab-size=300", "--workers=1"]) == 0
    before = content(stopped.out)
    config = replace(resumed(stopped), data=other, accept_changes=True)
    with pytest.raises(ValueError, match="is a run with another vocabulary"):
        Trainer(config, ALONE)
    assert content(stopped.out) == before


def test_tokens_of_another_vocabulary_than_the_one_beside_them_are_refused(
    data: Path, tmp_path: Path
) -> None:
    """The vocabulary was learned again, and the token files were not made again."""
    shutil.copytree(data, tmp_path / "data")
    merges = tmp_path / "data" / "merges.txt"
    merges.write_text("\n".join(merges.read_text(encoding="utf-8").split("\n")[:-2]) + "\n")
    with pytest.raises(ValueError, match=r"train\.npy was made with another vocabulary"):
        Trainer(configured(tmp_path / "data", tmp_path / "run"), ALONE)


@pytest.mark.parametrize(
    "missing",
    ["metrics.jsonl", "config.json", "run.json", "data.json", "vocab.json", "merges.txt", "all"],
)
def test_a_run_without_side_files_goes_on(
    stopped: TrainConfig, data: Path, tmp_path: Path, missing: str
) -> None:
    """The checkpoint is whole, so the result is the same, and the files are written again."""
    for path in stopped.out.iterdir():
        if path.name == missing or (missing == "all" and path.suffix != ".pt"):
            path.unlink()
    train(resumed(stopped))
    whole = configured(data, tmp_path / "whole")
    train(whole)
    assert_same_bits(final_state(stopped.out), final_state(whole.out))
    assert (stopped.out / "best.pt").read_bytes() == (whole.out / "best.pt").read_bytes()
    assert {path.name for path in stopped.out.iterdir()} == {
        path.name for path in whole.out.iterdir()
    }


@pytest.mark.parametrize(
    "name", ["run.json", "config.json", "data.json", "vocab.json", "merges.txt"]
)
def test_a_damaged_side_file_is_told_with_what_to_do(stopped: TrainConfig, name: str) -> None:
    """Doing it goes on."""
    path = stopped.out / name
    path.write_bytes(b'{"caf\xe9')
    with pytest.raises(ValueError, match=rf"{name} is not UTF-8.*Without the file, --resume goes"):
        Trainer(resumed(stopped), ALONE)
    path.unlink()
    assert Trainer(resumed(stopped), ALONE).step == 8


def test_a_line_of_the_metrics_that_is_none_is_told(stopped: TrainConfig) -> None:
    """With its number, because the others are worth keeping."""
    metrics = stopped.out / "metrics.jsonl"
    lines = metrics.read_bytes().split(b"\n")
    metrics.write_bytes(b"\n".join([*lines[:3], b"{half", *lines[3:]]))
    with pytest.raises(ValueError, match=r"metrics.jsonl, line 4, .*remove the line"):
        Trainer(resumed(stopped), ALONE)


def test_the_best_checkpoint_outlives_its_record(stopped: TrainConfig) -> None:
    """Where the metrics are missing, a worse one does not take its place."""
    run = Run(stopped.out, keep=3)
    trainer = Trainer(resumed(stopped), ALONE)
    with torch.no_grad():
        for parameter in trainer.model.parameters():
            parameter.mul_(3.0)
    trainer.run.save(trainer.model, trainer.optimizer, 9)
    best = run.best.read_bytes()
    run.metrics.unlink()
    train(resumed(stopped))
    assert read_metrics(stopped.out)
    assert run.best.read_bytes() == best


def test_what_a_kill_left_half_written_is_removed(stopped: TrainConfig) -> None:
    """A checkpoint may be large."""
    half = stopped.out / ".step-00000010.pt.123.unfinished"
    half.write_bytes(b"half")
    Trainer(resumed(stopped), ALONE)
    assert not half.exists()


@pytest.mark.parametrize("only_best", [False, True])
def test_a_run_is_not_overwritten_without_being_told(stopped: TrainConfig, only_best: bool) -> None:
    """A finished or stopped one, also where its best checkpoint alone is left."""
    train(resumed(stopped))
    for path in stopped.out.iterdir() if only_best else ():
        if path.name != "best.pt":
            path.unlink()
    before = content(stopped.out)
    with pytest.raises(ValueError, match=r"holds a run already: .*--resume, .*--out"):
        Trainer(stopped, ALONE)
    assert content(stopped.out) == before


def test_a_run_goes_on_from_its_best_checkpoint_where_no_other_is_left(
    stopped: TrainConfig,
) -> None:
    """It is one of the run like the others."""
    for path in stopped.out.glob("step-*.pt"):
        path.unlink()
    assert Trainer(resumed(stopped), ALONE).step == 5


def test_a_finished_run_stays_as_it_is(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Resumed once more, there is nothing left to do."""
    config = configured(data, tmp_path)
    train(config)
    (tmp_path / "metrics.jsonl").unlink()
    best = (tmp_path / "best.pt").read_bytes()
    options = [f"--config={tmp_path / 'run.json'}", "--resume"]
    assert command.main(options) == 0
    assert f"{tmp_path} has come to step {STEPS}" in capsys.readouterr().out
    assert (tmp_path / "best.pt").read_bytes() == best


def test_a_damaged_checkpoint_is_told_with_those_that_are_whole(stopped: TrainConfig) -> None:
    """And doing what the message says goes on from the last whole one."""
    newest, older = stopped.out / "step-00000008.pt", stopped.out / "step-00000006.pt"
    newest.write_bytes(newest.read_bytes()[:1000])
    (stopped.out / "step-00000004.pt").write_bytes(b"")
    with pytest.raises(ValueError, match="is damaged") as raised:
        Trainer(resumed(stopped), ALONE)
    said = str(raised.value)
    assert str(newest) in said.partition(";")[0]
    whole = said.partition("are whole: ")[2].partition(";")[0]
    assert whole == f"{stopped.out / 'best.pt'}, {older}"
    assert said.endswith(f"goes on from {older}")
    newest.unlink()
    assert Trainer(resumed(stopped), ALONE).step == 6


def test_a_run_of_damaged_checkpoints_alone_is_told(stopped: TrainConfig) -> None:
    """There is nothing to go on from."""
    for path in stopped.out.glob("*.pt"):
        path.write_bytes(b"")
    with pytest.raises(ValueError, match="no other checkpoint of the run is whole"):
        Trainer(resumed(stopped), ALONE)
