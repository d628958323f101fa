"""Values that make no sense: each is refused with its name and what is allowed."""

import math
from typing import Any

import numpy as np
import pytest

from cs336_basics.allowed import require_number, require_whole
from cs336_basics.families import build_model
from cs336_basics.generation import GenerationConfig


@pytest.mark.parametrize("value", [1, 7, np.int64(3), np.uint16(10), 10])
def test_whole_numbers_of_the_range_are_allowed(value: int) -> None:
    """Those of NumPy, too."""
    require_whole("steps", value, 1, 10)


@pytest.mark.parametrize("value", [0, 11, -1, 2.0, 2.5, math.nan, math.inf, True, "3", None, [1]])
def test_other_values_are_no_whole_numbers_of_the_range(value: object) -> None:
    """The message has the name, the value and the range."""
    with pytest.raises(ValueError, match=r"steps = .* must be a whole number, from 1 to 10"):
        require_whole("steps", value, 1, 10)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0, -1.5, 10**400, True, "1"])
def test_numbers_must_be_finite_and_of_the_range(value: object) -> None:
    """Whatever their type."""
    with pytest.raises(ValueError, match=r"rate = .* must be a finite number, positive"):
        require_number("rate", value, "positive", lambda x: x > 0)
    require_number("rate", np.float32(0.5), "positive", lambda x: x > 0)


@pytest.mark.parametrize(
    "settings",
    [
        *({"max_new_tokens": value} for value in (-1, 2.5, math.nan, True)),
        *({"top_k": value} for value in (0, -3, 2.5, math.inf, True)),
        *({"seed": value} for value in (-1, 2**64, 0.5)),
        *({"context_length": value} for value in (0, 2.5)),
        *({"end_of_text": value} for value in (-1, 1.5)),
        *({"temperature": value} for value in (-0.1, math.nan, math.inf)),
        *({"top_p": value} for value in (-0.1, 1.1, math.nan)),
    ],
    ids=str,
)
def test_generation_refuses_what_makes_no_sense(settings: dict[str, Any]) -> None:
    """Before the first token."""
    [name] = settings
    with pytest.raises(ValueError, match=f"{name} = "):
        GenerationConfig(**{"max_new_tokens": 5, **settings})


@pytest.mark.parametrize("value", [0, -4, 8.0, "8", True, None])
@pytest.mark.parametrize("name", ["vocab_size", "context_length", "d_model", "num_layers", "d_ff"])
def test_a_model_of_sizes_that_make_no_sense_is_refused(name: str, value: object) -> None:
    """In the words of the sizes, and not of torch."""
    sizes = {"vocab_size": 9, "context_length": 8, "d_model": 8, "num_layers": 1, "num_heads": 2}
    with pytest.raises(ValueError, match=f"{name} = .* must be a whole number, at least 1"):
        build_model({"family": "classic", **sizes, "d_ff": 8, name: value})
