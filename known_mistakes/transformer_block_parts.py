"""The Transformer block: the weights, sizes and positions that its layers are given."""

import torch
from torch import Tensor

from .catalogue import mistake
from .parts import Parts, Projections, Rope, Weights, random
from .rope import angles_of, turned


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="formula",
    wrong="attention has no RoPE, or all tokens have the same position",
    hint="The block's attention turns queries and keys by their positions: exchange two tokens "
    "and see what changes; print the positions it is given.",
)
def no_rope(parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor) -> Tensor:
    return torch.as_tensor(parts.run_multihead_self_attention(x.shape[-1], num_heads, *weights, x))


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="formula",
    wrong="positions count down from the end of the sequence",
    hint="Causal models count from the beginning: print the positions your block hands to "
    "attention.",
)
def positions_from_the_end(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor
) -> Tensor:
    positions = torch.arange(x.shape[-2]).flip(0)
    return torch.as_tensor(parts.attend_by_position(num_heads, rope, weights, x, positions))


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="interface",
    wrong="the input must be as long as the greatest length",
    hint="A sequence may be shorter: build positions and mask for the input at hand.",
)
def full_length_only(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor
) -> Tensor:
    positions = torch.arange(rope.length)
    return torch.as_tensor(parts.attend_by_position(num_heads, rope, weights, x, positions))


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="interface",
    wrong="positions of shape (batch, sequence) meet the heads' dimension, so that there must be "
    "as many rows as heads",
    hint="Use a batch of three and two heads, and print the shapes of angles and queries.",
)
def batch_meets_heads(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor
) -> Tensor:
    positions = torch.arange(x.shape[-2]).expand(x.shape[:-1])
    angles = angles_of(x.shape[-1] // num_heads, rope.theta, positions)
    return torch.as_tensor(
        parts.attend_in_heads(num_heads, weights, x, lambda y: turned(y, angles))
    )


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="edge",
    wrong="the last position is outside the table",
    hint="A sequence may be as long as the greatest length: how many rows has your table?",
)
def one_position_too_few(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor
) -> Tensor:
    shorter = Rope(rope.length - 1, rope.theta)
    return Parts.attend_in_block(parts, num_heads, shorter, weights, x)


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="laziness",
    wrong="Θ is always 10000, whatever is given",
    hint="Call it with two values of Θ and compare: the argument must reach RoPE.",
)
def theta_of_10000(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor
) -> Tensor:
    return Parts.attend_in_block(parts, num_heads, Rope(rope.length, 10000.0), weights, x)


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="laziness",
    wrong="the Θ of the first call is used for every later one",
    hint="What does your class or module keep from one call to the next?",
)
def first_theta_kept(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor
) -> Tensor:
    kept = Rope(rope.length, parts.kept.setdefault("theta", rope.theta))
    return Parts.attend_in_block(parts, num_heads, kept, weights, x)


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="laziness",
    wrong="the table of the first call is used for every later one, so that it is too short for a "
    "greater length",
    hint="What does your class or module keep from one call to the next?",
)
def first_length_kept(
    parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor
) -> Tensor:
    kept = Rope(parts.kept.setdefault("length", rope.length), rope.theta)
    return Parts.attend_in_block(parts, num_heads, kept, weights, x)


@mistake(
    "transformer_block",
    "attend_in_block",
    kind="laziness",
    wrong="attention has a single head, whatever number is given",
    hint="Does num_heads change your block's output? Follow it to attention.",
)
def one_head(parts: Parts, num_heads: int, rope: Rope, weights: Projections, x: Tensor) -> Tensor:
    return Parts.attend_in_block(parts, 1, rope, weights, x)


@mistake(
    "transformer_block",
    "run_transformer_block",
    kind="formula",
    wrong="the network's first and third weight are loaded into each other's place",
    hint="Which of ffn.w1 and ffn.w3 makes the gate? Follow each name from the given weights to "
    "the formula.",
)
def gate_and_up_exchanged(
    parts: Parts, d: int, H: int, d_ff: int, length: int, theta: float, weights: Weights, x: Tensor
) -> Tensor:
    others = {"ffn.w1.weight": weights["ffn.w3.weight"], "ffn.w3.weight": weights["ffn.w1.weight"]}
    return Parts.run_transformer_block(parts, d, H, d_ff, length, theta, weights | others, x)


@mistake(
    "transformer_block",
    "run_transformer_block",
    kind="formula",
    wrong="the weights of queries and keys are loaded into each other's place",
    hint="Follow each name from the given weights to the layer that uses it.",
)
def queries_and_keys_exchanged(
    parts: Parts, d: int, H: int, d_ff: int, length: int, theta: float, weights: Weights, x: Tensor
) -> Tensor:
    q, k = weights["attn.q_proj.weight"], weights["attn.k_proj.weight"]
    others = {"attn.q_proj.weight": k, "attn.k_proj.weight": q}
    return Parts.run_transformer_block(parts, d, H, d_ff, length, theta, weights | others, x)


@mistake(
    "transformer_block",
    "run_transformer_block",
    kind="laziness",
    wrong="the gains of both norms stay ones, and the given ones are never loaded",
    hint="Print the gains just before you call the block; loading with strict=False hides a name "
    "that does not fit.",
)
def gains_not_loaded(
    parts: Parts, d: int, H: int, d_ff: int, length: int, theta: float, weights: Weights, x: Tensor
) -> Tensor:
    others = {"ln1.weight": torch.ones(d), "ln2.weight": torch.ones(d)}
    return Parts.run_transformer_block(parts, d, H, d_ff, length, theta, weights | others, x)


@mistake(
    "transformer_block",
    "run_transformer_block",
    kind="laziness",
    wrong="the output projection stays random, because its name was not found among the given "
    "weights",
    hint="Compare the names your block has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def output_projection_not_loaded(
    parts: Parts, d: int, H: int, d_ff: int, length: int, theta: float, weights: Weights, x: Tensor
) -> Tensor:
    others = {"attn.output_proj.weight": random(d, d) / d}
    return Parts.run_transformer_block(parts, d, H, d_ff, length, theta, weights | others, x)


@mistake(
    "transformer_block",
    "run_transformer_block",
    kind="laziness",
    wrong="no weight is loaded, and the block keeps those it was born with",
    hint="Print one weight just before you call the block and compare it with the given one.",
)
def nothing_loaded(
    parts: Parts, d: int, H: int, d_ff: int, length: int, theta: float, weights: Weights, x: Tensor
) -> Tensor:
    others = {name: random(*weight.shape) / d for name, weight in weights.items()}
    return Parts.run_transformer_block(parts, d, H, d_ff, length, theta, others, x)


@mistake(
    "transformer_block",
    "run_transformer_block",
    kind="interface",
    wrong="the block must have as many features in its feed-forward network as 8/3 of d_model says",
    hint="The width is an argument: which value wins in your constructor?",
)
def own_width(
    parts: Parts, d: int, H: int, d_ff: int, length: int, theta: float, weights: Weights, x: Tensor
) -> Tensor:
    width = 64 * max(1, round(8 / 3 * d / 64))
    others = {"ffn.w1.weight": torch.empty(width, d).copy_(weights["ffn.w1.weight"])}
    return Parts.run_transformer_block(parts, d, H, width, length, theta, weights | others, x)
