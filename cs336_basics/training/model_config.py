"""The model of a run, of either family."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import psutil

from cs336_basics.allowed import require_choice, require_number, require_whole
from cs336_basics.families import FAMILIES, build_model
from cs336_basics.model import DecoderLM, swiglu_d_ff


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The model, of either family."""

    family: Literal["modern", "classic"] = "modern"
    """LLaMA's or GPT's."""
    context_length: int = 256
    d_model: int = 128
    num_layers: int = 4
    num_heads: int = 4
    d_ff: int | None = None
    """By default 8/3 d_model (modern) or 4 d_model (classic)."""
    tie_weights: bool | None = None
    """The output projection is the embedding; by default only in the classic family."""
    rope_theta: float = 10_000.0
    """Only of the modern one, as is the following."""
    num_kv_heads: int | None = None
    """Heads of keys and values, which query heads share; by default each has its own."""
    dropout: float = 0.0
    """Only of the classic one, as is the following."""
    positions: Literal["learned", "sinusoidal"] = "learned"

    def __post_init__(self) -> None:
        """Refuse sizes that make no sense, and options that the family does not have.

        Raises:
            ValueError: names the option, its value and what it may be.
        """
        require_choice("model.family", self.family, FAMILIES)
        require_choice("model.positions", self.positions, ("learned", "sinusoidal"))
        for name in ("context_length", "d_model", "num_layers", "num_heads"):
            require_whole(f"model.{name}", getattr(self, name), 1)
        for name in ("d_ff", "num_kv_heads"):
            if getattr(self, name) is not None:
                require_whole(f"model.{name}", getattr(self, name), 1)
        if self.num_heads % (self.num_kv_heads or 1):
            raise ValueError(
                f"model.num_kv_heads = {self.num_kv_heads} must divide model.num_heads = "
                f"{self.num_heads}"
            )
        require_number("model.rope_theta", self.rope_theta, "greater than 0", lambda x: x > 0)
        require_number(
            "model.dropout", self.dropout, "at least 0 and less than 1", lambda x: 0 <= x < 1
        )
        unit, parts = ("pairs", 2) if self.family == "modern" else ("features", 1)
        if self.d_model % (parts * self.num_heads):
            raise ValueError(
                f"model.d_model = {self.d_model} cannot be divided among model.num_heads = "
                f"{self.num_heads}: each head needs the same number of {unit}, so d_model must be "
                f"a multiple of {parts * self.num_heads}"
            )
        others = {"modern": ("dropout", "positions"), "classic": ("rope_theta", "num_kv_heads")}
        for name in others[self.family]:
            value, default = getattr(self, name), type(self).__dataclass_fields__[name].default
            if value != default:
                raise ValueError(
                    f"model.{name} = {value!r} has no effect on the family {self.family!r}: leave "
                    f"the option out, or choose the other with --model.family"
                )

    def arguments(self, vocab_size: int) -> dict[str, Any]:
        """Return the family and the arguments that build the model: the content of config.json."""
        modern = self.family == "modern"
        chosen: dict[str, Any] = {
            "family": self.family,
            "vocab_size": vocab_size,
            "context_length": self.context_length,
            "d_model": self.d_model,
            "num_layers": self.num_layers,
            "num_heads": self.num_heads,
            "tie_weights": not modern if self.tie_weights is None else self.tie_weights,
        }
        if modern:
            chosen["d_ff"] = swiglu_d_ff(self.d_model) if self.d_ff is None else self.d_ff
            chosen["rope_theta"] = self.rope_theta
            chosen["num_kv_heads"] = self.num_kv_heads or self.num_heads
        else:
            chosen["d_ff"] = 4 * self.d_model if self.d_ff is None else self.d_ff
            chosen["dropout"] = self.dropout
            chosen["positions"] = self.positions
        return chosen

    def build(self, vocab_size: int) -> DecoderLM:
        """Build the model with fresh weights.

        Raises:
            ValueError: a part refuses its size.
        """
        arguments = self.arguments(vocab_size)
        self.require_memory(arguments)
        try:
            return build_model(arguments)
        except (RuntimeError, TypeError, OverflowError) as error:
            # Where memory is short or sizes overflow, torch raises any of these.
            reason = str(error).splitlines()[0]
            raise ValueError(f"a model of these sizes cannot be built: {reason}") from error

    def require_memory(self, arguments: Mapping[str, Any]) -> None:
        """Refuse a model that this machine cannot hold, before the system ends the process for it.

        Raises:
            ValueError: gives both sizes.
        """
        d_model, d_ff = arguments["d_model"], arguments["d_ff"]
        least = self.num_layers * d_model * (2 * d_model + 2 * d_ff)
        least += arguments["vocab_size"] * d_model
        # A weight, its gradient and two moments, in float32.
        needed, there = 16 * least, psutil.virtual_memory().total
        if needed > there:
            raise ValueError(
                f"a model of these sizes has at least {least:,} parameters: to train it takes "
                f"{needed / 2**30:,.0f} GiB, and this machine has {there / 2**30:,.0f} GiB"
            )
