"""How cost grows with the work: longer texts, more tokens, longer sequences."""

import time
from unittest.mock import patch

import torch

from benchmarks.learning import SIZES, VOCAB_SIZE
from benchmarks.measuring import Cost, alone_in_turn
from benchmarks.report import grid, mebibytes, seconds
from benchmarks.texts import text_file
from cs336_basics import generation
from cs336_basics.model import KeyValueCache, TransformerLM


def texts(kind: str, sizes: list[int], vocab_size: int) -> str:
    """Training a vocabulary of one size on texts of several."""
    paths = {size: str(text_file(kind, size)) for size in sizes}
    tasks = {
        f"{size / 1e6:.0f} MB": ["ours", path, str(vocab_size)] for size, path in paths.items()
    }
    return costs_grid(f"{kind}, {vocab_size:,} tokens", alone_in_turn(tasks, 1))


def vocabularies(kind: str, size: int, vocab_sizes: list[int]) -> str:
    """Training vocabularies of several sizes on one text."""
    path = str(text_file(kind, size))
    tasks = {f"{count:,} tokens": ["ours", path, str(count)] for count in vocab_sizes}
    return costs_grid(f"{size / 1e6:.0f} MB of {kind}", alone_in_turn(tasks, 1))


def steps(shapes: list[tuple[int, int]], rounds: int) -> str:
    """A step of training on batches of several shapes."""
    tasks = {
        f"{batch} sequences of {length}": ["step", str(batch), str(length)]
        for batch, length in shapes
    }
    return costs_grid("a step of training", alone_in_turn(tasks, rounds))


def costs_grid(what: str, costs: dict[str, Cost]) -> str:
    """A line for each amount of work."""
    rows = [
        (work, seconds(cost.seconds), mebibytes(cost.mebibytes)) for work, cost in costs.items()
    ]
    return grid((what, "CPU", "memory"), rows)


def generations(counts: list[int]) -> str:
    """One token after the other, up to the end of the context and past it, and what is cached."""
    model = TransformerLM(**SIZES, d_ff=704, rope_theta=10_000.0)
    prompt = torch.randint(VOCAB_SIZE, (1, 1))
    rows = []
    for count in counts:
        caches: list[KeyValueCache] = []

        def noted(caches: list[KeyValueCache] = caches) -> KeyValueCache:
            caches.append(KeyValueCache())
            return caches[-1]

        config = generation.GenerationConfig(max_new_tokens=count, temperature=0)
        begun = time.process_time()
        with patch.object(generation, "KeyValueCache", noted):
            generation.generate(model, prompt, config)
        spent = time.process_time() - begun
        rows.append((f"{count} tokens", seconds(spent), mebibytes(held(caches) / 2**20)))
    return grid((f"a context of {SIZES['context_length']}", "CPU", "keys and values"), rows)


def held(caches: list[KeyValueCache]) -> int:
    """The bytes of all keys and values."""
    tensors = (tensor for cache in caches for tensor in (cache.keys, cache.values))
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors if tensor is not None)
