"""Checks of softmax and of scaled dot-product attention."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cs336_checks.comparison import is_finite
from cs336_checks.draws import Draws
from cs336_checks.properties import assert_differs, assert_leaves_arguments, gradient
from cs336_checks.snapshots import Snapshot


def test_softmax(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Turns the numbers along the given dimension into probabilities."""
    for dim in (-1, 0, 1, -2):
        x = draw.normal(3, 4, 5, scale=2.0)
        expected = torch.softmax(x, dim)
        y = adapters.run_softmax(x, dim)
        snapshot.assert_close(y, expected, f"dim={dim}", atol=1e-5, rtol=1e-5)
        snapshot.assert_match(y, f"output, dim={dim}", atol=1e-5, rtol=1e-5)


def test_softmax_far_apart(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Subtracts each row's own maximum, so that no row overflows or vanishes."""
    x = draw.normal(4, 5, scale=2.0)
    x += torch.tensor([[0.0], [-200.0], [500.0], [-300.0]])
    x[0, 1] = 500.0
    expected = torch.softmax(x, -1)
    y = adapters.run_softmax(x, -1)
    assert is_finite(y), "Your output has NaN or infinity: shift each row by its own maximum."
    # A number of 500 is known to 3e-5 in float32, and so is the logarithm of a row's sum.
    snapshot.assert_close(y, expected, atol=1e-3, rtol=1e-3)


def test_softmax_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes a tensor of any number of dimensions."""
    for shape in [(5,), (2, 5), (1, 1, 5), (2, 3, 4, 5)]:
        x = draw.normal(*shape, scale=2.0)
        expected = torch.softmax(x, -1)
        y = adapters.run_softmax(x, -1)
        snapshot.assert_close(y, expected, f"input of shape {shape}", atol=1e-5)


def test_softmax_certain(adapters: Any, snapshot: Snapshot) -> None:
    """Gives exactly 1 to a number far above all others of its row, and 0 to minus infinity."""
    x = torch.tensor([[100.0, 0.0, -100.0], [0.0, -torch.inf, -torch.inf]])
    expected = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    # A constant of 1e-6 added to the sum shows, the rounding of a float32 does not.
    snapshot.assert_close(adapters.run_softmax(x, -1), expected, atol=9e-8, rtol=0.0)


def test_softmax_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to the input, through the sum too."""
    x, upstream = draw.normal(3, 5), draw.normal(3, 5)
    expected = gradient(lambda x: torch.softmax(x, -1), x, upstream)
    found = gradient(lambda x: adapters.run_softmax(x, -1), x, upstream)
    snapshot.assert_close(found, expected, "gradient", atol=1e-5)


def test_softmax_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its argument as it was and gives the same result when called again."""
    assert_leaves_arguments(
        snapshot, lambda x: adapters.as_given.run_softmax(x, -1), draw.normal(3, 5)
    )


def test_softmax_half_precision(adapters: Any, draw: Draws) -> None:
    """Returns the input's dtype."""
    for dtype in (torch.float16, torch.bfloat16):
        y = adapters.run_softmax(draw.normal(3, 5).to(dtype), -1)
        assert y.dtype == dtype, f"The input is {dtype}, your output is {y.dtype}."


def draw_attention(draw: Draws, *leading: int) -> tuple[Tensor, Tensor, Tensor]:
    """Four queries and seven keys of size 6, seven values of size 5."""
    Q = draw.normal(*leading, 4, 6, scale=1.5)
    K = draw.normal(*leading, 7, 6, scale=1.5)
    return Q, K, draw.normal(*leading, 7, 5)


def draw_mask(draw: Draws, *leading: int) -> Tensor:
    """A (…, 4, 7) mask in which every query may attend to three keys at least."""
    ranks = draw.uniform(*leading, 4, 7, low=0.0, high=1.0).argsort(-1)
    return ranks < torch.tensor([[3], [4], [5], [7]])


def test_attention(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Weighs the values by the softmax of QKᵀ/√d_k over the keys the mask allows."""
    Q, K, V = draw_attention(draw, 3)
    mask = draw_mask(draw, 3)
    expected = functional.scaled_dot_product_attention(Q, K, V, mask)
    y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
    snapshot.assert_close(y, expected)
    snapshot.assert_match(y)


def test_attention_heads(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Works on each row of the batch and each head by itself."""
    Q, K, V = draw_attention(draw, 3, 2)
    mask = draw_mask(draw, 3, 2)
    expected = functional.scaled_dot_product_attention(Q, K, V, mask)
    y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
    snapshot.assert_close(y, expected)
    snapshot.assert_match(y)


def test_attention_without_mask(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets every query attend to every key where there is no mask."""
    Q, K, V = draw_attention(draw, 3)
    expected = functional.scaled_dot_product_attention(Q, K, V)
    y = adapters.run_scaled_dot_product_attention(Q, K, V)
    snapshot.assert_close(y, expected, "output without a mask")
    Q, K, V = draw_attention(draw, 3)
    expected = functional.scaled_dot_product_attention(Q, K, V)
    y = adapters.run_scaled_dot_product_attention(Q, K, V, torch.ones(3, 4, 7, dtype=torch.bool))
    snapshot.assert_close(y, expected, "output with a mask that allows everything")


def test_attention_hidden_keys(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps keys and values that the mask hides out of the result altogether."""
    Q, K, V = draw_attention(draw, 3)
    everything = torch.ones(3, 4, 7, dtype=torch.bool)
    attention = adapters.run_scaled_dot_product_attention
    expected = attention(Q, K[:, :4], V[:, :4], everything[..., :4])
    # The hidden keys have the greatest scores, and the slightest weight on their values shows.
    K[:, 4:], V[:, 4:] = 2.0 * Q[:, :3], 1e36
    mask = everything.clone()
    mask[..., 4:] = False
    y = attention(Q, K, V, mask)
    snapshot.assert_close(y, expected, "output, against that without the hidden keys")
    seen = attention(Q, K, V, everything)
    assert_differs(
        seen, expected, "Your output stays the same whether the mask hides the last keys or not."
    )


def test_attention_leading_dimensions(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes queries, keys and values with more dimensions before the last two."""
    for leading in [(1, 1), (2, 3, 2)]:
        Q, K, V = draw_attention(draw, *leading)
        mask = draw_mask(draw, *leading)
        expected = functional.scaled_dot_product_attention(Q, K, V, mask)
        y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
        snapshot.assert_close(y, expected, f"queries of shape {tuple(Q.shape)}")


def test_attention_unbatched(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes queries, keys and values without a batch dimension."""
    Q, K, V = draw_attention(draw)
    mask = draw_mask(draw)
    expected = functional.scaled_dot_product_attention(Q, K, V, mask)
    y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
    snapshot.assert_close(y, expected)


def test_attention_shared_mask(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes one (queries, keys) mask for all rows of the batch."""
    Q, K, V = draw_attention(draw, 3, 2)
    mask = draw_mask(draw)
    expected = functional.scaled_dot_product_attention(Q, K, V, mask)
    y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
    snapshot.assert_close(y, expected)


def test_attention_low_scores(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Hides keys and finds the weights where all scores of a query are very low as well."""
    # With small integers and √d_k = 4, float32 holds every score exactly.
    Q, K = (draw.integers(3, length, 16, low=-2, high=3).float() for length in (4, 7))
    V, mask = draw.normal(3, 7, 5), draw_mask(draw, 3)
    # The last feature brings a query's scores down by the same and changes no weight; that of the
    # first key, which is hidden from all, goes up. The fourth query may attend to all others.
    Q[..., -1], K[..., -1] = torch.tensor([300.0, 3e4, 2e6, 0.0]), -4.0
    K[:, 0, -1], mask[..., 0] = 4.0, False
    expected = functional.scaled_dot_product_attention(Q.double(), K.double(), V.double(), mask)
    y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
    # exp(x - logsumexp(x)) rounds the logarithm to a float32 of the scores' size, which multiplies
    # all weights of a query.
    for i, rounding in enumerate((1e-4, 1e-2, 0.7, 1e-4)):
        snapshot.assert_close(y[:, i], expected[:, i].float(), f"query {i}", rtol=rounding)


def test_attention_hidden_row(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps all other queries right where one may attend to no key at all."""
    Q, K, V = draw_attention(draw, 3)
    mask = draw_mask(draw, 3)
    expected = functional.scaled_dot_product_attention(Q, K, V, mask)
    mask[1, 2] = False
    y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
    assert y.shape == expected.shape, (
        f"Shape {tuple(expected.shape)} is expected; yours is {tuple(y.shape)}."
    )
    # What the hidden query itself gets is not said in the text.
    others = torch.ones(3, 4, dtype=torch.bool)
    others[1, 2] = False
    snapshot.assert_close(y[others], expected[others], "the other queries")


def test_attention_permutation(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Uses no positions: another order of the keys changes nothing, of queries only the rows."""
    Q, K, V = draw_attention(draw, 3)
    expected = adapters.run_scaled_dot_product_attention(Q, K, V)
    order, queries = draw.permutation(7), draw.permutation(4)
    y = adapters.run_scaled_dot_product_attention(Q[:, queries], K[:, order], V[:, order])
    snapshot.assert_close(y, expected[:, queries], "output with queries and keys permuted")


def test_attention_gradient(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Lets the gradient flow back to queries, keys and values."""
    given = draw_attention(draw, 3)
    mask, upstream = draw_mask(draw, 3), draw.normal(3, 4, 5)

    def found(attention: Callable[..., Tensor], i: int) -> Tensor:
        return gradient(
            lambda x: attention(*given[:i], x, *given[i + 1 :], mask), given[i], upstream
        )

    expected = [found(functional.scaled_dot_product_attention, i) for i in range(3)]
    for i, name in enumerate(("queries", "keys", "values")):
        y = found(adapters.run_scaled_dot_product_attention, i)
        snapshot.assert_close(y, expected[i], f"gradient of the {name}")


def test_attention_arguments(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves its arguments, the mask too, as they were and gives the same result again."""
    arguments = (*draw_attention(draw, 3), draw_mask(draw, 3))
    assert_leaves_arguments(
        snapshot, adapters.as_given.run_scaled_dot_product_attention, *arguments
    )


def test_attention_float16(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Works in float16, where -1e9 is no number, and returns float16."""
    Q, K, V = (x.to(torch.float16) for x in draw_attention(draw, 3))
    mask = draw_mask(draw, 3)
    expected = functional.scaled_dot_product_attention(Q.float(), K.float(), V.float(), mask)
    y = adapters.run_scaled_dot_product_attention(Q, K, V, mask)
    snapshot.assert_close(y, expected.to(torch.float16), atol=0.02, rtol=0.02, same_dtype=True)
