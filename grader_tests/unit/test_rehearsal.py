"""What is done before any submission goes as it will later, and leaves no trace."""

import random
from typing import NoReturn

import numpy as np
import pytest
import torch

from cs336_grader.worker import rehearsal


def state() -> list[object]:
    """What a process has one of, and a check could tell."""
    return [
        random.getstate(),
        repr(np.random.get_state()),
        torch.get_rng_state().tolist(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
    ]


def test_nothing_fails_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is answered by an error; generators and settings stay as they were."""

    def describe(error: BaseException, *_: object) -> NoReturn:
        raise AssertionError("a call was answered by an error") from error

    monkeypatch.setattr("cs336_grader.worker.session.describe", describe)
    before = state()
    rehearsal.perform()
    assert state() == before
