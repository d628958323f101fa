"""Count a model's parameters and the cost of a forward pass, from shapes alone.

Published sizes can be counted on any machine: build the model on torch's meta device, where a
tensor has a shape and no numbers.

Source: Scaling Laws for Neural Language Models (Kaplan et al., arXiv:2001.08361), table 1, for what
each part of a Transformer takes.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

from cs336_basics.model import CausalMultiHeadSelfAttention, DecoderLM, Linear


def count_parameters(model: nn.Module) -> int:
    """Return the number of parameters; tied parameters count once."""
    return sum(parameter.numel() for parameter in model.parameters())


@dataclass(frozen=True)
class Cost:
    """The size and cost of modules, without the modules inside them.

    Attributes:
        name: the module's path in the model, or a name for several modules.
        modules: the number of modules.
        parameters: a tied one counted where it comes first.
        num_bytes: the size of the parameters.
        flops: of the matrix products in a forward pass, two for each multiplication and addition
            that follows it. The cost of other operations grows only with their inputs' size.
    """

    name: str
    modules: int
    parameters: int
    num_bytes: int
    flops: int


def total(name: str, costs: Iterable[Cost]) -> Cost:
    """All of the costs together."""
    rows = [(cost.modules, cost.parameters, cost.num_bytes, cost.flops) for cost in costs]
    return Cost(name, *(sum(column) for column in zip(*rows, strict=True)))


@dataclass(frozen=True)
class ParameterReport:
    """A model's costs, module by module; as a string, a table of its parts.

    Attributes:
        modules: every module that holds parameters or multiplies matrices by itself.
        batch_size: the sequences of the forward pass.
        length: the tokens of each.
    """

    modules: tuple[Cost, ...]
    batch_size: int
    length: int

    @property
    def total(self) -> Cost:
        """The cost of the model."""
        return total("total", self.modules)

    @property
    def parts(self) -> list[Cost]:
        """The costs with all layers taken together: layers.*.ffn is that of every layer."""
        parts = defaultdict(list)
        for cost in self.modules:
            parts[re.sub(r"\b\d+\b", "*", cost.name)].append(cost)
        return [total(name, costs) for name, costs in parts.items()]

    def __str__(self) -> str:
        """Give the table."""
        rows = [["part", "modules", "parameters", "bytes", "FLOPs"]]
        for cost in (*self.parts, self.total):
            numbers = (cost.modules, cost.parameters, cost.num_bytes, cost.flops)
            rows.append([cost.name, *(f"{number:,}" for number in numbers)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([name.ljust(widths[0]), *map(str.rjust, numbers, widths[1:])])
            for name, *numbers in rows
        ]
        heading = f"forward pass: batch of {self.batch_size}, {self.length} tokens each"
        return "\n".join([heading, *lines])


def parameter_report(
    model: DecoderLM, batch_size: int = 1, length: int | None = None
) -> ParameterReport:
    """Count parameters, bytes and floating-point operations for each module. Nothing is computed.

    Args:
        model: Of either family, on any device.
        batch_size: How many sequences go through the forward pass.
        length: How many tokens each has, by default as many as the context.

    Raises:
        ValueError: the batch is empty, or a sequence is, or is longer than the context.
    """
    length = model.context_length if length is None else length
    if batch_size < 1 or not 1 <= length <= model.context_length:
        raise ValueError(
            f"a batch of {batch_size} sequences of {length} tokens: at least one sequence is "
            f"needed, and from 1 to {model.context_length} tokens"
        )
    counted: set[nn.Parameter] = set()
    costs = []
    for name, module in model.named_modules():
        held = list(module.parameters(recurse=False))
        flops = own_flops(module, batch_size, length)
        if held or flops:
            own = [parameter for parameter in held if parameter not in counted]
            counted.update(own)
            size = sum(parameter.numel() for parameter in own)
            num_bytes = sum(parameter.nbytes for parameter in own)
            costs.append(Cost(name, 1, size, num_bytes, flops))
    return ParameterReport(tuple(costs), batch_size, length)


def own_flops(module: nn.Module, batch_size: int, length: int) -> int:
    """The operations in a module's own matrix products: 2 · m · n · k for (m, n) by (n, k)."""
    if isinstance(module, Linear):
        return 2 * batch_size * length * module.weight.numel()
    if isinstance(module, CausalMultiHeadSelfAttention):
        # Each query with each key, then each weight with each value; heads share d_model features.
        # The mask saves nothing: what it hides has been computed.
        d_model = module.q_proj.weight.shape[0]
        return 2 * 2 * batch_size * length * length * d_model
    return 0
