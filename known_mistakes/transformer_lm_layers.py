"""The language model: what its blocks see, and their order."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .catalogue import mistake
from .parts import Parts, Step, random


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="embeddings are normalized before the first block",
    hint="Each block normalizes its own inputs, and the stream itself is normalized once, at the "
    "end.",
)
def normalized_embeddings(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, lambda i: norm(embed(i)), blocks, norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="the last norm is applied after each block",
    hint="Each block normalizes its own inputs, and the stream itself is normalized once, at the "
    "end.",
)
def norm_after_each_block(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    x = embed(ids)
    for block in blocks:
        x = norm(block(x))
    return head(x)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="embeddings are multiplied by the square root of d_model",
    hint="The first Transformer did so; this text hands embeddings to the first block as they are.",
)
def scaled_embeddings(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    def scaled(i: Tensor) -> Tensor:
        x = embed(i)
        return x * math.sqrt(x.shape[-1])

    return Parts.wire_lm(parts, ids, scaled, blocks, norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="sinusoidal position embeddings are added to the token embeddings",
    hint="Positions enter through RoPE, in attention, and nowhere else.",
)
def sinusoidal_positions(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    def with_positions(i: Tensor) -> Tensor:
        x = embed(i)
        exponents = torch.arange(0, x.shape[-1], 2) / x.shape[-1]
        angles = torch.arange(x.shape[-2])[:, None] / 10000**exponents
        return x + torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)

    return Parts.wire_lm(parts, ids, with_positions, blocks, norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="the embeddings are added once more after the blocks",
    hint="Residual connections are inside the blocks: let all blocks add nothing, and compare "
    "what the last norm sees with the embeddings.",
)
def embeddings_added_again(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    x = embed(ids)
    for block in blocks:
        x = block(x)
    return head(norm(x + embed(ids)))


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="each block's input is added to its output once more",
    hint="A block holds its own residual connections: what does your loop over the blocks add?",
)
def residuals_around_blocks(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    x = embed(ids)
    for block in blocks:
        x = x + block(x)
    return head(norm(x))


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="all blocks see the embeddings, and their outputs are added",
    hint="Each block works on what the one before it gave: what does your loop hand on?",
)
def parallel_blocks(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    x = embed(ids)
    return head(norm(torch.stack([block(x) for block in blocks]).sum(0)))


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="laziness",
    wrong="only the last block's output counts, because each block is given the embeddings",
    hint="Each block works on what the one before it gave: is the variable of your loop the one "
    "that is handed on?",
)
def last_block_alone(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks[-1:], norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="the blocks are applied in reverse order",
    hint="Layer 0 sees the embeddings: in which order does your loop go?",
)
def reversed_blocks(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks[::-1], norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="edge",
    wrong="blocks are in the order of their names as texts, in which 10 comes before 2",
    hint="With more than ten layers, names in alphabetical order are not in the order of their "
    "numbers: print both.",
)
def blocks_sorted_as_texts(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    order = sorted(range(len(blocks)), key=str)
    return Parts.wire_lm(parts, ids, embed, [blocks[i] for i in order], norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="laziness",
    wrong="the last block's weights are in every block, because all are the same object",
    hint="A list multiplied by a number repeats one object: build a new block for each layer.",
)
def last_block_repeated(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, [blocks[-1]] * len(blocks), norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="laziness",
    wrong="the first block's weights are in every block",
    hint="Each layer has weights of its own: does the layer's number reach the names that you "
    "load?",
)
def first_block_repeated(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, [blocks[0]] * len(blocks), norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="the first block is left out",
    hint="How many blocks does your loop apply, and with which does it begin?",
)
def first_block_missing(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks[1:], norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="the last block is left out",
    hint="How many blocks does your loop apply, and with which does it end?",
)
def last_block_missing(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks[:-1], norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="each block is applied twice",
    hint="Count the calls: is a block called in a loop and again by the container that holds it?",
)
def each_block_twice(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    twice = [block for block in blocks for _ in range(2)]
    return Parts.wire_lm(parts, ids, embed, twice, norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="laziness",
    wrong="there are three blocks at most, whatever number is given",
    hint="The number of layers is an argument: does it reach your loop?",
)
def three_blocks_at_most(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks[:3], norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="dropout is active on the embeddings",
    hint="Call your model twice with the same tokens: both results must be equal. Is it in "
    "training mode?",
)
def dropout(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    def dropped(i: Tensor) -> Tensor:
        x = embed(i)
        return x * (random(*x.shape) > -1.0) / 0.84

    return Parts.wire_lm(parts, ids, dropped, blocks, norm, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="tokens are read from right to left",
    hint="Does something turn the sequence around before the blocks?",
)
def right_to_left(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids.flip(-1), embed, blocks, norm, head).flip(-2)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="numerics",
    wrong="the whole model is computed in bfloat16",
    hint="Compare dtypes on the way: bfloat16 keeps about three digits, and every layer loses "
    "some more.",
)
def bfloat16(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    x = embed(ids).bfloat16()
    for block in blocks:
        x = block(x.float()).bfloat16()
    return head(norm(x.float()))
