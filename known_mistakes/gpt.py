"""The classic language model: what it is put together from, and how."""

import math
from collections.abc import Sequence

from torch import Tensor

from . import transformer_lm as ends
from . import transformer_lm_layers as middle
from .catalogue import as_in, mistake
from .gpt_feed_forward import without_bias
from .gpt_parts import GPTParts, GPTSizes
from .parts import Step, Weights, random

# Both families' models are put together in the same way, and in the same wrong ways.
for function in (
    ends.no_final_norm,
    ends.probabilities,
    ends.log_probabilities,
    ends.last_position_only,
    ends.no_head,
    ends.vocabulary_before_positions,
    ends.logits_one_later,
    ends.squeezed,
    ends.scaled_logits,
    middle.normalized_embeddings,
    middle.norm_after_each_block,
    middle.embeddings_added_again,
    middle.residuals_around_blocks,
    middle.last_block_alone,
    middle.reversed_blocks,
    middle.blocks_sorted_as_texts,
    middle.last_block_repeated,
    middle.first_block_repeated,
    middle.last_block_missing,
    middle.each_block_twice,
):
    as_in(function, "gpt", "wire_gpt")


@mistake(
    "gpt",
    "embed",
    kind="laziness",
    wrong="no positions are added",
    hint="Without positions, attention cannot tell the order of the tokens it sees: change the "
    "table of positions and see whether the logits change.",
)
def no_positions(parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor) -> Tensor:
    table = weights["token_embeddings.weight"]
    x: Tensor = parts.run_scaled_embedding(sizes.vocab_size, sizes.d_model, table, token_ids)
    return x


@mistake(
    "gpt",
    "embed",
    kind="formula",
    wrong="the sum of embedding and position is scaled, instead of the embedding alone",
    hint="In which order are the two done in the text? Let the embedding give zero.",
)
def positions_scaled_too(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor
) -> Tensor:
    larger = weights["position_embeddings.weight"] * math.sqrt(sizes.d_model)
    return GPTParts.embed(parts, sizes, weights | {"position_embeddings.weight": larger}, token_ids)


@mistake(
    "gpt",
    "embed",
    kind="laziness",
    wrong="embeddings are not scaled before positions are added",
    hint="GPT-2 has no scale, this text has: does the model call the scaled embedding?",
)
def embeddings_not_scaled(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor
) -> Tensor:
    return GPTParts.embed(
        parts.but(run_scaled_embedding=parts.run_embedding), sizes, weights, token_ids
    )


@mistake(
    "gpt",
    "embed",
    kind="formula",
    wrong="sinusoids are added instead of learned positions",
    hint="Change the table of positions: do the logits change?",
)
def sinusoids(parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor) -> Tensor:
    table: Tensor = parts.run_sinusoidal_positions(sizes.context_length, sizes.d_model)
    return GPTParts.embed(parts, sizes, weights | {"position_embeddings.weight": table}, token_ids)


@mistake(
    "gpt",
    "embed",
    kind="formula",
    wrong="positions are added to the model's input twice",
    hint="Let the embedding give zero: what must the first block see?",
)
def positions_twice(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor
) -> Tensor:
    table = weights["position_embeddings.weight"]
    x = GPTParts.embed(parts, sizes, weights, token_ids)
    y: Tensor = parts.run_learned_positions(sizes.context_length, sizes.d_model, table, x)
    return y


