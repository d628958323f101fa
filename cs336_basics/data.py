"""Training examples from a long array of token ids."""

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor


def get_batch(
    dataset: npt.NDArray[np.integer],
    batch_size: int,
    context_length: int,
    device: torch.device | str = "cpu",
) -> tuple[
    Int[Tensor, "batch_size context_length"],
    Int[Tensor, "batch_size context_length"],
]:
    """Draw sequences that start anywhere, and the same sequences one token later.

    The starts come from torch's global generator: torch.manual_seed repeats them.

    Args:
        dataset: Token ids in one row; a memory-mapped file is read only where the batch lies.
        batch_size: How many sequences.
        context_length: How many tokens each.
        device: Where the two int64 tensors are to be.

    Returns:
        Inputs and targets: targets[i, t] is the token after inputs[i, t].

    Raises:
        ValueError: the dataset is no row of integers or has no room for a sequence and its target.
    """
    if dataset.ndim != 1 or not np.issubdtype(dataset.dtype, np.integer):
        raise ValueError(
            f"the dataset must be one row of integers, not {dataset.dtype} of {dataset.shape}"
        )
    num_starts = len(dataset) - context_length
    if num_starts < 1:
        raise ValueError(
            f"{len(dataset)} tokens are too few for a context of {context_length}: "
            f"at least {context_length + 1} are needed"
        )
    starts = torch.randint(num_starts, (batch_size, 1)).numpy()
    # int64 before torch sees it: torch has no arithmetic for uint16.
    windows = np.asarray(dataset[starts + np.arange(context_length + 1)], dtype=np.int64)
    tokens = torch.from_numpy(windows).to(device)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
