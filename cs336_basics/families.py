"""The two families of language models by name, as configurations tell them."""

from collections.abc import Mapping
from typing import Any

from cs336_basics.gpt import GPT
from cs336_basics.model import TransformerLM

FAMILIES: dict[str, type[GPT | TransformerLM]] = {"modern": TransformerLM, "classic": GPT}
FORMER_NAMES = {"transformer": "modern", "gpt": "classic"}


def present_name(family: Any) -> Any:
    """What a family is called that a file may call by its former name."""
    return FORMER_NAMES.get(str(family), family)


def build_model(arguments: Mapping[str, Any]) -> GPT | TransformerLM:
    """The model of a "family", built with the other arguments; its weights are fresh.

    Raises:
        KeyError: there is no such family.
        TypeError: it takes other arguments.
        ValueError: a part refuses its size.
    """
    rest = dict(arguments)
    return FAMILIES[present_name(rest.pop("family"))](**rest)
