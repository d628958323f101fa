"""The Transformer block: how its layers are put together."""

import math

from torch import Tensor

from .catalogue import mistake
from .parts import Parts, Step


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="each part's sum is normalized afterwards, instead of each part's input before",
    hint="The text's block is pre-norm: what enters attention, the stream or the normalized "
    "stream? What leaves the block?",
)
def post_norm(x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step) -> Tensor:
    y = norm1(x + attend(x))
    return norm2(y + feed_forward(y))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="each part's output is normalized, instead of its input",
    hint="The text's block normalizes before attention and before the feed-forward network: what "
    "enters them in yours?",
)
def outputs_normalized(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    y = x + norm1(attend(x))
    return y + norm2(feed_forward(y))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the two norms are swapped",
    hint="Each norm has a gain of its own: which of the two stands before attention?",
)
def norms_swapped(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return Parts.wire_block(parts, x, norm2, attend, norm1, feed_forward)


@mistake(
    "transformer_block",
    "wire_block",
    kind="laziness",
    wrong="the first norm is used in both places",
    hint="Each part of the block has a norm with a gain of its own: change the second gain and "
    "see whether the output changes.",
)
def first_norm_twice(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return Parts.wire_block(parts, x, norm1, attend, norm1, feed_forward)


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="attention sees an input that is not normalized",
    hint="Which norm stands before attention in the text, and is it called?",
)
def no_first_norm(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return Parts.wire_block(parts, x, lambda y: y, attend, norm2, feed_forward)


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the feed-forward network sees an input that is not normalized",
    hint="Which norm stands before the feed-forward network in the text, and is it called?",
)
def no_second_norm(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return Parts.wire_block(parts, x, norm1, attend, lambda y: y, feed_forward)


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="x is not added to what attention gives",
    hint="Let attention give zero: what must the feed-forward network see?",
)
def no_first_residual(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    y = attend(norm1(x))
    return y + feed_forward(norm2(y))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="nothing is added to what the feed-forward network gives",
    hint="Let the feed-forward network give zero: what must leave the block?",
)
def no_second_residual(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return feed_forward(norm2(x + attend(norm1(x))))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="there is no residual connection at all",
    hint="Let both parts give zero: the input must leave the block unchanged.",
)
def no_residuals(x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step) -> Tensor:
    return feed_forward(norm2(attend(norm1(x))))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the normalized inputs are added instead of the inputs",
    hint="The residual stream is never normalized itself. Is a variable overwritten by its norm "
    "before you add it?",
)
def normalized_residuals(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    x = norm1(x)
    y = norm2(x + attend(x))
    return y + feed_forward(y)


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the second sum adds the block's input instead of the first sum",
    hint="What attention gave must reach the output by itself as well: let the feed-forward "
    "network give zero.",
)
def second_residual_from_input(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return x + feed_forward(norm2(x + attend(norm1(x))))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the feed-forward network sees the block's input instead of the first sum, beside "
    "attention",
    hint="The two parts come one after the other: what has attention to do with what the second "
    "one sees?",
)
def parallel(x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step) -> Tensor:
    return x + attend(norm1(x)) + feed_forward(norm2(x))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the feed-forward network sees what attention gave, without x",
    hint="The second norm is applied to the sum: which variable do you hand on?",
)
def feed_forward_of_attention(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    attended = attend(norm1(x))
    return x + attended + feed_forward(norm2(attended))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the feed-forward network comes before attention",
    hint="Read the order of the two parts in the text.",
)
def feed_forward_first(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    y = x + feed_forward(norm2(x))
    return y + attend(norm1(y))


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="the block's output is normalized once more",
    hint="Let both parts give zero: the input must leave the block unchanged. The model's last "
    "norm stands outside the blocks.",
)
def normalized_output(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    y = Parts.wire_block(parts, x, norm1, attend, norm2, feed_forward)
    return y / (y.square().mean(-1, keepdim=True) + 1e-5).sqrt()


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="x is added twice",
    hint="How often does the input enter the output? Let both parts give zero.",
)
def input_added_twice(
    parts: Parts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return x + Parts.wire_block(parts, x, norm1, attend, norm2, feed_forward)


@mistake(
    "transformer_block",
    "wire_block",
    kind="formula",
    wrong="each sum is divided by the square root of 2",
    hint="The residual stream grows in this text: nothing makes up for the sums. Let both parts "
    "give zero.",
)
def scaled_sums(x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step) -> Tensor:
    y = (x + attend(norm1(x))) / math.sqrt(2)
    return (y + feed_forward(norm2(y))) / math.sqrt(2)


@mistake(
    "transformer_block",
    "wire_block",
    kind="laziness",
    wrong="the feed-forward network is left out",
    hint="Change the network's weights: does the output change?",
)
def no_feed_forward(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return x + attend(norm1(x))


@mistake(
    "transformer_block",
    "wire_block",
    kind="laziness",
    wrong="attention is left out",
    hint="Change the weights of attention: does the output change?",
)
def no_attention(x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step) -> Tensor:
    return x + feed_forward(norm2(x))


@mistake(
    "transformer_block",
    "wire_block",
    kind="laziness",
    wrong="attention is applied in the place of the feed-forward network too",
    hint="Follow the second half of the block: which layer is called?",
)
def attention_twice(
    x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    y = x + attend(norm1(x))
    return y + attend(norm2(y))
