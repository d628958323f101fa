"""All adapters of both tracks: sampling and generation beside the models."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from cs336_checks.catalogue import KnownMistake, Part

from .gpt_parts import GPTParts

# Token ids (batch, T) to logits (batch, T, vocab_size).
Model = Callable[[Tensor], Tensor]


class Settings(NamedTuple):
    """How to generate, as the adapter is given it."""

    max_new_tokens: int
    context_length: int
    temperature: float
    top_k: int | None
    top_p: float | None
    end_of_text: int | None
    seed: int | None


class AllParts(GPTParts):
    """The adapters of both tracks' models, of sampling and of generation."""

    def run_next_token_probabilities(
        self,
        logits: Tensor,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> Tensor:
        """Sampling, of softmax."""
        if temperature == 0:
            return self.greedy(logits)
        scores = self.cool(logits.double(), temperature)
        if top_k is not None:
            scores = self.cut_to_k(scores, min(top_k, scores.shape[-1]))
        probabilities: Tensor = self.run_softmax(scores, -1)
        if top_p is not None and top_p < 1:
            probabilities = self.cut_to_p(probabilities, top_p)
        return probabilities.to(logits.dtype)

    def greedy(self, logits: Tensor) -> Tensor:
        """All for the first of the largest."""
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)

    def cool(self, logits: Tensor, temperature: float) -> Tensor:
        """Logits at a temperature."""
        return (logits - logits.amax(-1, keepdim=True)) / temperature

    def cut_to_k(self, scores: Tensor, k: int) -> Tensor:
        """Nothing but the k largest."""
        return scores.masked_fill(scores < scores.topk(k).values[..., -1:], -torch.inf)

    def cut_to_p(self, probabilities: Tensor, p: float) -> Tensor:
        """Nothing but the nucleus, scaled to sum to 1."""
        descending, order = ordered(probabilities)
        return scattered(self.nucleus(descending, p), order)

    def nucleus(self, descending: Tensor, p: float) -> Tensor:
        """The same for probabilities in descending order."""
        return rescaled(descending.masked_fill(descending.cumsum(-1) - descending >= p, 0.0))

    def run_generate(
        self,
        model: Model,
        token_ids: Tensor,
        max_new_tokens: int,
        context_length: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        end_of_text: int | None = None,
        seed: int | None = None,
    ) -> list[list[int]]:
        """Generation, of sampling."""
        settings = Settings(
            max_new_tokens, context_length, temperature, top_k, top_p, end_of_text, seed
        )
        return self.generate(model, token_ids, settings)

    def generate(self, model: Model, token_ids: Tensor, settings: Settings) -> list[list[int]]:
        """The loop over new tokens."""
        generator = None if settings.seed is None else torch.Generator().manual_seed(settings.seed)
        tokens, new = token_ids, token_ids[:, :0]
        while new.shape[1] < settings.max_new_tokens and not self.ended(new, settings.end_of_text):
            logits = self.look(model, self.window(tokens, settings.context_length))
            chosen = self.choose(logits, settings, generator)
            tokens, new = torch.cat([tokens, chosen], 1), torch.cat([new, chosen], 1)
        return [self.until_end(row, settings.end_of_text) for row in new.tolist()]

    def window(self, tokens: Tensor, context_length: int) -> Tensor:
        """What the model sees."""
        return tokens[:, -context_length:]

    def look(self, model: Model, window: Tensor) -> Tensor:
        """The logits of the next token of each sequence."""
        return model(window)[:, -1]

    def choose(
        self, logits: Tensor, settings: Settings, generator: torch.Generator | None
    ) -> Tensor:
        """The next token of each sequence, as a column."""
        probabilities = self.run_next_token_probabilities(
            logits, settings.temperature, settings.top_k, settings.top_p
        )
        return torch.multinomial(probabilities, 1, generator=generator)

    def ended(self, new: Tensor, end_of_text: int | None) -> bool:
        """Whether nothing is left to do."""
        return end_of_text is not None and bool((new == end_of_text).any(1).all())

    def until_end(self, new_ids: list[int], end_of_text: int | None) -> list[int]:
        """One sequence's new tokens up to its end."""
        if end_of_text not in new_ids:
            return new_ids
        return new_ids[: new_ids.index(end_of_text) + 1]


def ordered(values: Tensor, *, descending: bool = True) -> tuple[Tensor, Tensor]:
    """Values in order, and where they were."""
    order = values.argsort(dim=-1, descending=descending, stable=True)
    return values.gather(-1, order), order


def scattered(values: Tensor, order: Tensor) -> Tensor:
    """Sorted values back in their places."""
    return torch.zeros_like(values).scatter(-1, order, values)


def rescaled(values: Tensor) -> Tensor:
    """Values that sum to 1."""
    return values / values.sum(-1, keepdim=True)


def adapters_with(*mistakes: KnownMistake) -> AllParts:
    """All adapters of a submission whose only faults are these, as if just imported.

    Each call gives new ones, in which nothing is kept of earlier calls.

    Raises:
        ValueError: two of the mistakes are in the same place.
    """
    replaced: dict[str, Part] = {}
    for known in mistakes:
        taken = replaced.keys() & known.replaces.keys()
        if taken:
            raise ValueError(f"{known.id} replaces {sorted(taken)} as another mistake does")
        replaced.update(known.replaces)
    return AllParts(**replaced)
