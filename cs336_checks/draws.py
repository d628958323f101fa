"""Every input of a check is drawn here, from the run's seed and the check's own name."""

import zlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

T = TypeVar("T")


class Draws:
    """The random inputs of one check.

    Two checks never share a stream, so the order in which checks run changes nothing. NumPy
    draws the numbers because its generators give the same stream on every platform.

    Args:
        seed: the run's seed, any non-negative integer.
        name: the check's name with its parameters.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.generator = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def normal(self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
        """A tensor of independent normal numbers with mean 0 and standard deviation ``scale``."""
        return torch.from_numpy(self.generator.normal(0.0, scale, shape)).to(dtype)

    def uniform(
        self, *shape: int, low: float, high: float, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """A tensor of independent numbers, uniform on [low, high)."""
        return torch.from_numpy(self.generator.uniform(low, high, shape)).to(dtype)

    def integers(self, *shape: int, high: int, low: int = 0) -> Tensor:
        """An int64 tensor of independent integers, uniform on low … high - 1."""
        return torch.from_numpy(self.generator.integers(low, high, shape))

    def weight(self, d_out: int, d_in: int) -> Tensor:
        """A (d_out, d_in) weight that keeps the size of what it is applied to."""
        return self.normal(d_out, d_in, scale=d_in**-0.5)

    def permutation(self, n: int) -> Tensor:
        """The numbers 0 … n - 1 in random order, int64."""
        # With NumPy 1 on Windows, the numbers have only 32 bits.
        return torch.from_numpy(self.generator.permutation(n)).to(torch.int64)

    def choice(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self.generator.integers(len(options)))]

    def choices(self, options: Sequence[T], count: int) -> list[T]:
        """``count`` of the options, with repetition."""
        return [options[i] for i in self.generator.integers(len(options), size=count)]
