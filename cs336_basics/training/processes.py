"""One process or several that train the same model, started by torchrun.

Every process has all weights and goes through its own share of a step's sequences. Gradients are
added up over all, and then all take the same step, so that weights stay equal without being sent.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Processes:
    """This process among those that train together.

    Attributes:
        rank: the number of this process; the first one evaluates, saves and prints.
        count: how many.
        device: where this one computes.
    """

    rank: int
    count: int
    device: torch.device

    @property
    def first(self) -> bool:
        """True in the process that evaluates, saves and prints."""
        return self.rank == 0

    def share(self, sequences: Tensor, accumulation: int) -> Sequence[Tensor]:
        """The parts of a step's sequences that this process goes through, one after the other."""
        parts = sequences.chunk(self.count * accumulation)
        return parts[self.rank * accumulation : (self.rank + 1) * accumulation]

    def sum_gradients(self, model: nn.Module) -> None:
        """Add up the gradients of all processes, as one vector and so in one message."""
        if self.count == 1:
            return
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        summed = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(summed)
        start = 0
        for gradient in gradients:
            gradient.copy_(summed[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()

    def sum(self, value: Tensor) -> Tensor:
        """Add up a value of all processes."""
        if self.count > 1:
            dist.all_reduce(value)
        return value


@contextmanager
def joined(device: str) -> Iterator[Processes]:
    """The processes that torchrun started, or this one alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    if device == "cuda":
        own = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(own)
    else:
        own = torch.device(device)
    if count == 1:
        yield Processes(0, 1, own)
        return
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield Processes(rank, count, own)
    finally:
        dist.destroy_process_group()
