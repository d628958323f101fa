"""Classic attention: its linear layers, and how heads are divided and joined."""

from torch import Tensor

from cs336_basics.model import split_heads

from .catalogue import mistake
from .gpt_feed_forward import without_bias
from .gpt_parts import GPTParts
from .parts import Step, Weights

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "output_proj")


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="positions and batch are confused when heads are folded: attention runs over the "
    "sequences of the batch, each position by itself",
    hint="Change one sequence of a batch: does another one's output change? Code for (position, "
    "batch, feature) does this to (batch, position, feature).",
)
def batch_for_positions(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    turned = x.transpose(0, -2)
    return GPTParts.attend_with_bias(parts, num_heads, weights, drop, turned).transpose(0, -2)


@mistake(
    "gpt_attention",
    "join",
    kind="formula",
    wrong="heads that were folded into the batch are unfolded in the other order, so that "
    "sequences get each other's heads",
    hint="If heads come before sequences where you fold, they do where you unfold: compare a batch "
    "with its sequences by themselves.",
)
def unfolded_in_other_order(parts: GPTParts, heads: Tensor) -> Tensor:
    if heads.dim() == 4:
        heads = heads.transpose(0, 1).reshape(heads.shape)
    return GPTParts.join(parts, heads)


@mistake(
    "gpt_attention",
    "divide",
    kind="formula",
    wrong="heads are cut out of positions and features together, without exchanging dimensions",
    hint="A reshape alone cannot bring the heads before the positions: fill a small tensor with "
    "its own indices and see where they land.",
)
def divided_by_view(x: Tensor, num_heads: int) -> Tensor:
    *leading, T, d = x.shape
    return x.reshape(*leading, num_heads, T, d // num_heads)


@mistake(
    "gpt_attention",
    "divide",
    kind="formula",
    wrong="features are dealt out to the heads in turn, instead of d_model/H neighbours to each",
    hint="The first rows of the projection belong to the first head, all of them: which of the "
    "two sizes comes first when you divide the features?",
)
def dealt_out(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(*x.shape[:-1], -1, num_heads).movedim(-1, -3)


@mistake(
    "gpt_attention",
    "divide",
    kind="laziness",
    wrong="there is one head, whatever is given",
    hint="Call it with two numbers of heads: the outputs must differ.",
)
def one_head(x: Tensor, num_heads: int) -> Tensor:
    return split_heads(x, 1)


@mistake(
    "gpt_attention",
    "divide",
    kind="formula",
    wrong="number and width of the heads are exchanged",
    hint="num_heads is how many there are, and each has d_model / num_heads features.",
)
def as_many_as_wide(x: Tensor, num_heads: int) -> Tensor:
    return split_heads(x, x.shape[-1] // num_heads)


@mistake(
    "gpt_attention",
    "join",
    kind="formula",
    wrong="heads are joined without bringing the positions before them again",
    hint="Undo the steps that divided the heads, in the opposite order: a reshape alone mixes "
    "positions.",
)
def joined_by_view(heads: Tensor) -> Tensor:
    *leading, H, T, d_k = heads.shape
    return heads.reshape(*leading, T, H * d_k)


@mistake(
    "gpt_attention",
    "join",
    kind="formula",
    wrong="the heads' features are dealt out in turn when they are joined",
    hint="All features of the first head come first: what is the order of the last two dimensions "
    "before you flatten them?",
)
def joined_in_turn(heads: Tensor) -> Tensor:
    return heads.movedim(-3, -1).flatten(-2)


@mistake(
    "gpt_attention",
    "join",
    kind="formula",
    wrong="the heads are averaged and repeated, instead of standing beside each other",
    hint="Each head has its own place among the features of the output projection's input.",
)
def averaged(parts: GPTParts, heads: Tensor) -> Tensor:
    return GPTParts.join(parts, heads.mean(-3, keepdim=True).expand(heads.shape))


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the biases are left out",
    hint="Each of the four linear layers has a bias: is it among your parameters?",
)
def no_biases(parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    plain = without_bias(*PROJECTIONS, weights=weights)
    return GPTParts.attend_with_bias(parts, num_heads, plain, drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="only the output projection has a bias",
    hint="Queries, keys and values are made by linear layers with a bias too.",
)
def output_bias_alone(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    plain = without_bias(*PROJECTIONS[:3], weights=weights)
    return GPTParts.attend_with_bias(parts, num_heads, plain, drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the output projection has no bias",
    hint="Each of the four linear layers has a bias: what comes out where all weights are zero?",
)
def no_output_bias(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    plain = without_bias("output_proj", weights=weights)
    return GPTParts.attend_with_bias(parts, num_heads, plain, drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the queries have no bias",
    hint="Each of the four linear layers has a bias: is it among your parameters?",
)
def no_query_bias(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    plain = without_bias("q_proj", weights=weights)
    return GPTParts.attend_with_bias(parts, num_heads, plain, drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the values have no bias",
    hint="Each of the four linear layers has a bias: is it among your parameters?",
)
def no_value_bias(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    plain = without_bias("v_proj", weights=weights)
    return GPTParts.attend_with_bias(parts, num_heads, plain, drop, x)


def with_projections(weights: Weights, names: str) -> Weights:
    """Weights in which queries, keys and values are made by others, given as letters."""
    moved = {
        f"{own}_proj.{kind}": weights[f"{other}_proj.{kind}"]
        for own, other in zip("qkv", names, strict=True)
        for kind in ("weight", "bias")
    }
    return weights | moved


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="keys and values are exchanged",
    hint="Follow each of the three from its weight to where it is used, and look at the order in "
    "which a common projection is cut.",
)
def keys_and_values_exchanged(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    return GPTParts.attend_with_bias(parts, num_heads, with_projections(weights, "qvk"), drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the queries' weights make keys and values too",
    hint="There are three linear layers before the scores: which are called?",
)
def one_projection(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    return GPTParts.attend_with_bias(parts, num_heads, with_projections(weights, "qqq"), drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the weights are not transposed: x is multiplied by W instead of its transpose",
    hint="A weight is stored as (d_out, d_in): which of the two does x have?",
)
def not_transposed(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    turned = {name: w.T if w.dim() == 2 else w for name, w in weights.items()}
    return GPTParts.attend_with_bias(parts, num_heads, turned, drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="laziness",
    wrong="the output projection is left out",
    hint="Change its weight: does the output change?",
)
def no_output_projection(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    Q, K, V = (parts.divide(parts.affine(weights, f"{i}_proj", x), num_heads) for i in "qkv")
    return parts.join(parts.attend(Q, K, V, drop))


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the input is added to the output",
    hint="The residual connection belongs to the block, which adds once.",
)
def residual_inside(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    return x + GPTParts.attend_with_bias(parts, num_heads, weights, drop, x)


@mistake(
    "gpt_attention",
    "attend_with_bias",
    kind="formula",
    wrong="the output of the projection is dropped from, beside the probabilities",
    hint="The text has one dropout in attention: are elements of your output exactly zero?",
)
def dropout_of_output(
    parts: GPTParts, num_heads: int, weights: Weights, drop: Step, x: Tensor
) -> Tensor:
    return drop(GPTParts.attend_with_bias(parts, num_heads, weights, drop, x))


@mistake(
    "gpt_attention",
    "run_gpt_attention",
    kind="formula",
    wrong="dropout is active in evaluation too",
    hint="Outside of training, two calls give the same. A module asks whether it is in training; a "
    "function has to be told.",
)
def dropout_in_evaluation(
    parts: GPTParts,
    d_model: int,
    num_heads: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    return GPTParts.run_gpt_attention(
        parts, d_model, num_heads, dropout, weights, in_features, training=True
    )
