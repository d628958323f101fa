"""An exception that means one thing most often says so in a sentence, in either runner."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

from cs336_checks.exceptions import remark
from cs336_grader.judging.verdict import case_result
from cs336_grader.running.faults import SubmissionError


def run_rope(d_k: int) -> None:
    """Take too few arguments."""


def other() -> None:
    """Be no adapter."""


def load(**weights: torch.Tensor) -> None:
    """Load weights into a layer that has one of shape (4, 8)."""
    torch.nn.Linear(8, 4, bias=False).load_state_dict(weights)


class Tokenizer:
    """A tokenizer without methods."""


ADAPTERS: Any = ModuleType("tests.adapters")
TOKENIZER: Any = Tokenizer()
ROPE: Any = run_rope
OTHER: Any = other

CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: ROPE(1, 2), "Your run_rope takes other arguments"),
    (lambda: ROPE(theta=1), "Your run_rope takes other arguments"),
    (lambda: ADAPTERS.run_silu, "Your adapters have no function run_silu"),
    (lambda: TOKENIZER.encode, "Your Tokenizer has no encode"),
    (
        lambda: load(weight=torch.ones(8, 4)),
        "weight is given as (8, 4) and kept as (4, 8): is it kept transposed?",
    ),
    (lambda: load(weight=torch.ones(2, 4)), "were sizes passed on in another order?"),
    (lambda: load(w=torch.ones(4, 8)), "has weight, for which no weight is given, and no w:"),
    (load, "Your module has weight, for which no weight is given."),
    (
        lambda: load(weight=torch.ones(4, 8), bias=torch.ones(4)),
        "Your module has no bias, for which a weight is given.",
    ),
    (lambda: torch.ones(3, 8) @ torch.ones(4, 8), "would fit if the second were transposed"),
    (lambda: torch.ones(3, 8) @ torch.ones(5, 4), ""),
    (lambda: TOKENIZER.vocabulary, ""),
    (lambda: OTHER(1), ""),
]


@pytest.mark.parametrize(("call", "sentence"), CALLS)
def test_an_exception_is_explained(call: Callable[[], object], sentence: str) -> None:
    """Here by the exception itself, in the grader by the text that came of it."""
    kinds = (TypeError, AttributeError, RuntimeError)
    with pytest.raises(kinds) as found:
        call()
    error = found.value
    afar = SubmissionError("Your run_x", type(error).__name__, str(error), (), None)
    for one in (error, afar):
        assert sentence in remark(one)
        assert bool(remark(one)) == bool(sentence)


def test_a_stub_is_called_one() -> None:
    """Whatever it says; what PyTorch cannot do was written."""
    assert "not written yet" in remark(NotImplementedError("later"))
    error = NotImplementedError("Could not run 'aten::sort' with arguments from the 'Meta' backend")
    assert not remark(error)


def test_a_note_is_told_first() -> None:
    """The report begins with what helps most."""
    error = SubmissionError("Your run_x", "TypeError", "no", ("a.py:3",), None)
    error.add_note("It means this.")
    message = case_result("test_x", error).message
    assert message == "It means this.\nYour run_x raised TypeError: no (at a.py:3)"
