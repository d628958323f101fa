"""Training examples from a long array of token ids."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

# The number of token ids that are searched at once, which limits memory.
BLOCK = 2**24


@dataclass(frozen=True)
class DocumentStarts:
    """The positions at which a sequence can start without crossing a document's end.

    Attributes:
        first: The first start of each document that is long enough.
        before: The number of starts in the documents before each one; the last entry is the total.
    """

    first: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of starts."""
        return int(self.before[-1])

    def __getitem__(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of the starts with these numbers, from 0 to len - 1."""
        document = np.searchsorted(self.before, index, side="right") - 1
        return self.first[document] + index - self.before[document]


def document_starts(
    dataset: npt.NDArray[np.integer], end_of_text: int, context_length: int
) -> DocumentStarts:
    """Find the starts of all sequences that lie in one document together with their targets.

    A document ends with the id end_of_text, which is its last target. Documents that are shorter
    than a sequence and its target are left out.

    Raises:
        ValueError: no document is long enough.
    """
    ends = [
        np.flatnonzero(dataset[start : start + BLOCK] == end_of_text) + start
        for start in range(0, len(dataset), BLOCK)
    ]
    borders = np.concatenate([[-1], *ends, [len(dataset) - 1]])
    lengths = np.diff(borders)
    room = np.maximum(lengths - context_length, 0)
    if not room.any():
        raise ValueError(
            f"no document has the {context_length + 1} tokens that a context of {context_length} "
            f"needs: the longest has {lengths.max()}"
        )
    long_enough = room > 0
    before = np.concatenate([[0], np.cumsum(room[long_enough])])
    return DocumentStarts(borders[:-1][long_enough] + 1, before)


def get_batch(
    dataset: npt.NDArray[np.integer],
    batch_size: int,
    context_length: int,
    device: torch.device | str = "cpu",
    documents: DocumentStarts | None = None,
) -> tuple[
    Int[Tensor, "batch_size context_length"],
    Int[Tensor, "batch_size context_length"],
]:
    """Draw sequences that start anywhere, and the same sequences one token later.

    The starts come from torch's global generator: torch.manual_seed repeats them.

    Args:
        dataset: Token ids in one row; a memory-mapped file is read only where the batch lies.
        batch_size: The number of sequences.
        context_length: The number of tokens of each sequence.
        device: The device of the two int64 tensors.
        documents: Draw starts from these alone, so that no sequence crosses a border; see
            document_starts.

    Returns:
        Inputs and targets: targets[i, t] is the token after inputs[i, t].

    Raises:
        ValueError: the dataset is no row of integers or has no room for a sequence and its target,
            or batch_size or context_length is less than 1.
    """
    if batch_size < 1 or context_length < 1:
        raise ValueError(
            f"batch_size = {batch_size} and context_length = {context_length} must be at least 1"
        )
    if dataset.ndim != 1 or not np.issubdtype(dataset.dtype, np.integer):
        raise ValueError(
            f"the dataset must be one row of integers, not {dataset.dtype} of {dataset.shape}"
        )
    num_starts = len(dataset) - context_length if documents is None else len(documents)
    if num_starts < 1:
        raise ValueError(
            f"{len(dataset)} tokens are too few for a context of {context_length}: "
            f"at least {context_length + 1} are needed"
        )
    starts = torch.randint(num_starts, (batch_size, 1)).numpy()
    if documents is not None:
        starts = documents[starts]
    # int64 before torch sees it: torch has no arithmetic for uint16.
    windows = np.asarray(dataset[starts + np.arange(context_length + 1)], dtype=np.int64)
    tokens = torch.from_numpy(windows).to(device)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
