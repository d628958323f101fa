"""Counting parameters, and models to count."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from .catalogue import variant


@variant("parameter_count", "run_count_parameters")
def by_name(model: nn.Module) -> int:
    """Goes through the names, of which a tied parameter has one."""
    return sum(math.prod(parameter.shape) for _, parameter in model.named_parameters())


@variant("parameter_count", "run_count_parameters")
def by_identity(model: nn.Module) -> int:
    """Remembers which parameters were counted."""
    counted, total = set(), 0
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if id(parameter) not in counted:
                counted.add(id(parameter))
                total += parameter.numel()
    return total


@variant("parameter_count", "run_count_parameters")
def as_vector(model: nn.Module) -> int:
    """Counts the numbers of all parameters in one vector."""
    return len(nn.utils.parameters_to_vector(model.parameters()))


class TorchGPT(nn.Module):
    """A GPT of PyTorch's own layers, which have names of their own."""

    def __init__(self, *sizes: int, dropout: float, tie_weights: bool) -> None:
        super().__init__()
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff = sizes
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context_length, d_model)
        options: dict[str, Any] = {
            "activation": "gelu",
            "batch_first": True,
            "norm_first": True,
            "dropout": dropout,
        }
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(d_model, num_heads, d_ff, **options)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.tokens.weight = self.head.weight

    def forward(self, token_ids: Tensor) -> Tensor:
        """Give logits."""
        T = token_ids.shape[-1]
        x = self.tokens(token_ids) * self.norm.normalized_shape[0] ** 0.5
        x = x + self.positions(torch.arange(T))
        mask = nn.Transformer.generate_square_subsequent_mask(T)
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return torch.as_tensor(self.head(self.norm(x)))


@variant("parameter_count", "get_gpt")
def torch_layers(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    tie_weights: bool,
) -> nn.Module:
    """Is a model of PyTorch's own layers, whose queries, keys and values have one weight."""
    return TorchGPT(
        vocab_size,
        context_length,
        d_model,
        num_layers,
        num_heads,
        d_ff,
        dropout=dropout,
        tie_weights=tie_weights,
    )
