"""The gated linear unit."""

from torch import Tensor
from torch.nn import functional

from .catalogue import mistake
from .gpt_parts import GPTParts


def pair(parts: GPTParts, w1: Tensor, w2: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """What both linear layers give."""
    d_ff, d_model = w1.shape
    first, second = (parts.run_linear(d_model, d_ff, weight, x) for weight in (w1, w2))
    return first, second


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the two weights are exchanged: the second makes the gate",
    hint="Which of the two goes through the sigmoid in the text?",
)
def exchanged(parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    gate, value = pair(parts, w2_weight, w1_weight, in_features)
    return gate.sigmoid() * value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="there is no sigmoid: the two products are multiplied as they are",
    hint="A gate lies between zero and one: what limits yours?",
)
def no_gate(parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return gate * value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the gate is SiLU, as in SwiGLU",
    hint="The plain gated linear unit has the sigmoid alone.",
)
def silu_gate(parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return functional.silu(gate) * value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the gate is ReLU",
    hint="The plain gated linear unit has the sigmoid.",
)
def relu_gate(parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return gate.relu() * value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the gate is a hyperbolic tangent, which may be negative",
    hint="A gate lies between zero and one: does yours?",
)
def tanh_gate(parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return gate.tanh() * value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the gate is a softmax over the features",
    hint="Each feature has a gate of its own, whatever the others are.",
)
def softmax_gate(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return gate.softmax(-1) * value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the gate is added instead of multiplied",
    hint="A closed gate lets nothing through: what does yours do where W₁x is far below zero?",
)
def gate_added(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return gate.sigmoid() + value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the sigmoid is of the product",
    hint="Only one of the two goes through the sigmoid: your output may be larger than one.",
)
def sigmoid_of_product(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return (gate * value).sigmoid()


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="both products go through the sigmoid",
    hint="Only one of the two goes through the sigmoid: your output may be negative.",
)
def both_gated(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return gate.sigmoid() * value.sigmoid()


@mistake(
    "glu",
    "run_glu",
    kind="laziness",
    wrong="the second weight is not used: the gate is multiplied with what it was made of",
    hint="Change the second weight: does the output change?",
)
def input_gated(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, _ = pair(parts, w1_weight, w2_weight, in_features)
    return gate.sigmoid() * gate


@mistake(
    "glu",
    "run_glu",
    kind="laziness",
    wrong="the gate is returned alone",
    hint="Change the second weight: does the output change?",
)
def gate_alone(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, _ = pair(parts, w1_weight, w2_weight, in_features)
    return gate.sigmoid()


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the gate is one minus the sigmoid",
    hint="Far above zero, a gate is open.",
)
def closed_for_open(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return (-gate).sigmoid() * value


@mistake(
    "glu",
    "run_glu",
    kind="interface",
    wrong="the gate is kept out of the gradient",
    hint="The derivative of a product has two terms, and the gate depends on x too.",
)
def detached_gate(
    parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate, value = pair(parts, w1_weight, w2_weight, in_features)
    return gate.sigmoid().detach() * value


@mistake(
    "glu",
    "run_glu",
    kind="formula",
    wrong="the weights are reshaped instead of transposed",
    hint="Reshaping keeps the order of the numbers in memory, transposing changes it: try both on "
    "a 2 by 3 matrix.",
)
def reshaped(parts: GPTParts, w1_weight: Tensor, w2_weight: Tensor, in_features: Tensor) -> Tensor:
    first, second = (w.reshape(w.shape[::-1]).T for w in (w1_weight, w2_weight))
    gate, value = pair(parts, first, second, in_features)
    return gate.sigmoid() * value
