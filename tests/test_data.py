"""Checks of drawing batches from a data set of token ids."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from cs336_checks.comparison import assert_refuses
from cs336_checks.draws import Draws
from cs336_checks.memory import MEBIBYTE, Memory
from cs336_checks.snapshots import Snapshot

# A right submission may pass a read-only map to torch.from_numpy before it copies from it.
pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")

Batch = tuple[Tensor, Tensor]


def shuffled(draw: Draws, size: int, dtype: type[np.integer] = np.int64) -> npt.NDArray[np.integer]:
    """A data set in which each token id from 0 to size - 1 occurs once."""
    return draw.permutation(size).numpy().astype(dtype)


def starts_of(dataset: npt.NDArray[np.integer], inputs: Tensor) -> Tensor:
    """Where in a shuffled data set each sequence of a batch starts."""
    places = torch.empty(len(dataset), dtype=torch.int64)
    places[torch.from_numpy(dataset.astype(np.int64))] = torch.arange(len(dataset))
    first = inputs[:, 0].to(torch.int64)
    known = bool(((first >= 0) & (first < len(dataset))).all())
    assert known, "The inputs hold token ids that are not in the data set."
    return places[first]


def require_pairs(snapshot: Snapshot, dataset: npt.NDArray[np.integer], batch: Batch) -> None:
    """Fail unless inputs are runs of a shuffled data set and targets the tokens after each.

    Ids of another dtype are taken for what they stand for: their dtype has a check of its own.
    """
    inputs, targets = (ids.to(torch.int64) for ids in batch)
    following = require_runs(snapshot, dataset, inputs)
    snapshot.assert_close(targets, following, "targets", atol=0.0, rtol=0.0)


def require_runs(snapshot: Snapshot, dataset: npt.NDArray[np.integer], inputs: Tensor) -> Tensor:
    """Fail unless inputs are runs of a shuffled data set; the tokens that follow each."""
    starts = starts_of(dataset, inputs)
    length = inputs.shape[1]
    fits = int(starts.max()) <= len(dataset) - length - 1
    assert fits, "A sequence starts so late that there is no token after its last."
    tokens = torch.from_numpy(dataset.astype(np.int64))
    windows = tokens[starts[:, None] + torch.arange(length + 1)]
    snapshot.assert_close(inputs, windows[:, :-1], "inputs", atol=0.0, rtol=0.0)
    return windows[:, 1:]


def require_draws(dataset: npt.NDArray[np.integer], batches: Sequence[Batch]) -> None:
    """Fail where two batches start at the same places, all equally far apart.

    Whether all places are drawn, as often and independently, is for other checks.
    """
    one, other = (starts_of(dataset, inputs).tolist() for inputs, _ in batches)
    steps = {b - a for a, b in itertools.pairwise(one)}
    assert one != other or len(steps) > 1, "Each batch starts at the same places: draw them."


def get_batch(
    adapters: Any,
    dataset: npt.NDArray[np.integer],
    batch_size: int,
    context_length: int,
    device: str = "cpu",
) -> Batch:
    """A batch, once it is known to be two integer tensors of the shape and on the device asked."""
    batch = adapters.run_get_batch(
        dataset=dataset, batch_size=batch_size, context_length=context_length, device=device
    )
    assert isinstance(batch, tuple | list), "A pair of tensors is expected."
    assert len(batch) == 2, f"A pair of tensors is expected; yours has {len(batch)} items."
    for name, tensor in zip(("inputs", "targets"), batch, strict=True):
        assert isinstance(tensor, Tensor), f"The {name} are no tensor."
        shape = tuple(tensor.shape)
        assert shape == (batch_size, context_length), f"The {name} have shape {shape}."
        assert tensor.device.type == device, f"The {name} are on {tensor.device}, not {device}."
    return batch[0], batch[1]


def test_get_batch(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives runs of the data set as inputs and, as targets, the token that follows each."""
    dataset = shuffled(draw, 100)
    batches = [get_batch(adapters, dataset, 32, 7) for _ in range(2)]
    for batch in batches:
        require_pairs(snapshot, dataset, batch)
    require_draws(dataset, batches)


