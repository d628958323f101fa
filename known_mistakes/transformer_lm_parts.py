"""The language model: the weights and sizes that its layers are given."""

import torch
from torch import Tensor
from torch.nn import functional

from .catalogue import mistake
from .parts import Parts, Projections, Rope, Sizes, Weights, random
from .transformer_block_parts import no_rope


@mistake(
    "transformer_lm",
    "build_lm",
    kind="formula",
    wrong="the output projection uses the embedding's weight instead of its own",
    hint="The two are tied in some models; here each has a weight of its own. Change the output "
    "projection's: do the logits change?",
)
def head_tied_to_embedding(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    tied = weights | {"lm_head.weight": weights["token_embeddings.weight"]}
    return Parts.build_lm(parts, sizes, tied, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="formula",
    wrong="the embedding uses the output projection's weight instead of its own",
    hint="The two are tied in some models; here each has a weight of its own. Change the "
    "embedding's: do the logits change?",
)
def embedding_tied_to_head(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    tied = weights | {"token_embeddings.weight": weights["lm_head.weight"]}
    return Parts.build_lm(parts, sizes, tied, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="formula",
    wrong="the output projection's weight is reshaped to (d_model, vocab_size) instead of "
    "transposed",
    hint="Reshaping keeps the order of the numbers in memory, transposing changes it: try both on "
    "a 2 by 3 matrix.",
)
def head_reshaped(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    head = weights["lm_head.weight"].reshape(sizes.d_model, sizes.vocab_size).T
    return Parts.build_lm(parts, sizes, weights | {"lm_head.weight": head}, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="the output projection stays random, because its name was not found among the given "
    "weights",
    hint="Compare the names your model has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def head_not_loaded(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    head = random(sizes.vocab_size, sizes.d_model) / sizes.d_model
    return Parts.build_lm(parts, sizes, weights | {"lm_head.weight": head}, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="the embedding stays random, because its name was not found among the given weights",
    hint="Compare the names your model has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def embedding_not_loaded(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    table = random(sizes.vocab_size, sizes.d_model)
    return Parts.build_lm(parts, sizes, weights | {"token_embeddings.weight": table}, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="the last norm's gain stays one, because its name was not found among the given weights",
    hint="Compare the names your model has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def final_gain_not_loaded(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    ones = torch.ones(sizes.d_model)
    return Parts.build_lm(parts, sizes, weights | {"ln_final.weight": ones}, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="formula",
    wrong="the last norm has the gain of the last block's second norm",
    hint="The model's last norm has a weight of its own: follow it from the given weights to "
    "where it is used.",
)
def final_gain_of_last_block(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    gain = weights[f"layers.{sizes.num_layers - 1}.ln2.weight"]
    return Parts.build_lm(parts, sizes, weights | {"ln_final.weight": gain}, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="the blocks stay random, because their names were not found among the given weights",
    hint="Compare the names your model has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def blocks_not_loaded(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    born = {
        name: random(*weight.shape) / sizes.d_model
        for name, weight in weights.items()
        if name.startswith("layers.")
    }
    return Parts.build_lm(parts, sizes, weights | born, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="formula",
    wrong="only the first block has RoPE",
    hint="Every block's attention turns its queries and keys: is RoPE handed to all of them?",
)
def rope_in_first_block_only(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    layers = iter(range(sizes.num_layers))

    def attend(
        parts: Parts, num_heads: int, rope: Rope, projections: Projections, x: Tensor
    ) -> Tensor:
        wired = Parts.attend_in_block if next(layers) == 0 else no_rope
        return wired(parts, num_heads, rope, projections, x)

    return Parts.build_lm(parts.but(attend_in_block=attend), sizes, weights, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="Θ is always 10000, whatever is given",
    hint="Call it with two values of Θ and compare: the argument must reach RoPE.",
)
def theta_of_10000(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    return Parts.build_lm(parts, sizes._replace(theta=10000.0), weights, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="the Θ of the first call is used for every later one",
    hint="What does your class or module keep from one model to the next?",
)
def first_theta_kept(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    theta = parts.kept.setdefault("theta", sizes.theta)
    return Parts.build_lm(parts, sizes._replace(theta=theta), weights, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="the model of the first call is used for every later one, with its sizes and weights",
    hint="Every call asks for a model of its own: what does your module keep?",
)
def first_model_kept(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    kept_sizes, kept_weights = parts.kept.setdefault("model", (sizes, weights))
    return Parts.build_lm(parts, kept_sizes, kept_weights, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="tokens of earlier calls are still in a cache, and attention sees them too",
    hint="Call it twice with the same tokens: both results must be equal. What is kept between "
    "the calls?",
)
def earlier_tokens_kept(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    earlier = parts.kept.get("ids", ids[:, :0])
    if len(earlier) != len(ids) or earlier.shape[-1] + ids.shape[-1] > sizes.context_length:
        earlier = ids[:, :0]
    parts.kept["ids"] = torch.cat([earlier, ids], -1)
    logits = Parts.build_lm(parts, sizes, weights, parts.kept["ids"])
    return logits[:, earlier.shape[-1] :]


@mistake(
    "transformer_lm",
    "build_lm",
    kind="interface",
    wrong="there must be as many tokens as the context is long",
    hint="A sequence may be shorter than the context: build positions and mask for the tokens at "
    "hand.",
)
def full_context_only(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    assert ids.shape[-1] == sizes.context_length
    return Parts.build_lm(parts, sizes, weights, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="interface",
    wrong="tokens are padded to the length of the context, and the padding's logits are returned "
    "too",
    hint="The output has one row for each given token: cut off what you added, or add nothing.",
)
def padded_to_context(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    missing = sizes.context_length - ids.shape[-1]
    padded = functional.pad(ids, (0, missing))
    return Parts.build_lm(parts, sizes, weights, padded)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="formula",
    wrong="tokens are padded at the front to the length of the context, and are not the first "
    "ones any more",
    hint="Without a mask for it, padding is read like any token: give the model the tokens at "
    "hand alone.",
)
def padded_at_the_front(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    missing = sizes.context_length - ids.shape[-1]
    padded = functional.pad(ids, (missing, 0))
    return Parts.build_lm(parts, sizes, weights, padded)[:, missing:]


@mistake(
    "transformer_lm",
    "build_lm",
    kind="edge",
    wrong="one token fewer than the context is allowed",
    hint="A sequence may be as long as the context: is your limit one too low, or your table?",
)
def one_token_too_few(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    shorter = sizes._replace(context_length=sizes.context_length - 1)
    return Parts.build_lm(parts, shorter, weights, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="only the first row of the batch is computed, and repeated for the others",
    hint="Change the second row of the batch: do its logits change?",
)
def first_row_repeated(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    logits = Parts.build_lm(parts, sizes, weights, ids[:1])
    return logits.expand(*ids.shape, sizes.vocab_size)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="the weights of the first call are used for every later model of the same sizes",
    hint="Every call asks for a model of its own: what does your module keep, and by what is it "
    "looked up?",
)
def first_weights_of_a_size_kept(
    parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor
) -> Tensor:
    kept = parts.kept.setdefault(("weights", sizes), weights)
    return Parts.build_lm(parts, sizes, kept, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="all blocks share the norms of the last one",
    hint="Each block has two norms with gains of their own: are they built once, outside the loop "
    "over the layers?",
)
def shared_norms(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    shared = {
        f"layers.{i}.{name}.weight": weights[f"layers.{sizes.num_layers - 1}.{name}.weight"]
        for i in range(sizes.num_layers)
        for name in ("ln1", "ln2")
    }
    return Parts.build_lm(parts, sizes, weights | shared, ids)


@mistake(
    "transformer_lm",
    "build_lm",
    kind="laziness",
    wrong="all blocks share the attention of the last one",
    hint="Each block has projections of its own: is attention built once, outside the loop over "
    "the layers?",
)
def shared_attention(parts: Parts, sizes: Sizes, weights: Weights, ids: Tensor) -> Tensor:
    shared = {
        f"layers.{i}.attn.{name}_proj.weight": weights[
            f"layers.{sizes.num_layers - 1}.attn.{name}_proj.weight"
        ]
        for i in range(sizes.num_layers)
        for name in ("q", "k", "v", "output")
    }
    return Parts.build_lm(parts, sizes, weights | shared, ids)