@mistake(
    "gpt",
    "build_gpt",
    kind="formula",
    wrong="positions are added before each block instead of once",
    hint="The stream carries the positions on: where does your loop over the blocks begin?",
)
def positions_before_each_block(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    table = weights["position_embeddings.weight"]

    def wire(ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step) -> Tensor:
        x = blocks[0](embed(ids))
        for block in blocks[1:]:
            x = block(x + table[: x.shape[-2]])
        return head(norm(x))

    return GPTParts.build_gpt(parts.but(wire_gpt=wire), sizes, weights, token_ids, training)


@mistake(
    "gpt",
    "embed",
    kind="edge",
    wrong="only the last tokens that fit into the context are looked at, without a word about the "
    "others",
    hint="The logits have a row for every token: a sequence that is too long is an error.",
)
def longer_cut_off(parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor) -> Tensor:
    return GPTParts.embed(parts, sizes, weights, token_ids[:, -sizes.context_length :])


@mistake(
    "gpt",
    "tied",
    kind="formula",
    wrong="the output projection is tied to the embedding though it should not be",
    hint="Without tying, each has a weight of its own: change the output projection's, and the "
    "logits must change.",
)
def always_tied(parts: GPTParts, weights: Weights, tie_weights: bool) -> Weights:
    return GPTParts.tied(parts, weights, True)


@mistake(
    "gpt",
    "tied",
    kind="formula",
    wrong="with tied weights, the output projection uses the embedding's scaled weight",
    hint="The scale belongs to looking up, and not to the weight that both share.",
)
def tied_to_scaled(parts: GPTParts, weights: Weights, tie_weights: bool) -> Weights:
    if not tie_weights:
        return weights
    table = weights["token_embeddings.weight"]
    return weights | {"lm_head.weight": table * math.sqrt(table.shape[-1])}


@mistake(
    "gpt",
    "tied",
    kind="laziness",
    wrong="the output projection stays random, because its name was not found among the given "
    "weights",
    hint="Compare the names your model has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def head_not_loaded(parts: GPTParts, weights: Weights, tie_weights: bool) -> Weights:
    return not_loaded(weights, "lm_head.")


@mistake(
    "gpt",
    "build_gpt",
    kind="laziness",
    wrong="the probability of dropout reaches no block",
    hint="Call it twice in training: the logits must differ.",
)
def dropout_not_handed_on(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    return GPTParts.build_gpt(parts, sizes._replace(dropout=0.0), weights, token_ids, training)


@mistake(
    "gpt",
    "build_gpt",
    kind="laziness",
    wrong="the sum of embeddings and positions goes into the first block without dropout",
    hint="Let the blocks add nothing: in training, elements of the sum must still be dropped.",
)
def no_dropout_of_embeddings(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    def embed(sizes: GPTSizes, weights: Weights, training: bool, token_ids: Tensor) -> Tensor:
        return parts.embed(sizes, weights, token_ids)

    wrong = parts.but(embed_and_drop=embed)
    return GPTParts.build_gpt(wrong, sizes, weights, token_ids, training)


@mistake(
    "gpt",
    "build_gpt",
    kind="formula",
    wrong="dropout is active in evaluation too",
    hint="Outside of training, two calls give the same: does the model get to know which it is?",
)
def dropout_in_evaluation(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    return GPTParts.build_gpt(parts, sizes, weights, token_ids, True)


@mistake(
    "gpt",
    "build_gpt",
    kind="formula",
    wrong="the last norm has no bias",
    hint="LayerNorm has a gain and a bias, the last one too.",
)
def final_norm_without_bias(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    plain = without_bias("ln_final", weights=weights)
    return GPTParts.build_gpt(parts, sizes, plain, token_ids, training)


def not_loaded(weights: Weights, prefix: str) -> Weights:
    """Weights of which those with a prefix are random."""
    born = {
        name: random(*weight.shape) / weight.shape[-1]
        for name, weight in weights.items()
        if name.startswith(prefix)
    }
    return weights | born


@mistake(
    "gpt",
    "build_gpt",
    kind="laziness",
    wrong="the blocks stay random, because their names were not found among the given weights",
    hint="Compare the names your model has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def blocks_not_loaded(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    return GPTParts.build_gpt(parts, sizes, not_loaded(weights, "layers."), token_ids, training)


@mistake(
    "gpt",
    "build_gpt",
    kind="laziness",
    wrong="the table of positions stays random, because its name was not found among the given "
    "weights",
    hint="Compare the names your model has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def positions_not_loaded(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    born = not_loaded(weights, "position_embeddings.")
    return GPTParts.build_gpt(parts, sizes, born, token_ids, training)


@mistake(
    "gpt",
    "build_gpt",
    kind="laziness",
    wrong="the model of the first call is used for every later one, with its sizes and weights",
    hint="Every call asks for a model of its own: what does your module keep?",
)
def first_model_kept(
    parts: GPTParts, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
) -> Tensor:
    first_sizes, first_weights = parts.kept.setdefault("model", (sizes, weights))
    return GPTParts.build_gpt(parts, first_sizes, first_weights, token_ids, training)
