"""Rotary position embeddings: positions, tables and shapes."""

import torch
from torch import Tensor

from .catalogue import mistake
from .parts import Parts
from .rope import angles_of, turned


@mistake(
    "rope",
    "run_rope",
    kind="laziness",
    wrong="the given positions are ignored, and 0, 1, 2 and so on taken instead",
    hint="Give the same position to all vectors: all of them must turn alike.",
)
def ignored_positions(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, torch.arange(x.shape[-2])))


@mistake(
    "rope",
    "run_rope",
    kind="laziness",
    wrong="the positions of the first row are used for all rows",
    hint="Positions may differ from row to row. Where is only one row of them taken?",
)
def positions_of_first_row(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    while positions.dim() > 1:
        positions = positions[0]
    return turned(x, angles_of(d_k, theta, positions))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="positions are put in order first",
    hint="The vector that came with a position must be turned by it: do positions keep their "
    "places?",
)
def sorted_positions(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions.sort(-1).values))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="positions are counted from the first one given",
    hint="Only what lies before attention knows where a sequence begins: turn by the positions as "
    "they are.",
)
def counted_from_first(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions - positions[..., :1]))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="positions count from 1",
    hint="Position 0 turns by nothing: does your first vector stay as it is?",
)
def positions_from_one(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions + 1))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="positions are divided by the greatest one there may be",
    hint="The angle of a position must not depend on how long a sequence may become: what does "
    "the formula multiply the frequency by?",
)
def relative_to_length(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions / length))


@mistake(
    "rope",
    "run_rope",
    kind="formula",
    wrong="the position is taken from the first dimension, which counts rows of the batch",
    hint="Two equal rows must come out equal: along which dimension do your angles grow?",
)
def position_of_the_row(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    rows = torch.arange(x.shape[0]).view(-1, *[1] * (x.dim() - 2))
    return turned(x, angles_of(d_k, theta, rows))


@mistake(
    "rope",
    "run_rope",
    kind="edge",
    wrong="the table ends one position too early, and the last position is given the one before it",
    hint="How many positions are there if the greatest is one less than the length? Compare the "
    "number of rows of your table.",
)
def last_position_missing(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions.clamp(max=length - 2)))


@mistake(
    "rope",
    "run_rope",
    kind="edge",
    wrong="the table has one row for each vector given, so that later positions cannot be found",
    hint="Positions go up to the greatest length, however short the sequence at hand is.",
)
def table_of_sequence_length(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    return turned(x, angles_of(d_k, theta, torch.arange(x.shape[-2]))[positions])


@mistake(
    "rope",
    "run_rope",
    kind="numerics",
    wrong="positions beyond a few hundred turn by a rounded angle, because the angle is computed "
    "in float16",
    hint="Which is the first integer that float16 cannot hold? Compute angles in float32 and "
    "convert their sines and cosines.",
)
def float16_angles(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions).half().float())


@mistake(
    "rope",
    "run_rope",
    kind="numerics",
    wrong="sines and cosines are kept in bfloat16",
    hint="A table in bfloat16 has about three digits: compare the length of a pair before and "
    "after.",
)
def bfloat16_table(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(d_k, theta, positions)
    cos, sin = (table.bfloat16().float() for table in (angles.cos(), angles.sin()))
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@mistake(
    "rope",
    "run_rope",
    kind="numerics",
    wrong="positions become bfloat16 before they are multiplied, and are rounded from 256 on",
    hint="Which is the first integer that bfloat16 cannot hold? Keep positions in float32 until "
    "the angle is known.",
)
def bfloat16_positions(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions.bfloat16()))


@mistake(
    "rope",
    "run_rope",
    kind="laziness",
    wrong="the table of the first call is used for every later one, whatever its Θ, width and "
    "length",
    hint="A table belongs to one configuration: where is it kept, and by what would you have to "
    "look it up?",
)
def first_table_kept(
    parts: Parts, d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    table = parts.kept.setdefault("rope", angles_of(d_k, theta, torch.arange(length)))
    return turned(x, table[positions])


@mistake(
    "rope",
    "run_rope",
    kind="laziness",
    wrong="the table is looked up by its width and length alone, so that another Θ gets the first "
    "one's angles",
    hint="All that a table depends on belongs to what it is looked up by.",
)
def table_kept_without_theta(
    parts: Parts, d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    table = angles_of(d_k, theta, torch.arange(length))
    return turned(x, parts.kept.setdefault(("rope", d_k, length), table)[positions])


@mistake(
    "rope",
    "run_rope",
    kind="laziness",
    wrong="the table is looked up by Θ and width alone, so that it is too short for a greater "
    "length",
    hint="All that a table depends on belongs to what it is looked up by.",
)
def table_kept_without_length(
    parts: Parts, d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    table = angles_of(d_k, theta, torch.arange(length))
    return turned(x, parts.kept.setdefault(("rope", d_k, theta), table)[positions])


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="the whole table is multiplied with the vectors, which works for the greatest length "
    "alone",
    hint="A sequence may be shorter than the table: take the rows of the positions at hand.",
)
def table_not_cropped(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, angles_of(d_k, theta, torch.arange(length)))


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="exactly three dimensions are expected: batch, position and feature",
    hint="Heads may stand between batch and position, and there may be no batch: name only the "
    "last two dimensions.",
)
def three_dimensions(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(d_k, theta, positions)
    batch, T, _ = x.shape
    return turned(x.view(batch, T, d_k), angles)


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="exactly four dimensions are expected: batch, head, position and feature",
    hint="There may be more or fewer dimensions before the last two: do not unpack the shape.",
)
def four_dimensions(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    batch, heads, T, _ = x.shape
    return turned(x.view(batch, heads, T, d_k), angles_of(d_k, theta, positions))


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="a dimension for heads is inserted into positions that differ by row, whether there are "
    "heads or not",
    hint="Print the shapes of angles and vectors: how many dimensions has each, and which of them "
    "meet?",
)
def head_dimension_inserted(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    angles = angles_of(d_k, theta, positions)
    return turned(x, angles if angles.dim() == 2 else angles.unsqueeze(1))


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="positions must be one row for all",
    hint="Each row may have positions of its own: where do you flatten them, or take their first "
    "dimension for the sequence?",
)
def one_row_of_positions(
    d_k: int, theta: float, length: int, x: Tensor, positions: Tensor
) -> Tensor:
    return turned(x, angles_of(d_k, theta, positions.view(x.shape[-2])))


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="the vectors are turned in place",
    hint="Queries and keys belong to the caller: write into a new tensor.",
)
def in_place(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return x.copy_(turned(x.clone(), angles_of(d_k, theta, positions)))


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="the result is cut off from the input, so that no gradient flows back",
    hint="The table needs no gradient, but queries and keys do: what is detached, copied as data, "
    "or computed without gradients?",
)
def detached(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    return turned(x.detach(), angles_of(d_k, theta, positions))


@mistake(
    "rope",
    "run_rope",
    kind="interface",
    wrong="half of each pair is kept out of the gradient",
    hint="Each new feature depends on both old ones, and both get a gradient: is one of them "
    "copied as data?",
)
def half_detached(d_k: int, theta: float, length: int, x: Tensor, positions: Tensor) -> Tensor:
    still = x.detach()
    mixed = torch.stack([x[..., ::2], still[..., 1::2]], -1).flatten(-2)
    return turned(mixed, angles_of(d_k, theta, positions))
