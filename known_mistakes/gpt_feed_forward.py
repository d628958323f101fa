"""The classic feed-forward network."""

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import mistake
from .gpt_parts import GPTParts
from .parts import Step, Weights


def without_bias(*names: str, weights: Weights) -> Weights:
    """Weights in which some layers' biases are zero."""
    zeros = {f"{name}.bias": torch.zeros_like(weights[f"{name}.bias"]) for name in names}
    return weights | zeros


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the biases are left out",
    hint="Both linear layers have a bias: change one and see whether the output changes.",
)
def no_biases(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(parts, without_bias("fc1", "fc2", weights=weights), drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the first layer has no bias",
    hint="Both linear layers have a bias: change one and see whether the output changes.",
)
def no_first_bias(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(parts, without_bias("fc1", weights=weights), drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the second layer has no bias",
    hint="Both linear layers have a bias: what comes out where all weights are zero?",
)
def no_second_bias(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(parts, without_bias("fc2", weights=weights), drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the first bias is added after the activation",
    hint="The activation sees the whole linear layer, its bias too.",
)
def bias_after_activation(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    plain = without_bias("fc1", weights=weights)
    hidden = parts.run_gelu(parts.affine(plain, "fc1", x)) + weights["fc1.bias"]
    return parts.affine(weights, "fc2", drop(hidden))


def with_activation(parts: GPTParts, activation: Step) -> GPTParts:
    """The same with another activation."""
    return parts.but(run_gelu=activation)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="ReLU takes the place of GELU",
    hint="The first Transformer had ReLU. Which activation does this text name?",
)
def relu(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(with_activation(parts, functional.relu), weights, drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="SiLU takes the place of GELU",
    hint="SiLU belongs to the modern track. Which activation does this text name?",
)
def silu(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(with_activation(parts, functional.silu), weights, drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="GELU is approximated with a tanh",
    hint="The network uses the exact function, the one of your GELU: do you call another?",
)
def tanh_gelu(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    def approximated(hidden: Tensor) -> Tensor:
        return functional.gelu(hidden, approximate="tanh")

    return GPTParts.widen_and_narrow(with_activation(parts, approximated), weights, drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="there is no activation",
    hint="Without one, the two layers are no more than one: double the input without biases.",
)
def no_activation(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(with_activation(parts, lambda y: y), weights, drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the activation comes after the second layer too",
    hint="The output may be any number: what do your largest negative ones look like?",
)
def activation_twice(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    y: Tensor = parts.run_gelu(GPTParts.widen_and_narrow(parts, weights, drop, x))
    return y


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the activation comes after the second layer instead of the first",
    hint="The output may be any number: what do your largest negative ones look like?",
)
def activation_at_the_end(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    y: Tensor = parts.run_gelu(parts.affine(weights, "fc2", drop(parts.affine(weights, "fc1", x))))
    return y


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the input is added to the output",
    hint="The residual connection belongs to the block, which adds once.",
)
def residual_inside(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return x + GPTParts.widen_and_narrow(parts, weights, drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the input is normalized first",
    hint="The norm belongs to the block: what does a longer input give?",
)
def norm_inside(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    normalised = functional.layer_norm(x, (x.shape[-1],))
    return GPTParts.widen_and_narrow(parts, weights, drop, normalised)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the weights are reshaped instead of transposed",
    hint="Reshaping keeps the order of the numbers in memory, transposing changes it: try both on "
    "a 2 by 3 matrix.",
)
def weights_reshaped(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    reshaped = {
        name: weight.reshape(weight.shape[::-1]).T if weight.dim() == 2 else weight
        for name, weight in weights.items()
    }
    return GPTParts.widen_and_narrow(parts, reshaped, drop, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="laziness",
    wrong="dropout is accepted and ignored",
    hint="Call it twice in training: the outputs must differ.",
)
def dropout_ignored(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(parts, weights, lambda hidden: hidden, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="the same hidden features are dropped for all vectors",
    hint="Print the hidden features of a few vectors after dropout: are whole columns zero?",
)
def same_features_dropped(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    def shared(hidden: Tensor) -> Tensor:
        return hidden * drop(torch.ones(hidden.shape[-1]))

    return GPTParts.widen_and_narrow(parts, weights, shared, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="some vectors lose all their hidden features, and the others none",
    hint="Print the hidden features of a few vectors after dropout: are whole rows zero?",
)
def whole_vectors_dropped(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    def together(hidden: Tensor) -> Tensor:
        return hidden * drop(torch.ones_like(hidden[..., :1]))

    return GPTParts.widen_and_narrow(parts, weights, together, x)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="dropout is of the output instead of the hidden features",
    hint="Which tensor is dropped in the text? Elements of your output that are exactly zero tell.",
)
def dropout_of_output(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return drop(GPTParts.widen_and_narrow(parts, weights, lambda hidden: hidden, x))


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="dropout is of the input instead of the hidden features",
    hint="Which tensor is dropped in the text?",
)
def dropout_of_input(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return GPTParts.widen_and_narrow(parts, weights, lambda hidden: hidden, drop(x))


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="dropout comes before the activation instead of after it",
    hint="What is kept is scaled, and the activation of a scaled number is no scaled activation.",
)
def dropout_before_activation(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    hidden = parts.run_gelu(drop(parts.affine(weights, "fc1", x)))
    return parts.affine(weights, "fc2", hidden)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="formula",
    wrong="dropout is both of the hidden features and of the output",
    hint="The text has one dropout in this network: are elements of your output exactly zero?",
)
def dropout_twice(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    return drop(GPTParts.widen_and_narrow(parts, weights, drop, x))


@mistake(
    "gpt_feed_forward",
    "run_gpt_feed_forward",
    kind="formula",
    wrong="dropout is active in evaluation too",
    hint="Outside of training, two calls give the same. A module asks whether it is in training; a "
    "function has to be told.",
)
def dropout_in_evaluation(
    parts: GPTParts,
    d_model: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    return GPTParts.run_gpt_feed_forward(
        parts, d_model, d_ff, dropout, weights, in_features, training=True
    )


@mistake(
    "gpt_feed_forward",
    "run_gpt_feed_forward",
    kind="laziness",
    wrong="the probability of dropout is always 0.1, whatever is given",
    hint="Follow the argument from the constructor to the layer: does p reach it?",
)
def dropout_of_a_tenth(
    parts: GPTParts,
    d_model: int,
    d_ff: int,
    dropout: float,
    weights: Weights,
    in_features: Tensor,
    training: bool = False,
) -> Tensor:
    return GPTParts.run_gpt_feed_forward(parts, d_model, d_ff, 0.1, weights, in_features, training)


@mistake(
    "gpt_feed_forward",
    "widen_and_narrow",
    kind="edge",
    wrong="there are always four times as many hidden features as features",
    hint="The width is an argument of the network: what do you build the two layers with?",
)
def four_times_as_wide(parts: GPTParts, weights: Weights, drop: Step, x: Tensor) -> Tensor:
    widened = weights["fc1.weight"].view(4 * x.shape[-1], -1)
    return GPTParts.widen_and_narrow(parts, weights | {"fc1.weight": widened}, drop, x)
