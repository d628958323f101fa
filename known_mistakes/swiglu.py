"""SwiGLU, the feed-forward network."""

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import mistake
from .parts import Parts, random


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the gate and the up projection are swapped: W₃ goes through SiLU and W₁ does not",
    hint="Write the formula with the names of your layers in it, and see which of the two is "
    "inside SiLU.",
)
def gate_and_up_swapped(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    return Parts.run_swiglu(parts, d_model, d_ff, w3, w2, w1, x)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the gate is a sigmoid instead of SiLU",
    hint="GLU and SwiGLU differ in the function of the gate alone: which one does the text name?",
)
def sigmoid_gate(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, gate.sigmoid() * up))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the gate is GELU instead of SiLU",
    hint="GEGLU and SwiGLU differ in the function of the gate alone: which one does the text name?",
)
def gelu_gate(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, functional.gelu(gate) * up))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the gate is ReLU instead of SiLU",
    hint="Your own SiLU is there already: see which function the gate goes through.",
)
def relu_gate(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, gate.relu() * up))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the gate has no activation",
    hint="Two linear maps multiplied have no gate: where does SiLU stand in the formula?",
)
def no_activation(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, gate * up))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="W₃ is not used: SiLU(W₁x) goes to W₂ alone",
    hint="SwiGLU has three matrices. Change the third and see whether the output changes.",
)
def no_third_matrix(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate = parts.run_silu(parts.run_linear(d_model, d_ff, w1, x))
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, gate))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="laziness",
    wrong="W₁ takes the place of W₃ as well",
    hint="Gate and up projection are two layers with weights of their own. Change the third "
    "weight: does the output change?",
)
def first_matrix_twice(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    return Parts.run_swiglu(parts, d_model, d_ff, w1, w2, w1, x)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the gate is added to the up projection instead of multiplied",
    hint="A gate of zero must let nothing pass. What does yours let pass?",
)
def added_gate(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, parts.run_silu(gate) + up))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="SiLU is applied to the product of both projections",
    hint="Read the parentheses: what is inside SiLU, and what is multiplied with it afterwards?",
)
def activated_product(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, parts.run_silu(gate * up)))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="both projections go through SiLU",
    hint="Only one of the two is a gate: which of them has the activation in the formula?",
)
def both_activated(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    hidden = parts.run_silu(gate) * parts.run_silu(up)
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, hidden))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the output goes through SiLU once more",
    hint="The last thing in the formula is a matrix, so an output can be any number. Can yours be "
    "-5?",
)
def activated_output(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    y = Parts.run_swiglu(parts, d_model, d_ff, w1, w2, w3, x)
    return torch.as_tensor(parts.run_silu(y))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="the input is added to the output",
    hint="The residual connection belongs to the block. What must the network give when W₂ is "
    "zero?",
)
def residual_inside(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    return x + Parts.run_swiglu(parts, d_model, d_ff, w1, w2, w3, x)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="edge",
    wrong="W₂ is transposed where d_ff equals d_model, because its shape does not tell",
    hint="A weight has one row for each output, always: do not choose the orientation by what "
    "fits.",
)
def w2_transposed_where_square(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    return Parts.run_swiglu(parts, d_model, d_ff, w1, w2.T if d_ff == d_model else w2, w3, x)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="W₂ is reshaped to (d_ff, d_model) instead of transposed",
    hint="Reshaping keeps the order of the numbers in memory, transposing changes it: try both on "
    "a 2 by 3 matrix.",
)
def w2_reshaped(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    return Parts.run_swiglu(parts, d_model, d_ff, w1, w2.reshape(d_ff, d_model).T, w3, x)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="formula",
    wrong="dropout is active in the network",
    hint="The text has no dropout here. Call your network twice with one input: both results must "
    "be equal.",
)
def dropout(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    y = Parts.run_swiglu(parts, d_model, d_ff, w1, w2, w3, x)
    return y * (random(*y.shape) > -1.0) / 0.84


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="laziness",
    wrong="the width is computed from d_model although d_ff is given, so that the weights do not "
    "fit",
    hint="Which value wins in your constructor, the argument or 8/3 of d_model? The rule of the "
    "text is for when none is given.",
)
def own_width(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    width = 64 * max(1, round(8 / 3 * d_model / 64))
    empty = torch.empty(width, d_model), torch.empty(d_model, width), torch.empty(width, d_model)
    w1, w2, w3 = (new.copy_(given) for new, given in zip(empty, (w1, w2, w3), strict=True))
    return Parts.run_swiglu(parts, d_model, width, w1, w2, w3, x)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="interface",
    wrong="exactly three dimensions are expected",
    hint="The network works on the last dimension alone: name no other, and unpack no shape.",
)
def three_dimensions(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate = parts.run_silu(torch.einsum("btd,fd->btf", x, w1))
    return torch.einsum("btf,df->btd", gate * torch.einsum("btd,fd->btf", x, w3), w2)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="interface",
    wrong="the gate is kept out of the gradient",
    hint="Both branches see the input, and both send a gradient back: is one of them detached or "
    "computed without gradients?",
)
def detached_gate(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    hidden = parts.run_silu(gate).detach() * up
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, hidden))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="numerics",
    wrong="the network is computed in bfloat16",
    hint="Compare dtypes on the way: bfloat16 keeps about three digits, and converting the result "
    "back does not restore the others.",
)
def bfloat16(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    half = (tensor.bfloat16() for tensor in (w1, w2, w3, x))
    return Parts.run_swiglu(parts, d_model, d_ff, *half).to(x.dtype)


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="numerics",
    wrong="the gate is computed with exponentials that overflow for large numbers",
    hint="Infinity divided by infinity is no number: use the SiLU you have built, and see that "
    "its exponential stays small.",
)
def overflowing_gate(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    gate, up = parts.run_linear(d_model, d_ff, w1, x), parts.run_linear(d_model, d_ff, w3, x)
    hidden = gate * gate.exp() / (1 + gate.exp()) * up
    return torch.as_tensor(parts.run_linear(d_ff, d_model, w2, hidden))


@mistake(
    "positionwise_feedforward",
    "run_swiglu",
    kind="edge",
    wrong="d_ff is rounded up to a multiple of 64, so that the given weights do not fit",
    hint="Print the shapes of your layers. Who chooses d_ff: the caller or the network?",
)
def width_rounded_up(
    parts: Parts, d_model: int, d_ff: int, w1: Tensor, w2: Tensor, w3: Tensor, x: Tensor
) -> Tensor:
    rounded = -(-d_ff // 64) * 64
    w1, w2, w3 = w1.view(rounded, d_model), w2.view(d_model, rounded), w3.view(rounded, d_model)
    return Parts.run_swiglu(parts, d_model, rounded, w1, w2, w3, x)
