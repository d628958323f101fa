"""The configuration of a run: from the command line and from a file, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cs336_basics.training.config import OptimizerConfig, TrainConfig, parse
from cs336_basics.training.loop import Trainer
from grader_tests.unit.training_runs import ALONE, FAMILIES, configured, prepared, train


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with token files."""
    return prepared(tmp_path_factory.mktemp("data"))


def test_a_run_says_how_to_repeat_it(data: Path, tmp_path: Path) -> None:
    """run.json, read with --config, gives the configuration that was written."""
    config = configured(data, tmp_path, "classic")
    config = replace(config, compile=False, resume=True, prompt="Once upon", wandb=None)
    Trainer(config, ALONE)
    assert parse(["--config", str(tmp_path / "run.json")]) == config


@pytest.mark.parametrize(("family", "former"), [("modern", "transformer"), ("classic", "gpt")])
def test_a_run_with_the_former_name_of_a_family_is_understood(
    data: Path, tmp_path: Path, family: str, former: str
) -> None:
    """It can be repeated and resumed."""
    config = configured(data, tmp_path, family)
    train(replace(config, steps=2))
    for path in (tmp_path / "run.json", tmp_path / "config.json"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'"{family}"', f'"{former}"'), encoding="utf-8")
    assert parse(["--config", str(tmp_path / "run.json")]).model == config.model
    assert Trainer(replace(config, resume=True), ALONE).step == 2


def test_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    """Options after --config replace those of the file, and what neither says is as by default."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"steps": 5, "model": {"d_model": 32, "tie_weights": False}}))
    config = parse(["--model.d-model", "64", "--config", str(path), "--optimizer.beta2", "0.99"])
    assert (config.steps, config.model.d_model, config.model.tie_weights) == (5, 64, False)
    assert config.optimizer == OptimizerConfig(beta2=0.99)
    assert config.batch_size == TrainConfig().batch_size


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"stepz": 5}, "no option is called 'stepz'"),
        ({"model": {"d_modl": 5}}, "no option is called 'model.d_modl'"),
        ({"model": 5}, "model must be an object"),
        ([1], "must hold one JSON object"),
    ],
)
def test_a_file_with_what_means_nothing_is_refused(
    tmp_path: Path, content: object, message: str
) -> None:
    """The message names the file and the key."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message) as raised:
        parse(["--config", str(path)])
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("option", ["--stepz=5", "--steps=many", "--model.family=bert"])
def test_a_command_line_with_what_means_nothing_is_refused(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends as a wrong command does, and says which word it is."""
    with pytest.raises(SystemExit) as ended:
        parse([option])
    assert ended.value.code == 2
    assert option.removeprefix("--").split("=")[0] in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"keep": 0}, "keep = 0"),
        ({"optimizer": OptimizerConfig(learning_rate=float("nan"))}, "learning_rate = nan"),
        ({"optimizer": OptimizerConfig(max_norm=-1)}, "max_norm = -1"),
    ],
)
def test_values_that_make_no_sense_are_refused(settings: dict[str, object], message: str) -> None:
    """Before anything is computed."""
    with pytest.raises(ValueError, match=message):
        TrainConfig(**settings)  # type: ignore[arg-type]


def test_what_does_not_fit_the_data_is_refused(data: Path, tmp_path: Path) -> None:
    """A batch that cannot be divided, a context longer than the text, ids beyond the vocabulary."""
    config = configured(data, tmp_path / "run")
    with pytest.raises(ValueError, match="batch_size = 4 cannot be divided"):
        Trainer(replace(config, accumulation=3), ALONE)
    long = replace(config.model, context_length=10**6)
    with pytest.raises(ValueError, match="a context of 1000000 needs at least"):
        Trainer(replace(config, model=long), ALONE)
    other = prepared(tmp_path / "other")
    np.save(other / "valid.npy", np.full(1000, 300, dtype=np.uint16))
    with pytest.raises(ValueError, match=r"valid.npy holds the token id 300, .* has 300 tokens"):
        Trainer(replace(config, data=other), ALONE)


def test_another_model_is_not_resumed(data: Path, tmp_path: Path) -> None:
    """One of the other family or of another size; the run stays as it was."""
    config = configured(data, tmp_path)
    train(replace(config, steps=2))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="go on from it with --resume"):
        Trainer(config, ALONE)
    for model, message in (
        (FAMILIES["classic"], "family is 'modern' in the run and 'classic' now"),
        (replace(config.model, d_model=32), "d_model is 16 in the run and 32 now"),
    ):
        with pytest.raises(ValueError, match=message):
            Trainer(replace(config, model=model, resume=True), ALONE)
    last = max(tmp_path.glob("step-*.pt"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    last.write_bytes(last.read_bytes()[:1000])
    with pytest.raises(ValueError, match=f"{last.name} cannot be resumed from"):
        Trainer(replace(config, resume=True), ALONE)


def test_a_checkpoint_of_the_other_family_is_not_resumed(data: Path, tmp_path: Path) -> None:
    """Wherever it comes from; it stays as it was, and the message says what does not fit."""
    config, other = (configured(data, tmp_path / family, family) for family in FAMILIES)
    for each in (config, other):
        train(replace(each, steps=2))
    checkpoint = config.out / "step-00000002.pt"
    foreign = (other.out / checkpoint.name).read_bytes()
    checkpoint.write_bytes(foreign)
    with pytest.raises(ValueError, match=r"step-00000002.pt cannot .* is not in the model"):
        Trainer(replace(config, resume=True), ALONE)
    assert checkpoint.read_bytes() == foreign
