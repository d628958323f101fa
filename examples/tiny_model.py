"""Train the model that python -m cs336_basics.generate uses by default: make tiny-model.

All of it is this project's own: the stories that it reads are drawn from tests/texts.py, and no
sentence in them was written by anybody else. It is also the shortest way through everything that
the assignment builds: text, merges, token ids, batches, loss, optimizer, checkpoint.
"""

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cs336_basics.checkpoint import save_checkpoint
from cs336_basics.data import get_batch
from cs336_basics.fast.train_bpe import train_bpe
from cs336_basics.files import write_json
from cs336_basics.generate import TINY_MODEL
from cs336_basics.gpt import GPT
from cs336_basics.model import cross_entropy
from cs336_basics.optimizer import AdamW, clip_gradients, get_lr_cosine_schedule
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.training.tokens import END_OF_TEXT
from cs336_checks.draws import Draws
from tests.texts import stories

NUM_STORIES = 4000
ITERATIONS = 600
WARMUP = 50
BATCH_SIZE = 16
CONFIG: dict[str, Any] = {
    "vocab_size": 512,
    "context_length": 128,
    "d_model": 64,
    "num_layers": 3,
    "num_heads": 4,
    "d_ff": 256,
    "dropout": 0.0,
    "tie_weights": True,
}


def main() -> None:
    """Write the tokenizer, the config and the checkpoint."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)
    folder = TINY_MODEL.parent
    folder.mkdir(exist_ok=True)
    text = "".join(story + END_OF_TEXT for story in stories(Draws(0, "tiny model"), NUM_STORIES))
    tokenizer = train_tokenizer(text)
    tokenizer.save(folder / "vocab.json", folder / "merges.txt")
    model = GPT(**CONFIG)
    train(model, np.array(tokenizer.encode(text), dtype=np.uint16))
    write_json(folder / "config.json", {"family": "classic", **CONFIG})
    # For use and not to train on: half precision, and an optimizer that has seen nothing yet.
    save_checkpoint(model.half(), AdamW(model.parameters()), ITERATIONS, TINY_MODEL)


def train_tokenizer(text: str) -> Tokenizer:
    """The merges of the stories themselves."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stories.txt"
        path.write_text(text, encoding="utf-8", newline="\n")
        vocab, merges = train_bpe(path, CONFIG["vocab_size"], [END_OF_TEXT], num_workers=1)
    return Tokenizer(vocab, merges, [END_OF_TEXT])


def train(model: GPT, dataset: np.ndarray) -> None:
    """Minimise the loss on random batches; every hundredth loss is logged."""
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    for iteration in range(ITERATIONS):
        for group in optimizer.param_groups:
            group["lr"] = get_lr_cosine_schedule(iteration, 3e-3, 3e-4, WARMUP, ITERATIONS)
        inputs, targets = get_batch(dataset, BATCH_SIZE, CONFIG["context_length"], "cpu")
        loss = cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        # torch has not annotated it.
        loss.backward()  # type: ignore[no-untyped-call]
        clip_gradients(model.parameters(), 1.0)
        optimizer.step()
        if iteration % 100 == 0 or iteration == ITERATIONS - 1:
            logging.info("iteration %d: loss %.3f", iteration, loss.item())


if __name__ == "__main__":
    main()
