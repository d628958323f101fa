"""The two families of language models by name, as configurations tell them."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from cs336_basics.allowed import require_whole
from cs336_basics.gpt import GPT, FeedForward
from cs336_basics.model import TransformerLM

FAMILIES: dict[str, type[GPT | TransformerLM]] = {"modern": TransformerLM, "classic": GPT}
SIZES = {"vocab_size", "context_length", "d_model", "num_layers", "num_heads", "d_ff"}
FORMER_NAMES = {"transformer": "modern", "gpt": "classic"}


def present_name(family: Any) -> Any:
    """Return the present name of a family that a file may call by its former name."""
    return FORMER_NAMES.get(str(family), family)


def build_model(arguments: Mapping[str, Any]) -> GPT | TransformerLM:
    """Build the model of a "family" with the other arguments and fresh weights.

    With "approximate_gelu", a classic model has the GELU of GPT-2's published weights.

    Raises:
        KeyError: there is no such family.
        TypeError: it takes other arguments.
        ValueError: a size makes no sense.
    """
    rest = dict(arguments)
    for name in SIZES & rest.keys():
        require_whole(name, rest[name], 1)
    approximate = rest.pop("approximate_gelu", False)
    model = FAMILIES[present_name(rest.pop("family"))](**rest)
    for module in model.modules():
        if approximate and isinstance(module, FeedForward):
            module.activation = approximate_gelu
    return model


def approximate_gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GELU with tanh in place of the normal distribution function (arXiv:1606.08415, section 2)."""
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
