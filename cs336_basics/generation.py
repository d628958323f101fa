"""Text from a language model of either family, token by token.

Sources:
    Hierarchical Neural Story Generation (Fan et al., arXiv:1805.04833): top-k.
    The Curious Case of Neural Text Degeneration (Holtzman et al., arXiv:1904.09751): nucleus
    sampling, top-p.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cs336_basics.allowed import require_whole
from cs336_basics.model import DecoderLM, KeyValueCache, softmax

# Token ids (batch, T) to logits (batch, T, vocab_size).
LanguageModel = Callable[[Tensor], Tensor]


@runtime_checkable
class TextCodec(Protocol):
    """Encodes and decodes text, as this project's Tokenizer and tiktoken's Encoding do."""

    def encode(self, text: str, /) -> list[int]:
        """Give the token ids of a text."""

    def decode(self, token_ids: list[int], /) -> str:
        """Give the text of token ids, with U+FFFD for bytes that are no UTF-8."""


def next_token_probabilities(
    logits: Float[Tensor, "... vocab_size"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "... vocab_size"]:
    """Return the distribution of the next token, after temperature, then top-k, then top-p.

    Args:
        logits: -inf for a token that must not be drawn.
        temperature: Logits are divided by it. With 0, the first of the largest has
            probability 1.
        top_k: Keep the k likeliest tokens, and all that are exactly as likely as the last of these.
        top_p: Keep the likeliest tokens until they have probability p together, the one that
            reaches it included and so at least one. Of equally likely ones, the first come first.

    Raises:
        ValueError: a parameter makes no sense, or the largest logit of a row is not finite.
    """
    require_sampling(temperature, top_k, top_p)
    highest, first = likeliest(logits)
    dtype = torch.promote_types(logits.dtype, torch.float32)
    if temperature == 0:
        return torch.zeros_like(logits, dtype=dtype).scatter(-1, first, 1.0)
    # In float64 and with 0 as the largest, any temperature is fine and sums are exact enough.
    scores = (logits.double() - highest) / temperature
    if top_k is not None and top_k < scores.shape[-1]:
        kth_largest = scores.topk(top_k).values[..., -1:]
        scores = scores.masked_fill(scores < kth_largest, -math.inf)
    probabilities = softmax(scores, dim=-1)
    if top_p is not None and top_p < 1:
        probabilities = nucleus(probabilities, top_p)
    return probabilities.to(dtype)


def likeliest(
    logits: Float[Tensor, "... vocab_size"],
) -> tuple[Float[Tensor, "... 1"], Int[Tensor, "... 1"]]:
    """Return the largest logit of each row, and the first token that has it.

    Raises:
        ValueError: the largest logit of a row is not finite.
    """
    highest, first = logits.max(dim=-1, keepdim=True)
    if not all(math.isfinite(logit) for logit in highest.flatten().tolist()):
        raise ValueError("the largest logit of each row must be finite, neither NaN nor infinite")
    return highest, first


def require_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Refuse parameters that make no sense. NaN is in no range.

    Raises:
        ValueError: names the parameter and what it may be.
    """
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature = {temperature} must be at least 0 and finite")
    if top_k is not None:
        require_whole("top_k", top_k, 1)
    if top_p is not None and not 0 <= top_p <= 1:
        raise ValueError(f"top_p = {top_p} must be from 0 to 1")


def nucleus(
    probabilities: Float[Tensor, "... vocab_size"], top_p: float
) -> Float[Tensor, "... vocab_size"]:
    """Keep the likeliest tokens, up to the one that reaches probability p, scaled to sum to 1."""
    descending, order = probabilities.sort(dim=-1, descending=True, stable=True)
    # Dropped is what comes after p was reached; nothing comes before the likeliest.
    dropped = (descending.cumsum(dim=-1) >= top_p).roll(1, dims=-1)
    dropped[..., 0] = False
    kept = descending.masked_fill(dropped, 0.0)
    return torch.zeros_like(kept).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))


@dataclass(frozen=True, kw_only=True)
class GenerationConfig:
    """The settings of a generation.

    Attributes:
        max_new_tokens: the largest number of tokens to generate.
        temperature, top_k, top_p: see next_token_probabilities.
        end_of_text: a sequence stops after this token.
        context_length: how many of the last tokens the model sees; the model's own by default.
        seed: repeats what is drawn; by default torch's global generator draws.
        use_cache: compute keys and values once for each token, where the model has a cache. The
            output is the same, so the cache serves only until the window starts to slide: from
            then on every token stands elsewhere in the window and has lost part of its past,
            and the whole window is computed again at each step.

    Raises:
        ValueError: a value makes no sense.
    """

    max_new_tokens: int
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    end_of_text: int | None = None
    context_length: int | None = None
    seed: int | None = None
    use_cache: bool = True

    def __post_init__(self) -> None:
        """Refuse before the first token what would be refused with it."""
        require_sampling(self.temperature, self.top_k, self.top_p)
        require_whole("max_new_tokens", self.max_new_tokens, 0)
        if self.end_of_text is not None:
            require_whole("end_of_text", self.end_of_text, 0)
        if self.context_length is not None:
            require_whole("context_length", self.context_length, 1)
        if self.seed is not None:
            require_whole("seed", self.seed, 0, 2**64 - 1)


