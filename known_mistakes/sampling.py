"""The distribution of the next token: temperature, and the order of the steps."""

import math

import torch
from torch import Tensor

from .all_parts import AllParts, rescaled
from .catalogue import mistake

Cut = int | None
Mass = float | None


@mistake(
    "sampling",
    "cool",
    kind="formula",
    wrong="logits are multiplied by the temperature instead of divided",
    hint="A low temperature makes the likeliest token likelier: does yours?",
)
def multiplied_by_temperature(logits: Tensor, temperature: float) -> Tensor:
    return logits * temperature


@mistake(
    "sampling",
    "cool",
    kind="laziness",
    wrong="the temperature is ignored",
    hint="Call it with two temperatures: the probabilities must differ.",
)
def temperature_ignored(logits: Tensor, temperature: float) -> Tensor:
    return logits


@mistake(
    "sampling",
    "cool",
    kind="formula",
    wrong="logits are divided by the square root of the temperature",
    hint="Logits are divided by the temperature itself.",
)
def root_of_temperature(logits: Tensor, temperature: float) -> Tensor:
    return logits / math.sqrt(temperature)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="formula",
    wrong="probabilities are divided by the temperature instead of logits, and go through a second "
    "softmax",
    hint="The softmax comes last, and once: what is near to 1 at a temperature of 1 must stay so.",
)
def temperature_after_softmax(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    right = AllParts.run_next_token_probabilities
    return right(parts, torch.softmax(logits, -1), temperature, top_k, top_p)


@mistake(
    "sampling",
    "greedy",
    kind="edge",
    wrong="logits are divided by a temperature of 0",
    hint="Nothing can be divided by zero: what does temperature 0 stand for?",
)
def divided_by_zero(logits: Tensor) -> Tensor:
    return torch.softmax(logits / 0.0, -1)


@mistake(
    "sampling",
    "greedy",
    kind="edge",
    wrong="temperature 0 is taken for none given, and so for 1",
    hint="Zero counts as false in a condition: temperature 0 is for the likeliest token.",
)
def zero_for_one(parts: AllParts, logits: Tensor) -> Tensor:
    return parts.run_next_token_probabilities(logits, 1.0)


@mistake(
    "sampling",
    "greedy",
    kind="edge",
    wrong="at temperature 0, all of the largest logits share the probability",
    hint="Where several are the largest, the first of them gets all.",
)
def ties_share(logits: Tensor) -> Tensor:
    return rescaled((logits == logits.amax(-1, keepdim=True)).to(logits.dtype))


@mistake(
    "sampling",
    "greedy",
    kind="edge",
    wrong="at temperature 0, the last of the largest logits gets all",
    hint="Where several are the largest, the first of them gets all.",
)
def last_of_the_largest(logits: Tensor) -> Tensor:
    last = logits.shape[-1] - 1 - logits.flip(-1).argmax(-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, last, 1.0)


@mistake(
    "sampling",
    "greedy",
    kind="interface",
    wrong="at temperature 0, the token is returned instead of its distribution",
    hint="A distribution has one number for each entry of the vocabulary, at any temperature.",
)
def token_returned(logits: Tensor) -> Tensor:
    return logits.argmax(-1)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="formula",
    wrong="the likeliest token gets all, whatever the temperature",
    hint="Only temperature 0 is greedy: what do your probabilities look like at 1?",
)
def always_greedy(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    return parts.greedy(logits)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="formula",
    wrong="top-p is applied before the temperature",
    hint="The temperature changes which tokens have probability p together: which comes first?",
)
def top_p_before_temperature(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    right = AllParts.run_next_token_probabilities
    if temperature == 0:
        return parts.greedy(logits)
    return right(parts, right(parts, logits, 1.0, top_k, top_p).log(), temperature)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="formula",
    wrong="top-p looks at the probabilities from before top-k, all of them together",
    hint="Top-k comes first, and what it leaves sums to 1 before top-p looks at it.",
)
def top_p_before_top_k(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    right = AllParts.run_next_token_probabilities
    if temperature == 0:
        return parts.greedy(logits)
    return right(parts, right(parts, logits, temperature, None, top_p).log(), 1.0, top_k)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="laziness",
    wrong="top-p is ignored where top-k is given",
    hint="Both may be given, and both cut.",
)
def either_cut(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    mass = top_p if top_k is None else None
    return AllParts.run_next_token_probabilities(parts, logits, temperature, top_k, mass)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="interface",
    wrong="logarithms of probabilities are returned",
    hint="What do your numbers sum to, and are any negative?",
)
def logarithms(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    right = AllParts.run_next_token_probabilities
    return right(parts, logits, temperature, top_k, top_p).log()


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="formula",
    wrong="the probabilities of each token sum to 1 over the rows, instead of each row's over the "
    "vocabulary",
    hint="The vocabulary is the last dimension: over which one is your softmax?",
)
def softmax_over_rows(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    over_rows = parts.but(run_softmax=lambda scores, _: torch.softmax(scores, 0).nan_to_num())
    right = AllParts.run_next_token_probabilities
    return right(over_rows, logits, temperature, top_k, top_p)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="numerics",
    wrong="the softmax is written out without subtracting the maximum",
    hint="A low temperature makes large numbers of logits: use the softmax you have built.",
)
def softmax_not_shifted(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    plain = parts.but(
        cool=lambda scores, temperature: scores.float() / temperature,
        run_softmax=lambda scores, _: rescaled(scores.exp()),
    )
    return AllParts.run_next_token_probabilities(plain, logits, temperature, top_k, top_p)


@mistake(
    "sampling",
    "run_next_token_probabilities",
    kind="interface",
    wrong="the given logits are changed",
    hint="Whoever called you may need the logits again: which operation writes into the tensor "
    "that it was given?",
)
def logits_changed(
    parts: AllParts,
    logits: Tensor,
    temperature: float = 1.0,
    top_k: Cut = None,
    top_p: Mass = None,
) -> Tensor:
    right = AllParts.run_next_token_probabilities
    probabilities = right(parts, logits, temperature, top_k, top_p)
    logits /= temperature or 1.0
    logits[probabilities == 0] = -torch.inf
    return probabilities
