"""What rotated positions have that added ones have not; the numbers of docs/positions.md."""

import math
from pathlib import Path

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cs336_basics.gpt import sinusoidal_positions
from cs336_basics.model import rope

DOCUMENT = Path(__file__).parents[2] / "docs" / "positions.md"
D_K = 64
LENGTH = 2048
THETA = 10000.0
# Where query and key stand; the first four at distance 3, the others at other distances.
PLACES = [(3, 0), (10, 7), (100, 97), (1000, 997), (10, 10), (17, 7), (107, 7)]
POSITIONS = st.integers(0, LENGTH // 2 - 1)


def query_and_key() -> tuple[Tensor, Tensor]:
    """Two vectors that no one chose, the same on every machine."""
    random = np.random.default_rng(0)
    return torch.from_numpy(random.normal(size=D_K)), torch.from_numpy(random.normal(size=D_K))


def rotated(x: Tensor, position: int) -> Tensor:
    """A query or key at a position."""
    return rope(x.unsqueeze(0), torch.tensor([position]), THETA)[0]


def rotary_score(i: int, j: int) -> float:
    """The score of the query at i and the key at j, rotated."""
    query, key = query_and_key()
    return (rotated(query, i) @ rotated(key, j)).item() / math.sqrt(D_K)


def added_terms(i: int, j: int) -> list[float]:
    """The four products in (q + pᵢ)·(k + pⱼ)/√d_k: qk, q with pⱼ, pᵢ with k, pᵢ with pⱼ."""
    query, key = query_and_key()
    table = sinusoidal_positions(LENGTH, D_K, torch.float64)
    terms = (query @ key, query @ table[j], table[i] @ key, table[i] @ table[j])
    return [term.item() / math.sqrt(D_K) for term in terms]


def test_the_document_shows_these_numbers() -> None:
    """The table of the document, line by line."""
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    for i, j in PLACES:
        terms = added_terms(i, j)
        numbers = [rotary_score(i, j), sum(terms), *terms]
        row = " | ".join([f"| {i}", str(j), str(i - j), *(f"{n:.3f}" for n in numbers)]) + " |"
        assert row in lines, row


@given(i=POSITIONS, j=POSITIONS, shift=st.integers(0, LENGTH // 2))
@settings(max_examples=50, deadline=None)
def test_a_rotated_score_depends_on_distance_alone(i: int, j: int, shift: int) -> None:
    """Wherever the pair stands, the score is the same."""
    assert abs(rotary_score(i + shift, j + shift) - rotary_score(i, j)) < 1e-10


def test_added_positions_leave_cross_terms() -> None:
    """Only the product of the positions themselves knows distances; query and key meet places."""
    terms = torch.tensor([added_terms(shift + 3, shift) for shift in range(1500)])
    spread = terms.amax(dim=0) - terms.amin(dim=0)
    assert spread[0] == 0
    assert spread[1] > 1
    assert spread[2] > 1
    assert spread[3] < 1e-5


@given(i=POSITIONS, j=POSITIONS)
@settings(max_examples=50, deadline=None)
def test_rotations_are_a_group(i: int, j: int) -> None:
    """The transpose of a rotation is its inverse, and one after another adds their angles."""
    identity = torch.eye(D_K, dtype=torch.float64)
    # Each row is the image of a unit vector, so these are the transposes of the rotations.
    first, second, both = (
        rope(identity, torch.full((D_K,), position), THETA) for position in (i, j, i + j)
    )
    torch.testing.assert_close(first @ first.T, identity, atol=1e-12, rtol=0)
    torch.testing.assert_close(first @ second, both, atol=1e-10, rtol=0)
