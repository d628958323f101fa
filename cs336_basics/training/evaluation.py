"""The loss on text that the model has not seen, and a sample of what it writes."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from cs336_basics.generation import (
    GenerationConfig,
    LanguageModel,
    evaluation,
    generate_text,
    modules_of,
)
from cs336_basics.model import DecoderLM, cross_entropy
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.training.tokens import END_OF_TEXT, Tokens


def validation_windows(
    tokens: Tokens, context_length: int, most: int
) -> Int[Tensor, "windows length"]:
    """Windows of one context and the token after it, each half a context after the one before.

    Where there are more than asked for, some that are spread evenly.
    """
    starts = np.arange(0, len(tokens) - context_length, max(1, context_length // 2))
    if len(starts) > most:
        starts = starts[np.linspace(0, len(starts) - 1, most).astype(int)]
    windows = tokens[starts[:, None] + np.arange(context_length + 1)]
    return torch.from_numpy(windows.astype(np.int64))


@torch.no_grad()
def validation_loss(
    model: LanguageModel, windows: Int[Tensor, "windows length"], batch_size: int
) -> float:
    """Return the mean loss in the second half of every window, after the first half as context.

    Windows overlap by half, so that no token counts twice and each has a past to be told from.
    """
    later = (windows.shape[1] - 1) // 2
    total = 0.0
    with evaluation(modules_of(model)):
        for batch in torch.split(windows, batch_size):
            logits = model(batch[:, :-1])[:, later:]
            loss = cross_entropy(logits.float(), batch[:, 1 + later :])
            total += float(loss) * len(batch)
    return total / len(windows)


def sample(
    model: DecoderLM, tokenizer: Tokenizer, prompt: str, max_new_tokens: int, seed: int
) -> str:
    """Return the prompt with the text that the model generates after it."""
    config = GenerationConfig(
        max_new_tokens=max_new_tokens,
        temperature=0.8,
        end_of_text=tokenizer.special_ids[END_OF_TEXT],
        seed=seed,
    )
    return prompt + "".join(generate_text(model, tokenizer, prompt, config))