def test_get_batch_keeps_the_data_set(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves the data set as it is."""
    dataset = shuffled(draw, 50)
    before = dataset.copy()
    get_batch(adapters.as_given, dataset, 8, 5)
    snapshot.assert_close(dataset, before, "data set", atol=0.0, rtol=0.0)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16])
def test_get_batch_is_int64(
    adapters: Any, snapshot: Snapshot, draw: Draws, dtype: type[np.integer]
) -> None:
    """Gives int64 tensors whatever integers the data set consists of."""
    dataset = shuffled(draw, 60000, dtype)
    batches = [get_batch(adapters, dataset, 16, 9) for _ in range(2)]
    for name, tensor in zip(("inputs", "targets"), batches[0], strict=True):
        assert tensor.dtype == torch.int64, f"The {name} are {tensor.dtype}."
    require_draws(dataset, batches)
    require_runs(snapshot, dataset, batches[0][0])


def test_get_batch_starts(adapters: Any, draw: Draws) -> None:
    """Starts sequences at 0 to n - m - 1, both ends included, each as often as the others."""
    places, length, size, batches = 64, 32, 32, 120
    dataset = shuffled(draw, places + length)
    inputs = [get_batch(adapters, dataset, size, length)[0] for _ in range(batches)]
    starts = starts_of(dataset, torch.cat(inputs))
    assert starts.max() < places, "A sequence starts so late that no token follows its last."
    counts = torch.bincount(starts, minlength=places)
    # By chance a single place is missed once in 10^24 runs.
    missed = (counts == 0).nonzero().flatten().tolist()
    assert not missed, f"In {batches} batches no sequence started at {missed[:5]}."
    # Hoeffding's bound, which holds with and without replacement: by chance one of eight counts is
    # off by more than this once in 10^10 runs.
    drawn = len(starts)
    allowed = math.sqrt(drawn / 2 * math.log(2 * 8 * 1e10))
    for i, count in enumerate(counts.view(4, 16).sum(1).tolist()):
        where = f"between {16 * i} and {16 * i + 15}"
        assert abs(count - drawn / 4) <= allowed, f"{count} of {drawn} sequences start {where}."
    for i, count in enumerate(counts.view(16, 4).sum(0).tolist()):
        where = f"at a multiple of 4 plus {i}"
        assert abs(count - drawn / 4) <= allowed, f"{count} of {drawn} sequences start {where}."


def test_get_batch_rows_are_independent(adapters: Any, draw: Draws) -> None:
    """Draws each sequence of a batch, and each batch, independently of the others."""
    places, length, size = 1000, 6, 32
    dataset = shuffled(draw, places + length)
    batches = [
        starts_of(dataset, get_batch(adapters, dataset, size, length)[0]).tolist() for _ in range(2)
    ]
    assert batches[0] != batches[1], "Two calls return the same batch."
    for starts in batches:
        pairs = list(itertools.combinations(starts, 2))
        steps = Counter((b - a) % places for a, b in pairs)
        step, count = steps.most_common(1)[0]
        # By chance so many of 496 pairs are alike once in 10^15 runs.
        assert count < size // 2, (
            f"{count} pairs of sequences start {step} places apart: draw each start."
        )
        _, count = Counter((a + b) % places for a, b in pairs).most_common(1)[0]
        assert count < size // 2, (
            f"{count} pairs of sequences start as far from one place: draw each start."
        )


def test_get_batch_on_a_missing_device(adapters: Any, draw: Draws) -> None:
    """Puts the tensors on the device asked for, and so fails where there is none of that name."""
    dataset = shuffled(draw, 50)
    assert_refuses(
        lambda device: adapters.run_get_batch(
            dataset=dataset, batch_size=8, context_length=5, device=device
        ),
        "cpu",
        "cuda:99",
        "A device that does not exist",
    )


def test_get_batch_on_the_meta_device(adapters: Any, draw: Draws) -> None:
    """Puts inputs and targets both on the device asked for."""
    get_batch(adapters, shuffled(draw, 50), 8, 5, "meta")


def test_get_batch_of_the_whole_data_set(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes a data set of m + 1 tokens, in which one sequence fits."""
    dataset = shuffled(draw, 13)
    require_pairs(snapshot, dataset, get_batch(adapters, dataset, 1, 12))


@pytest.mark.fresh_worker
def test_get_batch_memory_mapped(
    adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path
) -> None:
    """Reads a memory-mapped file of unsigned 16-bit token ids."""
    tokens = shuffled(draw, 5000, np.uint16)
    tokens.tofile(tmp_path / "tokens.bin")
    dataset = np.memmap(tmp_path / "tokens.bin", dtype=np.uint16, mode="r")
    require_pairs(snapshot, tokens, get_batch(adapters, dataset, 16, 9))


def test_get_batch_reads_no_more_than_it_needs(
    adapters: Any, memory: Memory, tmp_path: Path
) -> None:
    """Takes a batch from a memory-mapped file without reading the whole file."""

    def mapped(name: str, size: int) -> npt.NDArray[np.integer]:
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
        return np.memmap(tmp_path / name, dtype=np.uint16, mode="r")

    file_bytes = 32 * MEBIBYTE
    dataset = mapped("tokens.bin", file_bytes)
    # The first call may load a library.
    get_batch(adapters, mapped("a_few_tokens.bin", 4096), 8, 64)
    with memory.watch() as growth:
        get_batch(adapters, dataset, 8, 64)
    # Not memory of its own: starts drawn from a permutation of all take much, but read nothing.
    assert growth.mapped_bytes < file_bytes / 2, (
        f"For one batch, most of a file of {file_bytes // MEBIBYTE} MiB was read."
    )
