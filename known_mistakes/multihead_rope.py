"""Causal multi-head self-attention with RoPE: what is turned, and by which positions."""

import torch
from torch import Tensor

from cs336_basics.model import split_heads

from .catalogue import mistake
from .multihead import attended, output_of, projected
from .parts import Parts, Projections, Rope, Step, causal, for_heads, merged
from .rope import angles_of, turned


def turning(parts: Parts, d_k: int, rope: Rope, positions: Tensor) -> Step:
    """RoPE at these positions."""
    return lambda y: torch.as_tensor(parts.run_rope(d_k, rope.theta, rope.length, y, positions))


def turn_both(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, queries: Step, keys: Step
) -> Tensor:
    """Multi-head self-attention in which queries and keys are turned in two ways."""
    Q, K, V = (split_heads(y, num_heads) for y in projected(parts, x, weights))
    mask = causal(x.shape[-2])
    heads = parts.run_scaled_dot_product_attention(queries(Q), keys(K), V, mask)
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="laziness",
    wrong="nothing is turned, or all tokens of a head are turned alike",
    hint="Exchange two positions: the output must change. Where is RoPE called, and along which "
    "dimension does it count?",
)
def not_turned(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    return torch.as_tensor(parts.attend_in_heads(num_heads, weights, x, lambda y: y))


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="only the queries are turned",
    hint="A score depends on the distance of two positions only if both are turned.",
)
def queries_alone(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    turn = turning(parts, x.shape[-1] // num_heads, rope, for_heads(at, x.shape[-2]))
    return turn_both(parts, num_heads, weights, x, turn, lambda y: y)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="only the keys are turned",
    hint="A score depends on the distance of two positions only if both are turned.",
)
def keys_alone(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    turn = turning(parts, x.shape[-1] // num_heads, rope, for_heads(at, x.shape[-2]))
    return turn_both(parts, num_heads, weights, x, lambda y: y, turn)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="queries and keys are turned in opposite directions",
    hint="Then a score depends on the sum of two positions. Shift all positions by the same "
    "number: the output must stay.",
)
def opposite_directions(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    d_k, positions = x.shape[-1] // num_heads, for_heads(at, x.shape[-2])

    def turn_back(y: Tensor) -> Tensor:
        return turned(y, -angles_of(d_k, rope.theta, positions))

    turn = turning(parts, d_k, rope, positions)
    return turn_both(parts, num_heads, weights, x, turn, turn_back)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="the values are turned too",
    hint="Positions matter to where a query looks, not to what it finds there: which of the three "
    "are turned in the text?",
)
def values_too(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    turn = turning(parts, x.shape[-1] // num_heads, rope, for_heads(at, x.shape[-2]))
    Q, K, V = (turn(split_heads(y, num_heads)) for y in projected(parts, x, weights))
    heads = parts.run_scaled_dot_product_attention(Q, K, V, causal(x.shape[-2]))
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="queries and keys are turned twice",
    hint="Is RoPE applied in your attention and again by its caller?",
)
def turned_twice(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    turn = turning(parts, x.shape[-1] // num_heads, rope, for_heads(at, x.shape[-2]))
    return turn_both(parts, num_heads, weights, x, lambda y: turn(turn(y)), lambda y: turn(turn(y)))


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="queries and keys are turned over their full width, before they are split into heads",
    hint="Each head is turned by itself, so that all heads have the same angles: split first.",
)
def turned_before_the_split(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    positions = torch.arange(x.shape[-2]) if at is None else at
    turn = turning(parts, x.shape[-1], rope, positions)
    q, k, v = projected(parts, x, weights)
    qkv = (turn(q), turn(k), v)
    heads = attended(parts, num_heads, qkv, lambda y: y, causal(x.shape[-2]))
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="the exponents are divided by d_model instead of a head's width",
    hint="RoPE is built for what it turns: how wide is a head?",
)
def frequencies_of_full_width(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    slower = Rope(rope.length, rope.theta ** (1 / num_heads))
    return Parts.attend_by_position(parts, num_heads, slower, weights, x, at)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="the input is turned before it is projected",
    hint="What is turned are queries and keys: where does RoPE stand between projection and score?",
)
def input_turned(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    positions = torch.arange(x.shape[-2]) if at is None else at
    x = turning(parts, x.shape[-1], rope, positions)(x)
    return torch.as_tensor(parts.attend_in_heads(num_heads, weights, x, lambda y: y))


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="laziness",
    wrong="the given positions are ignored, and 0, 1, 2 and so on taken instead",
    hint="Give positions that are far apart: the output must change. Do they reach RoPE?",
)
def ignored_positions(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    return Parts.attend_by_position(parts, num_heads, rope, weights, x, None)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="formula",
    wrong="the causal mask compares the given positions instead of the places in the sequence",
    hint="The mask follows the order in which tokens come, whatever positions they are given.",
)
def mask_by_position(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    positions = for_heads(at, x.shape[-2])
    turn = turning(parts, x.shape[-1] // num_heads, rope, positions)
    mask = positions[..., :, None] >= positions[..., None, :]
    heads = attended(parts, num_heads, projected(parts, x, weights), turn, mask)
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="laziness",
    wrong="Θ is always 10000, whatever is given",
    hint="Call it with two values of Θ and compare: the argument must reach RoPE.",
)
def theta_of_10000(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    fixed = Rope(rope.length, 10000.0)
    return Parts.attend_by_position(parts, num_heads, fixed, weights, x, at)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="laziness",
    wrong="the Θ of the first call is used for every later one",
    hint="What does your class or function keep from one call to the next?",
)
def first_theta_kept(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    kept = Rope(rope.length, parts.kept.setdefault("theta", rope.theta))
    return Parts.attend_by_position(parts, num_heads, kept, weights, x, at)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="edge",
    wrong="RoPE is built for as many positions as there are tokens, so that later positions "
    "cannot be found",
    hint="Positions go up to the greatest length, however short the input at hand is.",
)
def table_of_sequence_length(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    short = Rope(x.shape[-2], rope.theta)
    return Parts.attend_by_position(parts, num_heads, short, weights, x, at)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="edge",
    wrong="positions beyond the number of tokens are cut off at the last one",
    hint="Positions go up to the greatest length, however short the input at hand is.",
)
def positions_cut_off(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    cut = at if at is None else at.clamp(max=x.shape[-2] - 1)
    return Parts.attend_by_position(parts, num_heads, rope, weights, x, cut)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="edge",
    wrong="positions beyond the number of tokens begin again at 0",
    hint="Positions go up to the greatest length, however short the input at hand is.",
)
def positions_wrapped(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    wrapped = at if at is None else at % x.shape[-2]
    return Parts.attend_by_position(parts, num_heads, rope, weights, x, wrapped)


@mistake(
    "multihead_self_attention",
    "attend_by_position",
    kind="interface",
    wrong="the turned queries and keys are kept out of the gradient",
    hint="The table needs no gradient, but queries and keys do: what is detached, or computed "
    "without gradients?",
)
def detached_rotation(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor, at: Tensor | None
) -> Tensor:
    turn = turning(parts, x.shape[-1] // num_heads, rope, for_heads(at, x.shape[-2]))
    return turn_both(
        parts, num_heads, weights, x, lambda y: turn(y).detach(), lambda y: turn(y).detach()
    )
