"""The classic block."""

import torch
from torch import Tensor

from . import transformer_block as modern
from .catalogue import as_in, mistake
from .gpt_attention_heads import PROJECTIONS
from .gpt_feed_forward import without_bias
from .gpt_parts import BlockSizes, GPTParts
from .parts import Step, Weights

# Both families' blocks are put together in the same way, and in the same wrong ways.
for function in (
    modern.post_norm,
    modern.outputs_normalized,
    modern.norms_swapped,
    modern.first_norm_twice,
    modern.no_first_norm,
    modern.no_second_norm,
    modern.no_first_residual,
    modern.no_second_residual,
    modern.no_residuals,
    modern.normalized_residuals,
    modern.second_residual_from_input,
    modern.parallel,
    modern.feed_forward_of_attention,
    modern.feed_forward_first,
    modern.input_added_twice,
    modern.no_feed_forward,
    modern.no_attention,
):
    as_in(function, "gpt_block", "wire_gpt_block")


@mistake(
    "gpt_block",
    "wire_gpt_block",
    kind="formula",
    wrong="the block's output is normalized by the second norm once more",
    hint="Let both parts give zero: the input must leave the block unchanged. The model's last "
    "norm stands outside the blocks.",
)
def normalized_output(
    parts: GPTParts, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
) -> Tensor:
    return norm2(GPTParts.wire_gpt_block(parts, x, norm1, attend, norm2, feed_forward))


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="formula",
    wrong="the norms have no bias",
    hint="LayerNorm has a gain and a bias: are both among your parameters?",
)
def norms_without_bias(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    plain = without_bias("ln1", "ln2", weights=weights)
    return GPTParts.build_gpt_block(parts, sizes, plain, x, training)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="formula",
    wrong="the linear layers of attention have no biases",
    hint="Is the bias of attention asked for where the block builds it?",
)
def attention_without_bias(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    plain = without_bias(*(f"attn.{name}" for name in PROJECTIONS), weights=weights)
    return GPTParts.build_gpt_block(parts, sizes, plain, x, training)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="formula",
    wrong="the norms are RMSNorms, which subtract no mean and have no bias",
    hint="RMSNorm belongs to the modern track: which norm does your block build?",
)
def root_mean_square_norms(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    def normalize(weights: Weights, name: str, x: Tensor) -> Tensor:
        y: Tensor = parts.run_rmsnorm(x.shape[-1], 1e-5, weights[f"{name}.weight"], x)
        return y

    return GPTParts.build_gpt_block(parts.but(normalize=normalize), sizes, weights, x, training)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="laziness",
    wrong="the probability of dropout reaches neither attention nor the feed-forward network",
    hint="Call it twice in training: the outputs must differ.",
)
def dropout_not_handed_on(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    return GPTParts.build_gpt_block(parts, sizes._replace(dropout=0.0), weights, x, training)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="laziness",
    wrong="the feed-forward network has no dropout",
    hint="Let attention give zero: in training, two calls must still differ.",
)
def no_dropout_in_feed_forward(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    def run(d_model: int, d_ff: int, dropout: float, own: Weights, y: Tensor, _: bool) -> Tensor:
        return parts.run_gpt_feed_forward(d_model, d_ff, dropout, own, y, training=False)

    return GPTParts.build_gpt_block(
        parts.but(run_gpt_feed_forward=run), sizes, weights, x, training
    )


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="laziness",
    wrong="attention has no dropout",
    hint="Let the feed-forward network give zero: in training, two calls must still differ.",
)
def no_dropout_in_attention(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    def run(d_model: int, heads: int, dropout: float, own: Weights, y: Tensor, _: bool) -> Tensor:
        return parts.run_gpt_attention(d_model, heads, dropout, own, y, training=False)

    return GPTParts.build_gpt_block(parts.but(run_gpt_attention=run), sizes, weights, x, training)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="formula",
    wrong="dropout is active in evaluation too",
    hint="Outside of training, two calls give the same: is the block told which it is?",
)
def dropout_in_evaluation(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    return GPTParts.build_gpt_block(parts, sizes, weights, x, True)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="laziness",
    wrong="what attention and feed-forward network give is added to x without dropout",
    hint="Dropout is in four places of a block: two lie inside its parts, where are the others?",
)
def no_dropout_of_branches(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    wrong = parts.but(drop_branch=without_drop)
    return GPTParts.build_gpt_block(wrong, sizes, weights, x, training)


def without_drop(dropout: float, training: bool, y: Tensor) -> Tensor:
    """What a part gives, whole."""
    return y


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="formula",
    wrong="dropout is of the sum and not of what is added: it drops the residual stream itself",
    hint="Let both parts give zero: x must come out whole, in training too.",
)
def dropout_of_stream(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    def wire(x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step) -> Tensor:
        y: Tensor = parts.run_dropout(sizes.dropout, x + attend(norm1(x)), training)
        z: Tensor = parts.run_dropout(sizes.dropout, y + feed_forward(norm2(y)), training)
        return z

    wrong = parts.but(drop_branch=without_drop, wire_gpt_block=wire)
    return GPTParts.build_gpt_block(wrong, sizes, weights, x, training)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="edge",
    wrong="the norms' epsilon is 1e-12 instead of 1e-5",
    hint="Small inputs show it: which epsilon does your block hand to its norms?",
)
def epsilon_of_1e_12(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    right = parts.run_layer_norm

    def norm(d_model: int, eps: float, own: Weights, y: Tensor) -> Tensor:
        normalised: Tensor = right(d_model, 1e-12, own, y)
        return normalised

    return GPTParts.build_gpt_block(parts.but(run_layer_norm=norm), sizes, weights, x, training)


@mistake(
    "gpt_block",
    "build_gpt_block",
    kind="laziness",
    wrong="attention is called without its causal mask",
    hint="A position must not see those after it, in the block either: who makes the mask, and who "
    "hands it on?",
)
def mask_not_handed_on(
    parts: GPTParts, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
) -> Tensor:
    def visible(length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool)

    return GPTParts.build_gpt_block(parts.but(visible=visible), sizes, weights, x, training)
