"""Causal multi-head self-attention: weights, shapes and gradients, with RoPE or without."""

import math

import torch
from torch import Tensor

from cs336_basics.model import split_heads

from .catalogue import mistake
from .multihead import attended, output_of, projected
from .parts import Parts, Projections, Step, causal, merged, random


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the output projection is missing",
    hint="Change the output projection's weight: does your output change?",
)
def no_output_projection(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v, _ = weights
    identity = torch.eye(x.shape[-1])
    return Parts.attend_in_heads(parts, num_heads, (q, k, v, identity), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the weights of queries and keys are swapped",
    hint="Attention of a query to a key is not symmetric: follow each weight from your adapter to "
    "the scores.",
)
def queries_and_keys_swapped(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v, o = weights
    return Parts.attend_in_heads(parts, num_heads, (k, q, v, o), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the weights of keys and values are swapped",
    hint="Follow each weight from your adapter to where it is used; with a fused projection, look "
    "at the order of its three parts.",
)
def keys_and_values_swapped(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v, o = weights
    return Parts.attend_in_heads(parts, num_heads, (q, v, k, o), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the weights of queries and values are swapped",
    hint="Follow each weight from your adapter to where it is used; with a fused projection, look "
    "at the order of its three parts.",
)
def queries_and_values_swapped(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v, o = weights
    return Parts.attend_in_heads(parts, num_heads, (v, k, q, o), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="a fused projection is split head by head, although its weight was put together "
    "projection by projection",
    hint="Put the three weights together on paper and mark which rows your split gives to the "
    "first head's query.",
)
def fused_split_by_head(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v, o = weights
    by_head = torch.cat([q, k, v]).view(num_heads, 3, -1, x.shape[-1])
    q, k, v = (by_head[:, i].reshape(q.shape) for i in range(3))
    return Parts.attend_in_heads(parts, num_heads, (q, k, v, o), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the input takes the place of the values, without a projection",
    hint="There are three projections before attention: where is the third?",
)
def values_not_projected(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, _, o = weights
    return Parts.attend_in_heads(parts, num_heads, (q, k, torch.eye(x.shape[-1]), o), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="laziness",
    wrong="queries and keys share the query's weight",
    hint="Each projection has a weight of its own: change the key's, and the output must change.",
)
def shared_query_weight(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, _, v, o = weights
    return Parts.attend_in_heads(parts, num_heads, (q, q, v, o), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the weights of queries, keys and values are used without transposing them",
    hint="A weight has one row for each output. All are square here, so no shape will tell you: "
    "write down the product for one vector.",
)
def inputs_by_transposed_weights(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v, o = weights
    return Parts.attend_in_heads(parts, num_heads, (q.T, k.T, v.T, o), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the output projection's weight is used without transposing it",
    hint="A weight has one row for each output. It is square here, so no shape will tell you: "
    "write down the product for one vector.",
)
def output_by_transposed_weight(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    q, k, v, o = weights
    return Parts.attend_in_heads(parts, num_heads, (q, k, v, o.T), x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="interface",
    wrong="the given weights are transposed in place",
    hint="Weights belong to the caller, and the second call finds them turned around: make a "
    "transposed view and leave the original.",
)
def weights_transposed_in_place(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    y = Parts.attend_in_heads(parts, num_heads, weights, x, turn)
    weights[0].t_()
    return y


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the input is added to the output",
    hint="The residual connection belongs to the block. What must attention give when the output "
    "projection is zero?",
)
def residual_inside(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return x + Parts.attend_in_heads(parts, num_heads, weights, x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="interface",
    wrong="only the last position is returned",
    hint="In training, every position predicts: the output has the shape of the input.",
)
def last_position_only(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return Parts.attend_in_heads(parts, num_heads, weights, x, turn)[..., -1:, :]


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="interface",
    wrong="the heads stay apart in the output",
    hint="The last step joins the heads and projects: the output has the shape of the input.",
)
def heads_not_joined(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return split_heads(Parts.attend_in_heads(parts, num_heads, weights, x, turn), num_heads)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="interface",
    wrong="the result is cut off from the input, so that no gradient flows back",
    hint="Is the input detached, copied as data, or used in a block without gradients?",
)
def detached(parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step) -> Tensor:
    return Parts.attend_in_heads(parts, num_heads, weights, x.detach(), turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="interface",
    wrong="queries and keys are kept out of the gradient",
    hint="Where to look is learned through queries and keys: only the mask needs no gradient.",
)
def detached_queries_and_keys(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return Parts.attend_in_heads(parts, num_heads, weights, x, lambda y: turn(y).detach())


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="edge",
    wrong="dimensions of size one are squeezed out of the output",
    hint="A batch of one, or one position, is still a dimension: which of your calls removes "
    "dimensions that it was not asked to?",
)
def squeezed(parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step) -> Tensor:
    return Parts.attend_in_heads(parts, num_heads, weights, x, turn).squeeze()


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="laziness",
    wrong="the number of heads of the first call is used for every later one",
    hint="What does your class or function keep from one call to the next?",
)
def first_number_of_heads_kept(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    kept = parts.kept.setdefault("heads", num_heads)
    return Parts.attend_in_heads(parts, kept, weights, x, turn)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="laziness",
    wrong="only the first row of the batch is computed, and repeated for the others",
    hint="Change the second row of the batch: does its output change?",
)
def first_row_repeated(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    return Parts.attend_in_heads(parts, num_heads, weights, x, turn)[:1].expand_as(x)


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="the causal mask is applied after softmax, and the weights of early positions do not "
    "sum to one",
    hint="Sum the weights of the first position: it has only itself to attend to.",
)
def masked_after_softmax(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    Q, K, V = (split_heads(y, num_heads) for y in projected(parts, x, weights))
    scores = turn(Q) @ turn(K).mT / math.sqrt(Q.shape[-1])
    hidden = parts.run_softmax(scores, -1) * causal(x.shape[-2])
    return output_of(parts, weights, merged(hidden @ V))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="formula",
    wrong="a bias is added to queries, keys and values",
    hint="The text's projections are the product alone: what must attention give for an input of "
    "zeros?",
)
def biased_projections(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    biases = random(3, x.shape[-1])
    q, k, v = (y + b for y, b in zip(projected(parts, x, weights), biases, strict=True))
    heads = attended(parts, num_heads, (q, k, v), turn, causal(x.shape[-2]))
    return output_of(parts, weights, merged(heads))


@mistake(
    "multihead_self_attention",
    "attend_in_heads",
    kind="laziness",
    wrong="the weights of the first call are used for every later one of the same sizes",
    hint="A layer belongs to one call here: what does your class or function keep, and by what is "
    "it looked up?",
)
def first_weights_kept(
    parts: Parts, num_heads: int, weights: Projections, x: Tensor, turn: Step
) -> Tensor:
    kept = parts.kept.setdefault(("heads", num_heads, x.shape[-1]), weights)
    return Parts.attend_in_heads(parts, num_heads, kept, x, turn)
