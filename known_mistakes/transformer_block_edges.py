"""The Transformer block: small inputs, shapes, gradients and precision."""

import math

from torch import Tensor

from .catalogue import mistake
from .parts import Parts, Step, Weights, random


@mistake(
    "transformer_block",
    "wire_block",
    kind="edge",
    wrong="the norms' epsilon is far below 1e-5",
    hint="Small inputs show it: which epsilon does your block hand to its norms?",
)
def small_epsilon(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    # A larger input makes the same epsilon weigh less.
    return Parts.wire_block(
        parts, x, lambda y: norm1(100 * y), attend, lambda y: norm2(100 * y), feed_forward
    )


@mistake(
    "transformer_block",
    "wire_block",
    kind="edge",
    wrong="the norms' epsilon is 1e-6 instead of 1e-5",
    hint="Small inputs show it: which epsilon does your block hand to its norms?",
)
def epsilon_of_1e_6(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    # A larger input makes the same epsilon weigh less.
    more = math.sqrt(10)
    return Parts.wire_block(
        parts, x, lambda y: norm1(more * y), attend, lambda y: norm2(more * y), feed_forward
    )


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="dropout is active on what each part gives",
    hint="The text has no dropout here. Call your block twice with one input: both results must "
    "be equal.",
)
def dropout(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    kept = (random(*x.shape) > -1.0) / 0.84
    return Parts.wire_block(
        parts, x, norm1, lambda y: attend(y) * kept, norm2, lambda y: feed_forward(y) * kept
    )


@mistake(
    "transformer_block",
    "wire_block",
    kind="edge",
    wrong="dimensions of size one are squeezed out of the output",
    hint="A batch of one, or one position, is still a dimension: which of your calls removes "
    "dimensions that it was not asked to?",
)
def squeezed(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return Parts.wire_block(parts, x, norm1, attend, norm2, feed_forward).squeeze()


@mistake(
    "transformer_block",
    "wire_block",
    kind="interface",
    wrong="the residual stream is kept out of the gradient",
    hint="The direct way through the sums is what lets deep models learn: nothing on it may be "
    "detached.",
)
def detached_stream(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    y = x.detach() + attend(norm1(x))
    return y.detach() + feed_forward(norm2(y))


@mistake(
    "transformer_block",
    "wire_block",
    kind="interface",
    wrong="the result is cut off from the input, so that no gradient flows back",
    hint="Is the input detached, copied as data, or used in a block without gradients?",
)
def detached(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return Parts.wire_block(parts, x.detach(), norm1, attend, norm2, feed_forward)


@mistake(
    "transformer_block",
    "wire_block",
    kind="numerics",
    wrong="the residual stream is kept in bfloat16",
    hint="Compare dtypes on the way: bfloat16 keeps about three digits, and every sum loses the "
    "others.",
)
def bfloat16_stream(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    y = (x.bfloat16() + attend(norm1(x)).bfloat16()).float()
    return (y.bfloat16() + feed_forward(norm2(y)).bfloat16()).float()


@mistake(
    "transformer_block",
    "wire_block",
    kind="laziness",
    wrong="only the first row of the batch is computed, and repeated for the others",
    hint="Change the second row of the batch: does its output change?",
)
def first_row_repeated(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return Parts.wire_block(parts, x, norm1, attend, norm2, feed_forward)[:1].expand_as(x)


@mistake(
    "transformer_block",
    "run_transformer_block",
    kind="laziness",
    wrong="the feed-forward network's width follows from d_model, whatever d_ff is given",
    hint="8/3 of d_model is what one chooses for d_ff. Which number does your block hand on?",
)
def width_from_d_model(
    parts: Parts, d: int, H: int, d_ff: int, length: int, theta: float, weights: Weights, x: Tensor
) -> Tensor:
    usual = math.ceil(8 * d / 3 / 64) * 64
    widened = weights | {"ffn.w1.weight": weights["ffn.w1.weight"].view(usual, d)}
    return Parts.run_transformer_block(parts, d, H, usual, length, theta, widened, x)
