"""Batches of training examples, with every usual source of randomness."""

import random

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .catalogue import variant

Dataset = npt.NDArray[np.integer]
Batch = tuple[Tensor, Tensor]


@variant("data_loading", "run_get_batch")
def stacked_slices(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """Draws with torch.randint and stacks slices that become int64 one by one."""
    starts = torch.randint(len(dataset) - context_length, (batch_size,)).tolist()

    def rows(shift: int) -> Tensor:
        slices = [dataset[i + shift : i + shift + context_length] for i in starts]
        return torch.stack([torch.from_numpy(row.astype(np.int64)) for row in slices])

    return rows(0).to(device), rows(1).to(device)


@variant("data_loading", "run_get_batch")
def numpy_choice(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """Draws starts without replacement."""
    starts = np.random.choice(len(dataset) - context_length, batch_size, replace=False)
    rows = np.stack([dataset[i : i + context_length + 1] for i in starts])
    both = torch.tensor(rows, dtype=torch.long, device=device)
    return both[:, :-1], both[:, 1:]


@variant("data_loading", "run_get_batch")
def first_of_a_permutation(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    """Takes the first starts of a random order of all of them."""
    starts = torch.randperm(len(dataset) - context_length)[:batch_size, None].numpy()
    windows = dataset[starts + np.arange(context_length + 1)]
    both = torch.from_numpy(windows.astype(np.int64)).to(device)
    return both[:, :context_length], both[:, 1:]


@variant("data_loading", "run_get_batch")
def python_random(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """Draws with the random module, builds lists, and returns a list."""
    last = len(dataset) - context_length - 1
    starts = [random.randint(0, last) for _ in range(batch_size)]  # noqa: S311 - no secret
    inputs = [dataset[i : i + context_length].tolist() for i in starts]
    targets = [dataset[i + 1 : i + 1 + context_length].tolist() for i in starts]
    return torch.tensor(inputs).to(device), torch.tensor(targets).to(device)


@variant("data_loading", "run_get_batch")
def windows(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """Indexes a view of all windows with a generator of its own."""
    all_windows = np.lib.stride_tricks.sliding_window_view(dataset, context_length + 1)
    rows = all_windows[np.random.default_rng().integers(len(all_windows), size=batch_size)]
    both = torch.as_tensor(rows.astype("int64"), device=device)
    return both[:, :-1].contiguous(), both[:, 1:].contiguous()


@variant("data_loading", "run_get_batch")
def shared_storage(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """Wraps the whole data set, mapped or not, in a tensor and copies from that."""
    if dataset.dtype == np.uint16:
        tokens = torch.from_numpy(dataset.view(np.int16))
    else:
        tokens = torch.from_numpy(dataset)
    starts = torch.randint(0, len(tokens) - context_length, (batch_size, 1))
    both = tokens[starts + torch.arange(context_length + 1)].to(torch.int64)
    if dataset.dtype == np.uint16:
        both = both & 0xFFFF
    return both[:, :-1].to(device), both[:, 1:].to(device)


@variant("data_loading", "run_get_batch")
def pinned(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """Pins memory where there is a GPU, and moves without waiting."""
    starts = np.random.randint(0, len(dataset) - context_length, size=batch_size)
    inputs, targets = (
        torch.stack(
            [torch.from_numpy(np.array(dataset[i : i + context_length], np.int64)) for i in begin]
        )
        for begin in (starts, starts + 1)
    )
    if device.startswith("cuda") and torch.cuda.is_available():
        inputs, targets = inputs.pin_memory(), targets.pin_memory()
    return inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)


@variant("data_loading", "run_get_batch")
def in_order(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """Reads from the front to the back: the rows of a batch are in the order of their starts."""
    windows = np.lib.stride_tricks.sliding_window_view(dataset, context_length + 1)
    starts = np.sort(np.random.randint(0, len(windows), batch_size))
    both = torch.from_numpy(windows[starts].astype(np.int64)).to(device)
    return both[:, :-1], both[:, 1:]