def generate(
    model: LanguageModel, prompts: Int[Tensor, "batch T"], config: GenerationConfig
) -> list[list[int]]:
    """Return the new token ids of each sequence, with the end of text if it was drawn.

    Raises:
        ValueError: there is no prompt, or the model does not know how long its context is.
    """
    sequences: list[list[int]] = [[] for _ in prompts]
    for step in generate_steps(model, prompts, config):
        for sequence, token_id in zip(sequences, step, strict=True):
            if token_id is not None:
                sequence.append(token_id)
    return sequences


def generate_steps(
    model: LanguageModel, prompts: Int[Tensor, "batch T"], config: GenerationConfig
) -> Iterator[list[int | None]]:
    """Yield the next token id of each sequence, step by step; None for a sequence that has ended.

    The tokens of a sequence do not depend on whether another sequence has ended.

    Raises:
        ValueError: there is no prompt, or the model does not know how long its context is.
    """
    if prompts.ndim != 2 or prompts.shape[1] == 0 or prompts.is_floating_point():
        raise ValueError(
            f"prompts of shape {tuple(prompts.shape)} and {prompts.dtype} must be integers of "
            "shape (batch, T) with at least one token"
        )
    generator = None if config.seed is None else torch.Generator().manual_seed(config.seed)
    predict = predictor(model, config)
    tokens, ended = prompts.long(), [False] * len(prompts)
    for _ in range(config.max_new_tokens):
        if all(ended):
            return
        chosen = choose(predict(tokens), config, generator)
        tokens = torch.cat((tokens, chosen.to(tokens)), dim=1)
        ids = chosen.flatten().tolist()
        yield [None if done else id_ for id_, done in zip(ids, ended, strict=True)]
        ended = [done or id_ == config.end_of_text for id_, done in zip(ids, ended, strict=True)]


def choose(
    logits: Float[Tensor, "batch vocab_size"],
    config: GenerationConfig,
    generator: torch.Generator | None,
) -> Int[Tensor, "batch 1"]:
    """Return the likeliest token at temperature 0, else draw one."""
    if config.temperature == 0:
        return likeliest(logits)[1]
    # On the CPU, which has float64, and where the same seed draws the same whatever device the
    # model is on.
    probabilities = next_token_probabilities(
        logits.cpu(), config.temperature, config.top_k, config.top_p
    )
    return torch.multinomial(probabilities, 1, generator=generator)


def predictor(model: LanguageModel, config: GenerationConfig) -> Callable[[Tensor], Tensor]:
    """Return a function from all tokens so far to the logits of the next one.

    Raises:
        ValueError: neither model nor config says how long the context is.
    """
    decoder = model if isinstance(model, DecoderLM) else None
    if config.context_length is not None:
        context_length = config.context_length
    elif decoder is not None:
        context_length = decoder.context_length
    else:
        raise ValueError("this model does not say how long its context is: set context_length")
    layers = decoder.layers if decoder is not None and config.use_cache else ()
    caches = [KeyValueCache() for _ in layers]
    modules = modules_of(model)

    def predict(tokens: Int[Tensor, "batch T"]) -> Float[Tensor, "batch vocab_size"]:
        window = tokens[:, -context_length:]
        with torch.inference_mode(), evaluation(modules):
            if decoder is not None and caches and window.shape == tokens.shape:
                logits: Tensor = decoder(window[:, len(caches[0]) :], caches)
            else:
                logits = model(window)
        return logits[:, -1]

    return predict


def modules_of(model: LanguageModel) -> list[nn.Module]:
    """Return all modules of a model."""
    return list(model.modules()) if isinstance(model, nn.Module) else []


@contextmanager
def evaluation(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Set modules to evaluation mode within the context, and restore their modes after it."""
    training = [module for module in modules if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def generate_text(
    model: LanguageModel, tokenizer: TextCodec, prompt: str, config: GenerationConfig
) -> Iterator[str]:
    """Generate the text after the prompt, piece by piece, up to the end of text and without it.

    An empty prompt stands for the end of text, after which a new text begins.

    Raises:
        ValueError: the prompt is empty, and the config does not say how a text ends.
    """
    ids = tokenizer.encode(prompt)
    if not ids and config.end_of_text is not None:
        ids = [config.end_of_text]
    parameter = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    device = None if parameter is None else parameter.device
    steps = generate_steps(model, torch.tensor([ids], dtype=torch.int64, device=device), config)
    new_ids = (id_ for [id_] in steps if id_ is not None and id_ != config.end_of_text)
    return decode_stream(tokenizer, new_ids)


def decode_stream(tokenizer: TextCodec, token_ids: Iterable[int]) -> Iterator[str]:
    """Decode ids one by one, and yield each piece of text as soon as later ids cannot change it."""
    held: list[int] = []
    given = 0  # the number of characters of the held tokens' text that were yielded before
    for token_id in token_ids:
        held.append(token_id)
        text = tokenizer.decode(held)
        # The last character may be incomplete, until the next token completes it.
        certain = len(text) - text.endswith("\N{REPLACEMENT CHARACTER}")
        if certain > given:
            yield text[given:certain]
        # An incomplete character has at most three bytes, so it lies in the last three tokens.
        held = held[-3:] if certain < len(text) else []
        given = len(tokenizer.decode(held)) - 1 if held else 0
    if held:
        yield tokenizer.decode(held)[given:]
