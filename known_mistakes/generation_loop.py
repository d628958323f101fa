"""Generation: the loop over new tokens, and what is returned."""

import torch
from torch import Tensor

from .all_parts import AllParts, Model, Settings
from .catalogue import mistake


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="the tokens of the prompt count as new ones",
    hint="With a prompt of ten tokens, how many new ones come out for a maximum of five?",
)
def prompt_counted(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    left = max(settings.max_new_tokens - token_ids.shape[1], 0)
    return AllParts.generate(parts, model, token_ids, settings._replace(max_new_tokens=left))


@mistake(
    "generation",
    "generate",
    kind="interface",
    wrong="the prompt is returned with the new tokens",
    hint="Only new tokens are asked for.",
)
def prompt_returned(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    new = AllParts.generate(parts, model, token_ids, settings)
    return [prompt + ids for prompt, ids in zip(token_ids.tolist(), new, strict=True)]


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="there is one new token too many",
    hint="How many new tokens come out for a maximum of one?",
)
def one_too_many(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    more = settings._replace(max_new_tokens=settings.max_new_tokens + 1)
    return AllParts.generate(parts, model, token_ids, more)


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="there is one new token too few",
    hint="How many new tokens come out for a maximum of one?",
)
def one_too_few(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    less = settings._replace(max_new_tokens=max(settings.max_new_tokens - 1, 0))
    return AllParts.generate(parts, model, token_ids, less)


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="generation stops when the context is full",
    hint="The window slides on: the number of new tokens depends on their maximum alone.",
)
def stops_at_full_context(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    room = max(settings.context_length - token_ids.shape[1], 0)
    fewer = settings._replace(max_new_tokens=min(settings.max_new_tokens, room))
    return AllParts.generate(parts, model, token_ids, fewer)


@mistake(
    "generation",
    "generate",
    kind="edge",
    wrong="an end of text in the prompt ends the sequence",
    hint="A prompt may hold several texts: which tokens do you compare with the end of text?",
)
def ended_by_prompt(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    new = AllParts.generate(parts, model, token_ids, settings)
    rows = zip(token_ids.tolist(), new, strict=True)
    return [[] if settings.end_of_text in prompt else ids for prompt, ids in rows]


@mistake(
    "generation",
    "generate",
    kind="laziness",
    wrong="the end of text is ignored",
    hint="What should happen once the token comes?",
)
def end_ignored(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    return AllParts.generate(parts, model, token_ids, settings._replace(end_of_text=None))


@mistake(
    "generation",
    "generate",
    kind="laziness",
    wrong="only the first sequence of a batch is continued",
    hint="How many lists come out for three prompts?",
)
def first_sequence_alone(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    return AllParts.generate(parts, model, token_ids[:1], settings)


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="new tokens are put before the prompt instead of after it",
    hint="Print the sequence after two steps: on which side has it grown?",
)
def put_in_front(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    def flipped(window: Tensor) -> Tensor:
        return model(torch.cat([window[:, T:].flip(1), window[:, :T]], 1))

    T = token_ids.shape[1]
    return AllParts.generate(parts, flipped, token_ids, settings)


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="the model is always given the prompt, without the new tokens",
    hint="Print what the model sees at the second step.",
)
def prompt_alone(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    def of_prompt(_: Tensor) -> Tensor:
        return model(parts.window(token_ids, settings.context_length))

    return AllParts.generate(parts, of_prompt, token_ids, settings)


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="after the first step, the model is given new tokens alone, without the prompt",
    hint="Print what the model sees at the second step.",
)
def prompt_forgotten(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    length = token_ids.shape[1]

    def new_alone(tokens: Tensor, context_length: int) -> Tensor:
        left = tokens if tokens.shape[1] == length else tokens[:, length:]
        return parts.window(left, context_length)

    return AllParts.generate(parts.but(window=new_alone), model, token_ids, settings)


@mistake(
    "generation",
    "generate",
    kind="formula",
    wrong="a seed is set where none is given, so that every call draws the same",
    hint="Without a seed, two calls differ.",
)
def seeded_by_default(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    seed = 0 if settings.seed is None else settings.seed
    return AllParts.generate(parts, model, token_ids, settings._replace(seed=seed))


@mistake(
    "generation",
    "generate",
    kind="interface",
    wrong="the model is given one sequence at a time, without the batch's dimension",
    hint="A model takes ids of shape (batch, T), for a single sequence too.",
)
def no_batch_dimension(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    def one(window: Tensor) -> Tensor:
        return torch.stack([model(ids) for ids in window])

    return AllParts.generate(parts, one, token_ids, settings)


@mistake(
    "generation",
    "generate",
    kind="edge",
    wrong="a temperature of 0 is taken for none, and so for 1",
    hint="Zero counts as false in a condition, but is a temperature that asks for the likeliest.",
)
def temperature_of_zero_for_none(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    temperature = settings.temperature or 1.0
    return AllParts.generate(parts, model, token_ids, settings._replace(temperature=temperature))


@mistake(
    "generation",
    "generate",
    kind="edge",
    wrong="an end of text of 0 is taken for none",
    hint="Zero counts as false in a condition, but is a token like any other.",
)
def zero_for_none(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    end_of_text = settings.end_of_text or None
    return AllParts.generate(parts, model, token_ids, settings._replace(end_of_text=end_of_text))


@mistake(
    "generation",
    "generate",
    kind="edge",
    wrong="there is one new token even where none is asked for",
    hint="What comes out for a maximum of zero? The question comes before the token.",
)
def one_at_least(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    count = max(settings.max_new_tokens, 1)
    return AllParts.generate(parts, model, token_ids, settings._replace(max_new_tokens=count))


@mistake(
    "generation",
    "generate",
    kind="interface",
    wrong="the caller's prompt is overwritten with zeros, and these are continued",
    hint="Print the prompt before your loop and after it. Which line writes into it?",
)
def prompt_overwritten(
    parts: AllParts, model: Model, token_ids: Tensor, settings: Settings
) -> list[list[int]]:
    return AllParts.generate(parts, model, token_ids.zero_(), settings)
