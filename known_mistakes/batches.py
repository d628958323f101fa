"""Wrong ways to draw a batch from a data set."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .catalogue import mistake
from .parts import Parts

Dataset = npt.NDArray[np.integer]
Batch = tuple[Tensor, Tensor]
Starts = npt.NDArray[np.integer]


def random_starts(num_starts: int, batch_size: int) -> Starts:
    """Starts from 0 to num_starts - 1, all as likely."""
    return torch.randint(num_starts, (batch_size,)).numpy()


def batch_from(dataset: Dataset, starts: Starts, context_length: int, device: str) -> Batch:
    """The sequences that start there, and the same one token later."""
    windows = dataset[starts[:, None] + np.arange(context_length + 1)].astype(np.int64)
    tokens = torch.from_numpy(windows).to(device)
    return tokens[:, :-1], tokens[:, 1:]


def right(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    """A batch."""
    starts = random_starts(len(dataset) - context_length, batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="edge",
    wrong="the last possible start is never drawn",
    hint="How many starts has a data set of m + 1 tokens? The upper end of a random number is "
    "often left out.",
)
def last_start_missing(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = random_starts(len(dataset) - context_length - 1, batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="edge",
    wrong="the first token of the data set is never a start",
    hint="Which is the smallest number that you draw?",
)
def first_start_missing(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = 1 + random_starts(len(dataset) - context_length - 1, batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="edge",
    wrong="a start is drawn after which the last target is missing",
    hint="A sequence of m tokens and its targets take m + 1 tokens. Where must the last one start?",
)
def start_without_last_target(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = random_starts(len(dataset) - context_length + 1, batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="formula",
    wrong="sequences run over the end of the data set and go on at its beginning",
    hint="The end of a text does not go on with its beginning. How many starts are there?",
)
def over_the_end(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    starts = random_starts(len(dataset), batch_size)
    places = (starts[:, None] + np.arange(context_length + 1)) % len(dataset)
    tokens = torch.from_numpy(dataset[places].astype(np.int64)).to(device)
    return tokens[:, :-1], tokens[:, 1:]


@mistake(
    "data_loading",
    "run_get_batch",
    kind="edge",
    wrong="a data set of m + 1 tokens is refused",
    hint="One sequence and its target fit into m + 1 tokens. Where is the length compared?",
)
def one_sequence_refused(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    if len(dataset) <= context_length + 1:
        raise ValueError("the data set is too short")
    return right(dataset, batch_size, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="formula",
    wrong="the targets are the inputs",
    hint="The model is to predict the next token. Print one row of each.",
)
def targets_are_inputs(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    inputs, _ = right(dataset, batch_size, context_length, device)
    return inputs, inputs.clone()


@mistake(
    "data_loading",
    "run_get_batch",
    kind="formula",
    wrong="inputs and targets change places",
    hint="The model is to predict the next token, not the one before. Print one row of each.",
)
def targets_first(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    inputs, targets = right(dataset, batch_size, context_length, device)
    return targets, inputs


@mistake(
    "data_loading",
    "run_get_batch",
    kind="formula",
    wrong="the targets are the inputs turned round by one place, with the first token at the end",
    hint="The last target is the token that follows in the data set, not one of the inputs.",
)
def targets_rolled(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    inputs, _ = right(dataset, batch_size, context_length, device)
    return inputs, inputs.roll(-1, 1)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="formula",
    wrong="1 is added to the token ids, not to their places",
    hint="Try a data set whose ids are not in order: what is the token after 7?",
)
def targets_are_ids_plus_one(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    inputs, _ = right(dataset, batch_size, context_length, device)
    return inputs, inputs + 1


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="only the last token has a target",
    hint="A model predicts at every position. The targets have the shape of the inputs.",
)
def last_target_only(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    inputs, targets = right(dataset, batch_size, context_length, device)
    return inputs, targets[:, -1]


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="the inputs hold one token more than the context",
    hint="Each window of m + 1 tokens has two parts of m tokens. Where do you cut it?",
)
def one_token_too_many(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = random_starts(len(dataset) - context_length, batch_size)
    tokens = torch.from_numpy(dataset[starts[:, None] + np.arange(context_length + 1)])
    return tokens.long().to(device), tokens[:, 1:].long().to(device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="sequences stand in columns, not in rows",
    hint="The first dimension is the batch. Along which one do you stack?",
)
def sequences_in_columns(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    inputs, targets = right(dataset, batch_size, context_length, device)
    return inputs.T, targets.T


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="the token ids become floating-point numbers",
    hint="An embedding is indexed with integers. Some constructors of tensors always give float32.",
)
def floating_point(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    inputs, targets = right(dataset, batch_size, context_length, device)
    return inputs.float(), targets.float()


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="the token ids keep the data set's own type",
    hint="Files hold small unsigned integers, but indexing and the loss want int64.",
)
def type_of_the_data_set(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = random_starts(len(dataset) - context_length, batch_size)
    tokens = torch.from_numpy(dataset[starts[:, None] + np.arange(context_length + 1)]).to(device)
    return tokens[:, :-1], tokens[:, 1:]


@mistake(
    "data_loading",
    "run_get_batch",
    kind="numerics",
    wrong="the token ids go through int16, in which ids from 32768 on are negative",
    hint="Try a data set with an id of 40000. Which types does it go through?",
)
def through_int16(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    return right(dataset.astype(np.int16), batch_size, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="the device is ignored",
    hint="On which device is what you return? Ask for the meta device, which every machine has.",
)
def device_ignored(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    return right(dataset, batch_size, context_length, "cpu")


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="only the inputs are put on the device",
    hint="Look at the device of both tensors. Moving one does not move the other, and to returns a "
    "new tensor.",
)
def inputs_moved_alone(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    inputs, targets = right(dataset, batch_size, context_length, "cpu")
    return inputs.to(device), targets


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="every sequence of a batch starts at the same place",
    hint="How many random numbers do you draw for a batch?",
)
def one_start_for_all(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    starts = random_starts(len(dataset) - context_length, 1).repeat(batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="half of the starts are drawn, and the others lie as far from the end",
    hint="How many random numbers do you draw for a batch, and does each row have one of its own?",
)
def starts_mirrored(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    places = len(dataset) - context_length
    drawn = random_starts(places, (batch_size + 1) // 2)
    starts = np.concatenate([drawn, places - 1 - drawn])[:batch_size]
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="the generator is seeded anew for each batch, so that all batches are the same",
    hint="Draw two batches and compare them. A seed belongs to the beginning of a program.",
)
def same_seed_each_time(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = np.random.default_rng(0).integers(len(dataset) - context_length, size=batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="sequences start one after the other from the beginning, without chance",
    hint="Draw two batches and look at their first tokens. Where does chance come in?",
)
def from_the_beginning(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = np.arange(batch_size) % (len(dataset) - context_length)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="a batch goes on where the batch before ended, without chance",
    hint="Where does chance come in? The text asks for starts that are drawn.",
)
def where_the_last_batch_ended(
    parts: Parts, dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    begin = parts.kept.get("begin", 0)
    parts.kept["begin"] = begin + batch_size * context_length
    starts = begin + context_length * np.arange(batch_size)
    return batch_from(dataset, starts % (len(dataset) - context_length), context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="a batch is one stretch of the data set, cut into sequences",
    hint="Each sequence has a start of its own. How many random numbers do you draw for a batch?",
)
def one_stretch(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    num_starts = len(dataset) - context_length
    starts = random_starts(num_starts, 1) + context_length * np.arange(batch_size)
    return batch_from(dataset, starts % num_starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="sequences start at multiples of the context length alone",
    hint="Every token may be the first of a sequence. Do you draw a token's place or a block's "
    "number?",
)
def starts_of_blocks(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    blocks = (len(dataset) - 1) // context_length
    starts = context_length * random_starts(blocks, batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="laziness",
    wrong="the number of a block is drawn and taken for a token's place",
    hint="In a long data set, how far do your starts reach?",
)
def blocks_taken_for_starts(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    starts = random_starts((len(dataset) - 1) // context_length, batch_size)
    return batch_from(dataset, starts, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="interface",
    wrong="the caller's data set is shuffled",
    hint="Only the order in which sequences are drawn is random: their tokens must stay as they "
    "follow each other.",
)
def data_set_shuffled(dataset: Dataset, batch_size: int, context_length: int, device: str) -> Batch:
    if dataset.flags.writeable:
        np.random.shuffle(dataset)
    return right(dataset, batch_size, context_length, device)


@mistake(
    "data_loading",
    "run_get_batch",
    kind="memory",
    wrong="the whole data set is read for each batch",
    hint="A memory-mapped array is read where it is indexed. What of your code touches all of it?",
)
def whole_data_set_read(
    dataset: Dataset, batch_size: int, context_length: int, device: str
) -> Batch:
    return right(dataset.astype(np.int64), batch_size, context_length, device)
