"""Generation: what the model sees, which token is chosen, and where a sequence ends."""

import torch
from torch import Tensor

from .all_parts import AllParts, Model, Settings
from .catalogue import mistake


@mistake(
    "generation",
    "window",
    kind="formula",
    wrong="the model sees the last token alone",
    hint="Without a cache, the model has to see all that came before: what do you hand to it after "
    "the first step?",
)
def last_token_alone(tokens: Tensor, context_length: int) -> Tensor:
    return tokens[:, -1:]


@mistake(
    "generation",
    "window",
    kind="formula",
    wrong="of too many tokens the model sees the first ones instead of the last",
    hint="The next token follows the newest ones: which end of the sequence does the window keep?",
)
def first_tokens_kept(tokens: Tensor, context_length: int) -> Tensor:
    return tokens[:, :context_length]


@mistake(
    "generation",
    "window",
    kind="laziness",
    wrong="the model sees all tokens, more than its context has",
    hint="What happens once prompt and new tokens are longer than the context?",
)
def not_cropped(tokens: Tensor, context_length: int) -> Tensor:
    return tokens


@mistake(
    "generation",
    "window",
    kind="formula",
    wrong="the model sees one token more than its context has",
    hint="How many tokens are in your window once the sequence is long?",
)
def one_token_too_many(tokens: Tensor, context_length: int) -> Tensor:
    return tokens[:, -context_length - 1 :]


@mistake(
    "generation",
    "window",
    kind="formula",
    wrong="the model sees one token less than its context has",
    hint="How many tokens are in your window once the sequence is long?",
)
def one_token_too_few(tokens: Tensor, context_length: int) -> Tensor:
    return tokens[:, -max(context_length - 1, 1) :]


@mistake(
    "generation",
    "look",
    kind="formula",
    wrong="the logits of the first position are used instead of the last",
    hint="Logits at a position are for the token after it: which one comes next?",
)
def first_position(model: Model, window: Tensor) -> Tensor:
    return model(window)[:, 0]


@mistake(
    "generation",
    "look",
    kind="formula",
    wrong="the logits of the last position but one are used",
    hint="Logits at a position are for the token after it, the last one's too.",
)
def last_but_one(model: Model, window: Tensor) -> Tensor:
    return model(window)[:, -2:][:, 0]


@mistake(
    "generation",
    "look",
    kind="formula",
    wrong="the logits of all positions are averaged",
    hint="Logits at a position are for the token after it: which one comes next?",
)
def averaged(model: Model, window: Tensor) -> Tensor:
    return model(window).mean(1)


@mistake(
    "generation",
    "choose",
    kind="laziness",
    wrong="the likeliest token is always taken, whatever the temperature",
    hint="Only temperature 0 is greedy: call it with two seeds.",
)
def always_greedy(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    return logits.argmax(-1, keepdim=True)


@mistake(
    "generation",
    "choose",
    kind="laziness",
    wrong="the temperature does not reach the distribution",
    hint="Which of the arguments do you hand on? Call it with temperature 0.",
)
def temperature_not_handed_on(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    return AllParts.choose(parts, logits, settings._replace(temperature=1.0), generator)


@mistake(
    "generation",
    "choose",
    kind="laziness",
    wrong="top-k does not reach the distribution",
    hint="Which of the arguments do you hand on? Call it with a k of 1.",
)
def top_k_not_handed_on(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    return AllParts.choose(parts, logits, settings._replace(top_k=None), generator)


@mistake(
    "generation",
    "choose",
    kind="laziness",
    wrong="top-p does not reach the distribution",
    hint="Which of the arguments do you hand on? Call it with a p near 0.",
)
def top_p_not_handed_on(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    return AllParts.choose(parts, logits, settings._replace(top_p=None), generator)


@mistake(
    "generation",
    "choose",
    kind="formula",
    wrong="the seed is set anew at every step, so that each draws with the same numbers",
    hint="A generator is seeded once, before the first token: draw from a distribution that never "
    "changes.",
)
def seeded_each_step(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    if generator is not None and settings.seed is not None:
        generator.manual_seed(settings.seed)
    return AllParts.choose(parts, logits, settings, generator)


@mistake(
    "generation",
    "choose",
    kind="laziness",
    wrong="the seed is ignored",
    hint="Two calls with the same seed give the same tokens: is the generator handed to the draw?",
)
def seed_ignored(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    return AllParts.choose(parts, logits, settings, None)


@mistake(
    "generation",
    "choose",
    kind="formula",
    wrong="all sequences of a batch get the token that is drawn for the first",
    hint="Every sequence has a distribution and a draw of its own.",
)
def token_of_first_sequence(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    chosen = AllParts.choose(parts, logits[:1], settings, generator)
    return chosen.expand(len(logits), 1)


@mistake(
    "generation",
    "choose",
    kind="formula",
    wrong="all sequences of a batch are drawn with the same random number",
    hint="Give a batch of equal prompts: must all sequences come out equal?",
)
def same_draw_for_the_batch(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    probabilities = parts.run_next_token_probabilities(
        logits, settings.temperature, settings.top_k, settings.top_p
    )
    number = torch.rand(1, generator=generator, dtype=torch.float64)
    beyond = (probabilities.double().cumsum(-1) <= number).sum(-1, keepdim=True)
    return beyond.clamp(max=logits.shape[-1] - 1)


@mistake(
    "generation",
    "choose",
    kind="formula",
    wrong="tokens are drawn uniformly from those that have any probability",
    hint="Likelier tokens are drawn more often: count what a fixed distribution gives.",
)
def drawn_uniformly(
    parts: AllParts, logits: Tensor, settings: Settings, generator: torch.Generator | None
) -> Tensor:
    probabilities = parts.run_next_token_probabilities(
        logits, settings.temperature, settings.top_k, settings.top_p
    )
    return torch.multinomial((probabilities > 0).float(), 1, generator=generator)


@mistake(
    "generation",
    "ended",
    kind="formula",
    wrong="all sequences stop as soon as one of them has ended",
    hint="Each sequence has an end of its own: what becomes of the others?",
)
def all_stop_with_the_first(new: Tensor, end_of_text: int | None) -> bool:
    return end_of_text is not None and bool((new == end_of_text).any())


@mistake(
    "generation",
    "until_end",
    kind="formula",
    wrong="a sequence goes on after its end of text",
    hint="What is the last token of a sequence that has ended?",
)
def goes_on(new_ids: list[int], end_of_text: int | None) -> list[int]:
    return new_ids


@mistake(
    "generation",
    "until_end",
    kind="formula",
    wrong="the end of text itself is left out",
    hint="The token with which a sequence ends is the last of its list.",
)
def end_left_out(new_ids: list[int], end_of_text: int | None) -> list[int]:
    return new_ids[: new_ids.index(end_of_text)] if end_of_text in new_ids else new_ids


@mistake(
    "generation",
    "until_end",
    kind="formula",
    wrong="a sequence is filled up with the end of text while others go on",
    hint="Nothing stands after the end of text: sequences of a batch may differ in length.",
)
def filled_up(parts: AllParts, new_ids: list[int], end_of_text: int | None) -> list[int]:
    kept = AllParts.until_end(parts, new_ids, end_of_text)
    return kept + kept[-1:] * (len(new_ids) - len(kept))
