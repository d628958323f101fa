"""The language model: its ends, and what it returns."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .catalogue import mistake
from .parts import Parts, Step


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="the last norm is missing",
    hint="What stands between the last block and the output projection in the text?",
)
def no_final_norm(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, lambda x: x, head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="probabilities are returned instead of logits",
    hint="The loss takes logits and applies softmax itself: what do your outputs sum to?",
)
def probabilities(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    logits = Parts.wire_lm(parts, ids, embed, blocks, norm, head)
    return torch.as_tensor(parts.run_softmax(logits, -1))


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="logarithms of probabilities are returned instead of logits",
    hint="The loss takes logits and applies softmax itself: are all your outputs negative?",
)
def log_probabilities(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return torch.log_softmax(Parts.wire_lm(parts, ids, embed, blocks, norm, head), -1)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="interface",
    wrong="only the last position's logits are returned",
    hint="In training, every position predicts its next token: the output has one row for each "
    "token.",
)
def last_position_only(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, head)[:, -1]


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="interface",
    wrong="the last position's logits are left out",
    hint="Each token has a next one, the last one too: the output has one row for each token.",
)
def last_position_missing(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, head)[:, :-1]


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="interface",
    wrong="the most likely tokens are returned instead of logits",
    hint="Choosing a token is what generation does with the logits: the output has one number for "
    "each entry of the vocabulary.",
)
def tokens_returned(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, head).argmax(-1)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="interface",
    wrong="the hidden features are returned without the output projection",
    hint="The last step maps d_model features to one number for each entry of the vocabulary.",
)
def no_head(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, lambda x: x)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="interface",
    wrong="logits of all rows are flattened into one dimension",
    hint="The loss can flatten them itself: the output has the shape of the ids and one more "
    "dimension.",
)
def flattened_logits(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, head).flatten(0, 1)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="interface",
    wrong="positions and vocabulary are exchanged in the output",
    hint="The vocabulary comes last: some losses want it elsewhere, but the text's does not.",
)
def vocabulary_before_positions(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, head).mT


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="logits are moved by one position, so that each stands at its token's place",
    hint="The logits at a position are for the token after it, and the targets are shifted by "
    "whoever computes the loss.",
)
def logits_one_later(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, head).roll(1, -2)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="edge",
    wrong="the last norm's epsilon is far below 1e-5",
    hint="Small embeddings show it: which epsilon does your model hand to its last norm?",
)
def small_final_epsilon(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    # A larger input makes the same epsilon weigh less.
    return Parts.wire_lm(parts, ids, embed, blocks, lambda x: norm(100 * x), head)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="edge",
    wrong="dimensions of size one are squeezed out of the output",
    hint="A batch of one, or one token, is still a dimension: which of your calls removes "
    "dimensions that it was not asked to?",
)
def squeezed(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    return Parts.wire_lm(parts, ids, embed, blocks, norm, head).squeeze()


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="formula",
    wrong="logits are divided by the square root of d_model",
    hint="The scale of attention belongs to attention: the output projection is the product alone.",
)
def scaled_logits(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    def scaled(x: Tensor) -> Tensor:
        return head(x) / math.sqrt(x.shape[-1])

    return Parts.wire_lm(parts, ids, embed, blocks, norm, scaled)


@mistake(
    "transformer_lm",
    "wire_lm",
    kind="edge",
    wrong="the last norm's epsilon is 1e-6 instead of 1e-5",
    hint="Small embeddings show it: which epsilon does your model hand to its last norm?",
)
def final_epsilon_of_1e_6(
    parts: Parts, ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
) -> Tensor:
    # A larger input makes the same epsilon weigh less.
    return Parts.wire_lm(parts, ids, embed, blocks, lambda x: norm(math.sqrt(10) * x), head)
