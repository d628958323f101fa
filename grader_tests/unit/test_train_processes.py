"""Two processes that train together equal one."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cs336_basics.files import write_json
from cs336_basics.training.config import as_json
from grader_tests.unit.training_runs import (
    STEPS,
    Killer,
    assert_same_bits,
    configured,
    final_state,
    prepared,
    train,
)

ROOT = Path(__file__).parents[2]


def torchrun(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command in two processes, which find each other on this machine alone."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"),
            *("--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "-m", "cs336_basics.train"),
            *arguments,
        ],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path: Path) -> None:
    """Parts of a step one after the other or side by side give the same bits.

    The two take over from the one in the middle, so that resuming together is tried as well.
    """
    torch.set_num_threads(1)
    data = prepared(tmp_path / "data")
    alone = replace(configured(data, tmp_path / "one"), accumulation=2)
    train(alone)
    together = replace(configured(data, tmp_path / "two"), accumulation=1)
    with pytest.raises(Killer.Killed):
        train(replace(together, accumulation=2), kill_after=STEPS // 2)
    write_json(tmp_path / "run.json", as_json(together))
    ended = torchrun("--config", str(tmp_path / "run.json"), "--resume")
    assert ended.returncode == 0, ended.stderr
    assert_same_bits(final_state(together.out), final_state(alone.out))
