"""make train ends with a loss near the floor, and a story."""

from pathlib import Path

import pytest
import torch

from cs336_basics import encode, generate, stories, train
from cs336_basics.training.runs import read_metrics

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_make_train_comes_near_the_floor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As near as the README says, and what it ends with tells a story to its end."""
    torch.set_num_threads(1)
    assert stories.main(["--out", str(tmp_path)]) == 0
    texts = [str(tmp_path / "train.txt"), str(tmp_path / "valid.txt")]
    assert encode.main([*texts, "--out", str(tmp_path), "--vocab-size", "1536"]) == 0
    config = str(ROOT / "examples" / "stories.json")
    out = tmp_path / "run"
    assert train.main(["--config", config, f"--data={tmp_path}", f"--out={out}"]) == 0
    last = read_metrics(out)[-1]
    assert last["floor"] < last["valid_loss"] < last["floor"] + 0.2
    capsys.readouterr()
    checkpoint = str(out / "best.pt")
    assert generate.main(["Once upon a time", "--checkpoint", checkpoint, "--seed=0"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Once upon a time")
    assert told.endswith((".\n", '."\n'))
