"""The configuration of a run: from the command line and from a file, and what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cs336_basics import train as command
from cs336_basics.training.config import TrainConfig, parse
from cs336_basics.training.loop import Trainer
from cs336_basics.training.optimizer_config import OptimizerConfig
from grader_tests.unit.training_runs import ALONE, FAMILIES, Killer, configured, prepared, train


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
    with pytest.raises(Killer.Killed):
        train(config, kill_after=3)
    for path in (tmp_path / "run.json", tmp_path / "config.json"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'"{family}"', f'"{former}"'), encoding="utf-8")
    assert parse(["--config", str(tmp_path / "run.json")]).model == config.model
    assert Trainer(replace(config, resume=True), ALONE).step == 2


def test_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    """Options after --config replace those of the file, and what neither says is as by default."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"steps": 50, "model": {"family": "classic", "tie_weights": False}}))
    config = parse(["--model.d-model", "64", "--config", str(path), "--optimizer.beta2", "0.99"])
    assert (config.steps, config.model.d_model, config.model.tie_weights) == (50, 64, False)
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


@pytest.mark.parametrize("values", [{"steps": 0}, {"steps": 2.5}, {"model": {"d_ff": "wide"}}])
def test_a_file_with_values_that_make_no_sense_is_named(
    tmp_path: Path, values: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the option, because it is not in what was typed."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    with pytest.raises(SystemExit):
        parse(["--config", str(path)])
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--stepz=5", "--steps=many", "--model.family=bert"])
def test_a_command_line_with_what_means_nothing_is_refused(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends as a wrong command does, and says which word it is."""
    with pytest.raises(SystemExit) as ended:
        parse([option])
    assert ended.value.code == 2
    assert option.removeprefix("--").split("=")[0] in "".join(capsys.readouterr())


AT_LEAST_ONE = (
    *("steps", "batch_size", "accumulation", "eval_every", "eval_sequences", "checkpoint_every"),
    *("keep", "model.context_length", "model.d_model", "model.num_layers", "model.num_heads"),
    *("model.d_ff", "model.num_kv_heads"),
)
POSITIVE = ("optimizer.learning_rate", "optimizer.eps", "optimizer.max_norm", "model.rope_theta")
NOT_NEGATIVE = ("optimizer.min_learning_rate", "optimizer.weight_decay")
SHARES = ("optimizer.beta1", "optimizer.beta2", "model.dropout")
SENSELESS = [
    *((name, value) for name in AT_LEAST_ONE for value in ("0", "-4", "2.5", "nan", "many")),
    *((name, value) for name in POSITIVE for value in ("0", "-1", "nan", "inf", "1e400", "much")),
    *((name, value) for name in NOT_NEGATIVE for value in ("-1", "nan", "inf", "-1e-9")),
    *((name, value) for name in SHARES for value in ("1", "-0.1", "nan")),
    ("model.dropout", "0.1"),  # the modern family has none
    ("model.num_kv_heads", "3"),  # of 4 heads
    *(("optimizer.learning_rate", "1e300"), ("optimizer.eps", "10"), ("out", "runs/caf\udce9")),
    ("optimizer.weight_decay", "400"),  # at a learning rate of 3e-3
    *(("optimizer.warmup_steps", value) for value in ("-1", "2.5", "1001")),
    *(("sample_tokens", "-1"), ("seed", "-1"), ("seed", "0.5"), ("wandb", "")),
    *(("device", "abacus"), ("dtype", "float16"), ("model.family", "bert")),
    *(("model.positions", "sinusoidal"), ("model.positions", "none"), ("model.num_heads", "3")),
    *(("optimizer.min_learning_rate", "1"), ("accumulation", "3"), ("prompt", "caf\udce9")),
]


@pytest.mark.parametrize(("name", "value"), SENSELESS)
def test_values_that_make_no_sense_are_refused(
    name: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name of the option, before anything is written, and without a traceback."""
    out = tmp_path / "run"
    with pytest.raises(SystemExit) as ended:
        command.main([f"--out={out}", f"--{name.replace('_', '-')}={value}"])
    assert ended.value.code == 2
    said = "".join(capsys.readouterr())
    assert name in said or name.replace("_", "-") in said
    assert "Traceback" not in said
    assert not out.exists()


def test_what_is_too_much_for_the_memory_is_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model before it is built, a batch with what to change, and without a traceback."""
    small = ["--model.context-length=16", "--model.d-model=16", "--model.num-heads=2"]
    options = [f"--data={data}", *small, "--sample-tokens=2"]
    for size, message in (
        ("model.num-layers=1000000000", "a model of these sizes has at least 2,"),
        ("model.d-model=1000000000", "GiB, and this machine has"),
        ("model.d-ff=40000000000000000000", "GiB, and this machine has"),
        ("batch-size=10000000000000", "not enough memory: batch_size = 10000000000000 in"),
    ):
        assert command.main([*options, f"--out={tmp_path / size}", f"--{size}"]) == 1
        [line] = capsys.readouterr().err.splitlines()
        assert message in line


def test_a_vocabulary_with_gaps_is_refused(data: Path, tmp_path: Path) -> None:
    """A model would write tokens that are none."""
    shutil.copytree(data, tmp_path / "data")
    path = tmp_path / "data" / "vocab.json"
    ids = json.loads(path.read_text(encoding="utf-8"))
    last = max(ids, key=ids.__getitem__)
    path.write_text(json.dumps(ids | {last: 400}), encoding="utf-8")
    with pytest.raises(ValueError, match="has 300 tokens, but ids up to 400"):
        Trainer(configured(tmp_path / "data", tmp_path / "run"), ALONE)


@pytest.mark.parametrize(
    ("name", "value"),
    [("steps", 2.0), ("steps", True), ("batch_size", 16.5), ("seed", 0.0), ("keep", "3")],
)
def test_numbers_of_another_type_are_refused(name: str, value: object) -> None:
    """Whoever builds the configuration in Python is told the same."""
    with pytest.raises(ValueError, match=rf"{name} = {value!r} must be a whole number"):
        TrainConfig(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("prompt", ["--out", "- she said", "", "a = b\nc", "[red]", "\u2028"])
def test_a_prompt_in_a_file_is_data(tmp_path: Path, prompt: str) -> None:
    """Also where it looks like an option."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"prompt": prompt}), encoding="utf-8")
    assert parse([f"--config={path}"]).prompt == prompt


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


def test_a_checkpoint_of_the_other_family_is_not_resumed(data: Path, tmp_path: Path) -> None:
    """Wherever it comes from; it stays as it was, and the message says what does not fit."""
    config, other = (configured(data, tmp_path / family, family) for family in FAMILIES)
    for each in (config, other):
        with pytest.raises(Killer.Killed):
            train(each, kill_after=3)
    checkpoint = config.out / "step-00000002.pt"
    foreign = (other.out / checkpoint.name).read_bytes()
    checkpoint.write_bytes(foreign)
    with pytest.raises(ValueError, match=r"step-00000002.pt cannot .* is not in the model"):
        Trainer(replace(config, resume=True), ALONE)
    assert checkpoint.read_bytes() == foreign
